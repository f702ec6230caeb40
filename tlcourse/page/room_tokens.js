// The room of tokens: how the text is cut, and how the tokenizer's merges get there.

import { SPECIALS } from "./bpe.js";
import { chip, counted, make } from "./dom.js";
import { cutAfter, mergesIn, textsOf } from "./reading.js";
import { isPiece } from "./telling.js";

export const tokensRoom = {
  id: "tokens",
  name: "Tokens",
  lesson: "01",
  story:
    "The model reads numbers: each token has one, its id. The tokenizer begins with single " +
    "letters (bytes) and merges neighbours, the most common first. Move the slider to see it.",

  build(root) {
    const slider = make("input", { id: "merges", type: "range", min: 0, value: 0, step: 1 });
    const said = make("p", { id: "merged", "aria-live": "polite" });
    const sums = make("p", { id: "counted", class: "note" });
    const tokens = make("ol", {
      id: "cuts",
      class: "chips",
      "aria-label": "tokens, each with its id",
    });
    root.append(
      make("label", { for: "merges" }, "Merges"),
      slider,
      said,
      tokens,
      sums,
      make(
        "p",
        { class: "note" },
        "Joined tokens are pieces of one word. ␣ is the space before a word; <eos> comes before " +
          "every text.",
      ),
    );
    let [done, last] = [null, null]; // how many merges of this text; null: all of them
    const draw = (reading) => {
      if (last?.text !== reading.text) done = null;
      last = reading;
      const { opened, words } = reading;
      const steps = opened ? mergesIn(opened.tokenizer, words) : [];
      const count = Math.min(done ?? steps.length, steps.length);
      const all = count === steps.length;
      const ids = all ? reading.ids : cutAfter(opened.tokenizer, words, steps[count].rank);
      const texts = all ? reading.texts : textsOf(opened.tokenizer, ids);
      slider.max = steps.length;
      slider.value = count;
      slider.disabled = !steps.length;
      const spoken = `${count} of ${steps.length}: ${counted(ids.length, "token")}`;
      slider.setAttribute("aria-valuetext", spoken);
      said.textContent = mergeWords(opened?.tokenizer, steps, count);
      tokens.replaceChildren(
        ...ids.map((id, place) => {
          const piece = isPiece(ids, texts, place);
          return chip(spaced(texts[place]), id, { special: id < SPECIALS.length, piece });
        }),
      );
      sums.textContent = words ? countWords(words, ids) : "";
    };
    slider.addEventListener("input", () => {
      done = Number(slider.value);
      draw(last);
    });
    return draw;
  },
};

function spaced(text) {
  return text.startsWith(" ") ? `␣${text.slice(1)}` : text;
}

function mergeWords(tokenizer, steps, count) {
  if (!tokenizer) return "The tokenizer is being loaded; then you can undo its merges.";
  const all = tokenizer.ranks.size.toLocaleString("en");
  if (!count) return `Before the first of ${all} merges: every byte is a token.`;
  const { rank, left, right } = steps[count - 1];
  const [one, other] = textsOf(tokenizer, [left, right]).map(spaced);
  const order = (rank + 1).toLocaleString("en");
  const end = count === steps.length ? " It is the last one that this text needs." : "";
  return (
    `After ${count} of the ${counted(steps.length, "merge")} in this text: ` +
    `\u2068${one}\u2069 + \u2068${other}\u2069, merge ${order} of the ${all} learnt.${end}`
  );
}

/** What the text is counted in: words and signs, bytes, tokens. */
export function countWords(words, ids) {
  const texts = words.filter((word) => typeof word === "string");
  const bytes = new TextEncoder().encode(texts.join("")).length;
  const own = ids.filter((id) => id >= SPECIALS.length).length;
  const rate = own > 1 ? `, ${(bytes / own).toFixed(1)} bytes each on average` : "";
  const those = texts.length === 1 ? "word or sign" : "words and signs";
  return (
    `${texts.length} ${those} of ${counted(bytes, "byte")} ` +
    `${texts.length === 1 ? "is" : "are"} now ${counted(own, "token")}${rate}.`
  );
}
