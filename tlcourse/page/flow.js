// The drawn parts of the whole model: curves between columns, vectors and tones, as small SVGs.
//
// Their shapes are attributes and their colours classes, since a page from a web server allows no
// styles in its elements; prerender.py draws the same.

import { make } from "./dom.js";

const FAINTEST = 0.02; // a weaker curve is part of the ground

/** Curves from evenly spaced places at the left to the middle of the right: a share each. */
export function fanIn(shares) {
  return fan(shares, (y) => `M0 ${y}C60 ${y} 50 50 100 50`);
}

/** Curves from the middle of the left to evenly spaced places at the right. */
export function fanOut(shares) {
  return fan(shares, (y) => `M0 50C50 50 40 ${y} 100 ${y}`);
}

function fan(shares, curve) {
  const order = [...shares.keys()].sort((one, other) => shares[one] - shares[other]);
  const paths = order.map((place) => {
    const y = ((100 * (place + 0.5)) / shares.length).toFixed(2);
    const strong = shares[place] >= FAINTEST;
    const width = strong ? (1.5 + 8 * shares[place]).toFixed(1) : "1";
    return make("path", { class: strong ? null : "faint", d: curve(y), "stroke-width": width });
  });
  const box = { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" };
  return make("svg", box, ...paths);
}

/** Some numbers of a vector as small fields: blue above 0, orange below. */
export function strip(numbers) {
  const most = Math.max(...numbers.map(Math.abs), Number.MIN_VALUE);
  const fields = numbers.map((number, place) =>
    make("rect", {
      class: number < 0 ? "minus" : null,
      x: place,
      width: 1,
      height: 1,
      "fill-opacity": (Math.abs(number) / most).toFixed(2),
    }),
  );
  const box = { class: "vector", viewBox: `0 0 ${numbers.length} 1`, preserveAspectRatio: "none" };
  return make("svg", { ...box, "aria-hidden": "true" }, ...fields);
}

/**
 * A field filled by a share from -1 to 1, blue above 0 and orange below; null: not known yet. The
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
