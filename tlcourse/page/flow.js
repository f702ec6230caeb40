// The drawn parts of the whole model: what flows into the ribbon and out of it, vectors, maps and
// tones, as small SVGs.
//
// Their shapes are attributes and their colours classes, since a page from a web server allows no
// styles in its elements; drawing.py draws the same.

import { make } from "./dom.js";
import { weightsFrom } from "./reading.js";

const RIBBON = 12; // its height, in hundredths of the drawing's, as in page.css
const FAINTEST = 0.02; // a weaker share is a hairline alone
const LEVELS = 8; // strengths of a map's squares, one path each

/** Bands from evenly spaced places at the left into the ribbon at the right: a share each. */
export function fanIn(shares) {
  return fan(shares, 0.45, (outside, inside) => [outside, inside]);
}

/** Bands from the ribbon at the left to evenly spaced places at the right. */
export function fanOut(shares) {
  return fan(shares, 0.28, (outside, inside) => [inside, outside]);
}

/** In the ribbon the bands touch; outside, none is higher than `most` of its row. */
function fan(shares, most, ordered) {
  const row = 100 / shares.length;
  let top = 50 - RIBBON / 2;
  const paths = [...shares].flatMap((share, place) => {
    const height = share * RIBBON;
    const [left, right] = ordered((place + 0.5) * row, top + height / 2);
    top += height;
    const line = curve(left, right);
    if (share < FAINTEST) return [make("path", { class: "hair", d: line })];
    const [one, other] = ordered(Math.min(height, most * row) / 2, height / 2);
    const [low, lower] = [left + one, right + other].map((y) => y.toFixed(2));
    const back = `L100 ${lower}C50 ${lower} 50 ${low} 0 ${low}Z`;
    return [
      make("path", { d: `${curve(left - one, right - other)}${back}` }),
      make("path", { class: "glint", d: line, pathLength: 100 }),
    ];
  });
  const box = { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" };
  return make("svg", box, ...paths);
}

function curve(left, right) {
  const [y, end] = [left.toFixed(2), right.toFixed(2)];
  return `M0 ${y}C50 ${y} 50 ${end} 100 ${end}`;
}

/** Some numbers of a vector as small fields, a larger one in a stronger colour. */
export function strip(numbers) {
  const most = Math.max(...numbers.map(Math.abs), Number.MIN_VALUE);
  const fields = numbers.map((number, place) => {
    const shade = ((1 + number / most) / 2).toFixed(2);
    return make("rect", { x: place, width: 1, height: 1, "fill-opacity": shade });
  });
  const box = { class: "vector", viewBox: `0 0 ${numbers.length} 1`, preserveAspectRatio: "none" };
  return make("svg", { ...box, "aria-hidden": "true" }, ...fields);
}

/** A head's weights as a map of (length × length) squares; its words stand beside it. */
export function mapOf(shown, { layer, head }) {
  const { length } = shown.ids;
  const squares = Array.from({ length: LEVELS + 1 }, () => "");
  for (let from = 0; from < length; from++) {
    weightsFrom(shown, layer, head, from).forEach((weight, to) => {
      squares[Math.round(LEVELS * weight)] += `M${to} ${from}h1v1h-1z`;
    });
  }
  const paths = squares.slice(1).map((d, level) => {
    const opacity = ((level + 1) / LEVELS) ** 0.75; // weak ones are seen, too
    return make("path", { d, "fill-opacity": opacity.toFixed(2) });
  });
  const box = { viewBox: `0 0 ${length} ${length}`, preserveAspectRatio: "none" };
  return make("svg", { class: "cells", ...box, "aria-hidden": "true" }, ...paths);
}

/**
 * A field filled by a share from -1 to 1, in another colour below 0; null: not known yet. The
 * colour grows with the share's root, so that small ones are seen, too.
 */
export function tone(share) {
  const filled = make("rect", {
    class: share < 0 ? "minus" : null,
    width: "100%",
    height: "100%",
    "fill-opacity": Math.sqrt(Math.abs(share ?? 0)).toFixed(2),
  });
  return make("svg", { class: "tone", "aria-hidden": "true" }, filled);
}
