// Where one head looks: curves between the tokens, wide and strong where it looks hard, and a map.

import { bar, make, percent, roam } from "./dom.js";
import { weightsFrom } from "./reading.js";
import { mapOf } from "./flow.js";
import { nameOf, putsWords } from "./telling.js";

const [LEAST_OF_CHOSEN, LEAST_OF_OTHERS] = [0.005, 0.05]; // a weaker curve is not drawn
const NAMED = 20; // tokens; the map of a longer text has no room for their names
const FREE = { preserveAspectRatio: "none", "aria-hidden": "true" }; // as wide as its place

/**
 * Fills `root` with a head's curves and its map. One token's looks are shown: `kept`, or the one
 * that is pointed at; `keep(place)` is told which one is chosen.
 */
export function drawLooks(root, shown, place, kept, keep) {
  const { texts } = shown;
  const names = texts.map((_, at) => nameOf(shown, at));
  const signs = (name) => make("bdi", {}, name);
  const said = make("p", { id: "looks-said", "aria-live": "polite" });
  const curves = make("svg", { viewBox: `0 0 100 ${texts.length}`, ...FREE });
  const seen = names.map((name) => make("li", {}, signs(name)));
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
    said.textContent = `Here, ${putsWords(shown, from, weights)}`;
  };
  const choose = (from) => {
    keep((kept = from));
    look(from);
  };
  const buttons = names.map((name, from) =>
    make(
      "button",
      {
        type: "button",
        click: () => choose(from),
        focus: () => choose(from),
        pointerenter: () => look(from),
        pointerleave: () => look(kept),
      },
      signs(name),
    ),
  );
  roam(buttons, 1);
  const tokens = { class: "from", role: "group", "aria-label": "tokens that look" };
  const axis = (kind) =>
    make("p", { class: `axis ${kind}`, "aria-hidden": "true" }, ...names.map(signs));
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
      ...(texts.length > NAMED ? [] : [axis("across"), axis("down")]),
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
