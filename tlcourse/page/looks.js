// Where one head looks: curves between the tokens, wide and strong where it looks hard, and a map.

import { bar, ink, make, percent, roam } from "./dom.js";
import { weightsFrom } from "./reading.js";
import { lookWords } from "./telling.js";
import { visible } from "../views/attention.js";

const [LEAST_OF_CHOSEN, LEAST_OF_OTHERS] = [0.005, 0.05]; // a weaker curve is not drawn
const FREE = { preserveAspectRatio: "none", "aria-hidden": "true" }; // as wide as its place

/** A head's weights as a picture of (length × length) squares; its words stand beside it. */
export function mapOf(shown, { layer, head }) {
  const { length } = shown.ids;
  const canvas = make("canvas", { width: length, height: length, "aria-hidden": "true" });
  const [pen, colour] = [canvas.getContext("2d"), ink()];
  const image = pen.createImageData(length, length);
  for (let from = 0; from < length; from++) {
    weightsFrom(shown, layer, head, from).forEach((weight, to) => {
      image.data.set([...colour, 255 * weight], 4 * (from * length + to));
    });
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

/**
 * Fills `root` with a head's curves and its map. One token's looks are shown: `kept`, or the one
 * that is pointed at; `keep(place)` is told which one is chosen.
 */
export function drawLooks(root, shown, place, kept, keep) {
  const { texts } = shown;
  const signs = (text) => make("bdi", {}, visible(text));
  const said = make("p", { id: "looks-said", "aria-live": "polite" });
  const curves = make("svg", { viewBox: `0 0 100 ${texts.length}`, ...FREE });
  const seen = texts.map((text) => make("li", {}, signs(text)));
  const row = make("rect", { width: texts.length, height: 1 });
  const look = (from) => {
    const weights = weightsFrom(shown, place.layer, place.head, from);
    buttons.forEach((each, at) => each.setAttribute("aria-pressed", String(at === from)));
    seen.forEach((item, to) => {
      const told = make("span", { class: "told" }, percent(weights[to]));
      item.replaceChildren(bar(weights[to]), item.querySelector("bdi"), told);
    });
    curves.replaceChildren(...curvesOf(shown, place, from));
    row.setAttribute("y", from);
    said.textContent = lookWords(shown, { ...place, from, weights });
  };
  const choose = (from) => {
    keep((kept = from));
    look(from);
  };
  const buttons = texts.map((text, from) =>
    make(
      "button",
      {
        type: "button",
        click: () => choose(from),
        focus: () => choose(from),
        pointerenter: () => look(from),
        pointerleave: () => look(kept),
      },
      signs(text),
    ),
  );
  roam(buttons, 1);
  const tokens = { class: "from", role: "group", "aria-label": "tokens that look" };
  const frame = make("svg", { viewBox: `0 0 ${texts.length} ${texts.length}`, ...FREE }, row);
  root.replaceChildren(
    said,
    make(
      "div",
      { class: "curves" },
      make("p", { class: "note" }, "this token looks"),
      make("p", { class: "note" }, "at these tokens"),
      make("div", tokens, ...buttons),
      curves,
      make("ol", { class: "to", "aria-label": "tokens looked at" }, ...seen),
    ),
    make(
      "div",
      { class: "map" },
      make("p", { class: "note" }, "As a map: one row for each token"),
      make("div", {}, mapOf(shown, place), frame),
    ),
  );
  look(kept);
}

function curvesOf(shown, { layer, head }, chosen) {
  const paths = (from, least, kind) => {
    const weights = [...weightsFrom(shown, layer, head, from)];
    return weights.flatMap((weight, to) => {
      const [y, end] = [from + 0.5, to + 0.5];
      const strength = { "stroke-opacity": (0.15 + 0.85 * weight).toFixed(2) };
      const width = { class: kind, "stroke-width": (1 + 11 * weight).toFixed(1) };
      const d = `M0 ${y}C50 ${y} 50 ${end} 100 ${end}`;
      return weight < least ? [] : [make("path", { d, ...strength, ...width })];
    });
  };
  const others = [...shown.ids.keys()].filter((from) => from !== chosen);
  return [
    ...others.flatMap((from) => paths(from, LEAST_OF_OTHERS, "other")),
    ...paths(chosen, LEAST_OF_CHOSEN, null),
  ];
}
