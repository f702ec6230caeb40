// The room of the residual stream: each token's vector on its way through the blocks.

import { SPECIALS } from "./bpe.js";
import { make, percent } from "./dom.js";
import { likeliest, predictedFrom, textsOf } from "./reading.js";
import { visible } from "../views/attention.js";

const SHADES = 5; // of how much a block changed a vector

export const streamRoom = {
  id: "stream",
  name: "Block by block",
  lesson: "02",
  story:
    "Every token has a vector: a list of numbers. Each block adds something to it (the residual " +
    "stream). A row is one token's way to the right: the word in a square is what the model " +
    "would predict at that point, and a strong colour is a large change.",

  build(root) {
    const said = make("p", { id: "changed", class: "note" });
    const table = make("div", { id: "stream-table", class: "wide-table", tabindex: 0 });
    table.setAttribute("role", "region");
    table.setAttribute("aria-label", "each token after each block; scrolls sideways");
    root.append(said, table);
    return (_, shown) => {
      said.textContent = shown.states ? mostWords(shown) : "The model is being loaded …";
      table.replaceChildren(...(shown.states ? [streamOf(shown)] : []));
    };
  },
};

/**
 * How much of each token's vector each block added: the length of the addition, divided by the
 * length of the sum; (layers) arrays of (length) numbers.
 */
export function changesOf({ states, ids }) {
  const width = states[0].length / ids.length;
  const lengthOf = (place, value) => {
    let sum = 0;
    for (let at = place * width; at < (place + 1) * width; at++) sum += value(at) ** 2;
    return Math.sqrt(sum);
  };
  return states.slice(1).map((after, layer) => {
    const before = states[layer];
    return ids.map((_, place) => {
      const added = lengthOf(place, (at) => after[at] - before[at]);
      return added / lengthOf(place, (at) => after[at]);
    });
  });
}

/** Which block changes the vectors most, on average over the tokens. */
function mostWords(shown) {
  const means = changesOf(shown).map((row) => row.reduce((a, b) => a + b) / row.length);
  const block = means.indexOf(Math.max(...means));
  return (
    `On average block ${block} adds the most: its addition is ${percent(means[block])} as long ` +
    "as the sum."
  );
}

function streamOf(shown) {
  const { opened, states, ids, texts } = shown;
  const changes = changesOf(shown);
  const said = states.map((state) => ids.map((_, place) => saysAt(opened.model, state, place)));
  const names = states.map((_, layer) => (layer ? `block ${layer - 1}` : "start"));
  const last = said.at(-1);
  const rows = ids.map((id, place) => {
    const cells = states.map((_, layer) => {
      const [word] = textsOf(opened.tokenizer, [said[layer][place]]);
      const same = said[layer][place] === last[place];
      const shade = layer ? Math.ceil(SHADES * Math.min(changes[layer - 1][place], 1)) : 0;
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

/** The likeliest token that the head makes of one position's vector. */
function saysAt(model, state, place) {
  return likeliest(predictedFrom(model, state, place), 1)[0].id;
}
