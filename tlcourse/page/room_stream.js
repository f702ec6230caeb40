// The room of the residual stream: each token's vector on its way through the blocks.

import { SPECIALS } from "./bpe.js";
import { counted, make } from "./dom.js";
import { highest, moved, predictedFrom, textsOf } from "./reading.js";
import { visible } from "../views/attention.js";

const SHADES = 5; // of how much of the probability a block moved

export const streamRoom = {
  id: "stream",
  name: "Block by block",
  lesson: "02",
  story:
    "Every token has a vector: a list of numbers. Each block adds something to it (the residual " +
    "stream). A row is one token's way to the right: the word in a square is what the model " +
    "would predict at that point, and a strong colour says that the block changed much of that.",

  build(root) {
    const said = make("p", { id: "changed", class: "note" });
    const table = make("div", { id: "stream-table", class: "wide-table", tabindex: 0 });
    table.setAttribute("role", "region");
    table.setAttribute("aria-label", "each token after each block; scrolls sideways");
    root.append(said, table);
    return (_, shown) => {
      const { opened, states, ids } = shown;
      table.replaceChildren();
      said.textContent = "The model is being loaded …";
      if (!states) return;
      const predicted = states.map((state) =>
        ids.map((_, place) => predictedFrom(opened.model, state, place)),
      );
      const changes = changesOf(predicted);
      said.textContent = changeWords(changes.others, ids.length);
      table.replaceChildren(streamOf(shown, changes));
    };
  },
};

/**
 * What blocks do to predictions: `predicted` holds, before the first block and after each, the
 * probabilities at every token. Gives {best, moves, others}: the likeliest ids (layers + 1 ×
 * length), the share of the probability that a block moves (layers × length), and at how many
 * tokens it changes the likeliest id (layers).
 */
export function changesOf(predicted) {
  const best = predicted.map((row) => row.map(highest));
  const layers = [...predicted.keys()].slice(1);
  return {
    best,
    moves: layers.map((layer) =>
      predicted[layer].map((now, place) => moved(predicted[layer - 1][place], now)),
    ),
    others: layers.map(
      (layer) => best[layer].filter((id, place) => id !== best[layer - 1][place]).length,
    ),
  };
}

/** At how many tokens each block changes the likeliest. */
export function changeWords([first, ...others], length) {
  const told = others.map((count, after) => `, block ${after + 1} at ${count}`).join("");
  return `Block 0 changes the likeliest word at ${first} of ${counted(length, "token")}${told}.`;
}

function streamOf({ opened, ids, texts }, { best, moves }) {
  const names = best.map((_, layer) => (layer ? `block ${layer - 1}` : "start"));
  const last = best.at(-1);
  const rows = ids.map((id, place) => {
    const cells = best.map((_, layer) => {
      const [word] = textsOf(opened.tokenizer, [best[layer][place]]);
      const same = best[layer][place] === last[place];
      const shade = layer ? Math.ceil(SHADES * Math.min(moves[layer - 1][place], 1)) : 0;
      const kinds = [`shade-${shade}`, same ? "last" : ""].join(" ").trim();
      return make("td", { class: kinds }, make("bdi", {}, visible(word)));
    });
    const special = id < SPECIALS.length ? "special" : null;
    const own = make("bdi", {}, visible(texts[place]));
    return make("tr", {}, make("th", { scope: "row", class: special }, own), ...cells);
  });
  const titles = ["token", ...names].map((text) => make("th", { scope: "col" }, text));
  const caption =
    "The likeliest next token after each block; with a blue edge: what the last block says.";
  return make(
    "table",
    { class: "lens" },
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...titles)),
    make("tbody", {}, ...rows),
  );
}
