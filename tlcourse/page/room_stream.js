// The room of the residual stream: each token's vector on its way through the blocks.

import { SPECIALS } from "./bpe.js";
import { heat, make, percent } from "./dom.js";
import { highest, predictedFrom, textsOf } from "./reading.js";
import { nameOf } from "./telling.js";
import { visible } from "../views/attention.js";

export const streamRoom = {
  id: "stream",
  name: "Block by block",
  lesson: "02",
  story:
    "Every token has a vector, and each block adds something to it (the residual stream). Each " +
    "row follows one token, left to right. The word in a square is what the model would predict " +
    "next if it stopped at that point (the logit lens). The stronger the colour, the more " +
    "certain the model is.",

  build(root) {
    const said = make("p", { id: "changed", class: "note" });
    const table = make("div", { id: "stream-table", class: "wide-table", tabindex: 0 });
    table.setAttribute("role", "region");
    table.setAttribute("aria-label", "each token after each block; scrolls sideways");
    root.append(table, said);
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
 * probabilities at every token. Gives {best, shares, others}: the likeliest ids and their
 * probabilities (layers + 1 × length), and at how many tokens each block changes the likeliest id
 * (layers).
 */
export function changesOf(predicted) {
  const best = predicted.map((row) => row.map(highest));
  const layers = [...predicted.keys()].slice(1);
  return {
    best,
    shares: predicted.map((row) => row.map((all) => Math.max(...all))),
    others: layers.map(
      (layer) => best[layer].filter((id, place) => id !== best[layer - 1][place]).length,
    ),
  };
}

/** At how many tokens each block changes the likeliest. */
export function changeWords(counts, length) {
  return `How many guesses each block changes (of ${length}): ${counts.join(", ")}.`;
}

function streamOf(shown, { best, shares }) {
  const { opened, ids } = shown;
  const names = best.map((_, layer) => (layer ? `block ${layer - 1}` : "start"));
  const last = best.at(-1);
  const rows = ids.map((id, place) => {
    const cells = best.map((_, layer) => {
      const [word] = textsOf(opened.tokenizer, [best[layer][place]]);
      const same = best[layer][place] === last[place];
      const share = shares[layer][place];
      const kinds = { class: `${heat(share)}${same ? " last" : ""}`, title: percent(share) };
      return make("td", kinds, make("bdi", {}, visible(word)));
    });
    const special = id < SPECIALS.length ? "special" : null;
    const own = make("bdi", {}, nameOf(shown, place));
    return make("tr", {}, make("th", { scope: "row", class: special }, own), ...cells);
  });
  const titles = ["token", ...names].map((text) => make("th", { scope: "col" }, text));
  const caption =
    "The likeliest next token after each block. In bold: the same as after the last block. " +
    "Wikipedia articles, from which the model learned, mark headings with =.";
  return make(
    "table",
    { class: "heats" },
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...titles)),
    make("tbody", {}, ...rows),
  );
}
