// The first room: the whole way at a glance, from text to tokens to attention to a prediction.

import { barRows, chip, counted, make, percent } from "./dom.js";
import { SPECIALS } from "./bpe.js";
import { askedFrom, rowsOf, sharpest } from "./reading.js";

const SHOWN = 6; // bars

export const glanceRoom = {
  id: "glance",
  name: "At a glance",
  lesson: "00",
  story:
    "Your text is cut into tokens: words and pieces of words. Each token looks at others, and " +
    "from what it finds there the model predicts. The rooms show each step up close.",

  build(root) {
    const looks = make("p", { id: "looks" });
    const tokens = make("ol", { id: "glance-tokens", class: "chips", "aria-labelledby": "looks" });
    const asks = make("h3", { id: "asks" });
    const bars = make("ol", { id: "glance-bars", class: "bars", "aria-labelledby": "asks" });
    const title = make("p", { class: "note" });
    root.append(looks, tokens, asks, title, bars);
    return (reading) => {
      const from = askedFrom(reading);
      const { layer, head, weights } = sharpest(reading);
      looks.textContent = lookWords(reading, layer, head);
      tokens.replaceChildren(
        ...reading.ids.map((id, place) => {
          const special = id < SPECIALS.length;
          const [share, marked] = [weights[place], place === from];
          return chip(reading.texts[place], percent(share), { special, share, marked });
        }),
      );
      asks.textContent = askWords(reading);
      bars.replaceChildren(...barRows(rowsOf(reading, null, SHOWN)));
      title.textContent = titleWords(reading);
    };
  },
};

/** What the shares below the tokens are. */
function lookWords({ ids, place, layers, heads }, layer, head) {
  const which = place < 0 || place === ids.length - 1 ? "the last one" : "<mask>";
  return (
    `${counted(ids.length, "token")}. The bars show how much ${which} looks at each, ` +
    `in one of ${counted(layers * heads, "head")} (block ${layer}, head ${head}).`
  );
}

/** Why a short text is often followed by "=". */
export function titleWords({ causal, best }) {
  if (!causal || best[0].text.trim() !== "=") return "";
  return (
    "The model has learnt from Wikipedia articles, where = ends a title, and it takes your text " +
    "for one. Write another sentence before it."
  );
}

/** The heading of the bars. */
export function askWords({ causal, place }) {
  if (place < 0) return "Write <mask> where a word is to be guessed";
  return causal ? "What may come next" : "What may stand at <mask>";
}
