// The room of two readers: a causal and a masked model asked for the same token.

import { EOS, MASK, SPECIALS, normalise } from "./bpe.js";
import { barRows, choice, make, percent, refill } from "./dom.js";
import { MOST, readIds, rowsOf, textsOf } from "./reading.js";
import { nameOf } from "./telling.js";
import { visible } from "../views/attention.js";

const EACH = 6; // bars of each

export const bothRoom = {
  id: "both",
  name: "Two readers",
  lesson: "03",
  reads: ({ pair }) => pair.join(" and "),
  story:
    "Choose a token to hide from both models. The causal model sees only what comes before it, " +
    "the masked model also what comes after. Which one guesses better?",

  build(root, page) {
    const part = (tag, attributes = {}, ...inside) =>
      root.appendChild(make(tag, attributes, ...inside));
    const names = page.made.pair;
    const parts = {
      tokens: part("div", { id: "hidden-token" }),
      said: part("p", { id: "both-said", "aria-live": "polite" }),
    };
    const columns = part("div", { class: "columns" });
    parts.bars = names.map((name, at) => {
      const reads = ["Causal: sees only the left", "Masked: sees both sides"][at];
      const heading = make("h3", { id: `both-${at}`, title: name }, reads);
      const bars = make("ol", { class: "bars", "aria-labelledby": `both-${at}` });
      columns.append(make("div", {}, heading, bars));
      return bars;
    });
    const state = { text: null };
    const take = (place) => {
      page.mark(place);
      draw();
    };
    const draw = async () => {
      const { text } = state;
      try {
        const opened = [await page.open(names[0]), await page.open(names[1])];
        const asked = page.tokens[bothRoom.id];
        if (text === state.text) drawBoth(parts, opened, { text, asked }, take);
      } catch (error) {
        parts.said.textContent = error.message;
      }
    };
    return ({ text, opened }) => {
      state.text = text;
      if (opened) draw();
    };
  },
};

/**
 * What two models put in the place of a token, which both do not see: readings as `readIds` gives
 * them, the causal one's first.
 */
export function readHidden([causal, masked], ids, place) {
  const hidden = ids.map((id, at) => (at === place ? MASK : id));
  return [readIds(causal, ids.slice(0, place)), readIds(masked, hidden)];
}

function drawBoth({ tokens, said, bars }, opened, { text, asked }, take) {
  const [{ tokenizer }] = opened;
  const ids = [EOS, ...tokenizer.encode(normalise(text))].slice(0, MOST);
  const texts = textsOf(tokenizer, ids);
  const places = [...ids.keys()].filter((place) => ids[place] >= SPECIALS.length);
  if (!places.length) {
    tokens.replaceChildren();
    said.textContent = "There is no token to hide: type some words.";
    bars.forEach((each) => each.replaceChildren());
    return;
  }
  const place = places.includes(asked) ? asked : places[Math.floor(places.length / 2)];
  const options = places.map((value) => ({
    value,
    inside: make("bdi", {}, nameOf({ ids, texts }, value)),
  }));
  refill(tokens, choice("hidden", "Hidden token", options, place, take));
  const id = ids[place];
  const readings = readHidden(opened, ids, place);
  const shares = readings.map(({ probabilities }) => percent(probabilities[id]));
  said.textContent =
    `Hidden: '\u2068${visible(texts[place])}\u2069'. ` +
    `The causal model gives it ${shares[0]}, the masked model ${shares[1]}.`;
  readings.forEach((each, at) => {
    bars[at].replaceChildren(...barRows(rowsOf(each, null, EACH)));
  });
}
