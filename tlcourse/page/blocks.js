// The blocks with their heads, as the drawing and the room of attention show them.

import { make, roam } from "./dom.js";
import { lostBy, upTo } from "./heads.js";
import { quote } from "./telling.js";

const LEAST = 0.02; // the change of a probability that has full colour, where none is larger

/**
 * The blocks as a list's items: a link to their room, the heads at both sides of the ribbon, the
 * feed-forward layer. `field(layer, head)` gives a head's element; the arrow keys lead from one to
 * the next.
 */
export function blocksOf({ layers, heads }, field) {
  const columns = upTo(layers).map((layer) => upTo(heads).map((head) => field(layer, head)));
  roam(upTo(heads).flatMap((head) => columns.map((column) => column[head])), layers);
  const half = Math.ceil(heads / 2);
  return columns.map((column, layer) => {
    const link = { class: "name", href: "#stream", "aria-label": `block ${layer}` };
    const upper = make("div", {}, make("a", link, String(layer)), ...column.slice(0, half));
    const feed = make("span", { class: "feed" }, "FFN");
    const lower = make("div", {}, ...column.slice(half), feed);
    return make("li", { class: "block" }, upper, make("span", { class: "lane" }), lower);
  });
}

export function effectOf({ effects }, layer, head) {
  return effects?.find((each) => each.layer === layer && each.head === head) ?? null;
}

/** The largest change that a single head makes, and at least LEAST. */
export function fullColour(reading) {
  const changes = (reading.effects ?? []).map((effect) => Math.abs(lostBy(reading, effect)));
  return Math.max(LEAST, ...changes);
}

/** What a head's loss does as a share of the largest, from -1 to 1; null: not known yet. */
export function shareOf(reading, layer, head) {
  const effect = effectOf(reading, layer, head);
  return effect && lostBy(reading, effect) / fullColour(reading);
}

/** What the colours of the heads mean. */
export function effectLegend(reading) {
  if (!reading.effects) return [];
  const points = `${(100 * fullColour(reading)).toFixed(1)} points`;
  const ramp = make("span", { class: "swatch ramp", "aria-hidden": "true" });
  return [
    make("span", {}, `Colour: effect on ${quote(reading.best[0].text)} when the head is off`),
    make("span", {}, "more likely ", ramp, ` less likely (up to ${points})`),
  ];
}
