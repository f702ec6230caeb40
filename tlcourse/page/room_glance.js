// The first room: the whole way at a glance, from text to tokens to attention to a prediction.

import { barRows, chip, make, percent } from "./dom.js";
import { SPECIALS } from "./bpe.js";
import { askedFrom, rowsOf, sharpest } from "./reading.js";

const SHOWN = 6; // bars

export const glanceRoom = {
  id: "glance",
  name: "At a glance",
  lesson: "00",
  story:
    "Your text is cut into tokens, each token looks back at others, and from what it gathers the " +
    "model predicts the next one. The rooms show each step up close.",

  build(root) {
    const looks = make("p", { id: "looks" });
    const tokens = make("ol", { id: "glance-tokens", class: "chips", "aria-labelledby": "looks" });
    const asks = make("h3", { id: "asks" });
    const bars = make("ol", { id: "glance-bars", class: "bars", "aria-labelledby": "asks" });
    root.append(looks, tokens, asks, bars);
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
    };
  },
};

/** What the shares below the tokens are. */
function lookWords({ ids, place, layers, heads }, layer, head) {
  const which = place < 0 || place === ids.length - 1 ? "the last token" : "<mask>";
  return (
    `${ids.length} tokens, and how much ${which} looks at each, ` +
    `in head ${layer}.${head} of ${layers * heads}`
  );
}

/** The heading of the bars. */
export function askWords({ causal, place }) {
  if (place < 0) return "Write <mask> where a word is to be guessed";
  return causal ? "What may come next" : "What may stand at <mask>";
}
