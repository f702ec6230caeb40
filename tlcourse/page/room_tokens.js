// The room of tokens: how the text is cut, and how the tokenizer's merges get there.

import { SPECIALS } from "./bpe.js";
import { chip, counted, make } from "./dom.js";
import { cutAfter, mergesIn, textsOf } from "./reading.js";
import { isPiece, nameOf } from "./telling.js";
import { visible } from "../views/attention.js";

export const tokensRoom = {
  id: "tokens",
  name: "Tokens",
  lesson: "01",
  story:
    "The model reads numbers: each token has an id. The tokenizer begins with single bytes " +
    "(mostly one letter each) and merges neighbours, the most common first. Move the slider to " +
    "see it.",

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
        "Each colour marks one word; a token that continues a word begins with ·. The lines " +
          "lead to the two tokens that were merged. <eos> (end of text) comes first because it " +
          "separated the texts in training.",
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
      let word = 0;
      tokens.replaceChildren(
        ...ids.map((id, place) => {
          const piece = isPiece(ids, texts, place);
          word += piece ? 0 : 1;
          const special = id < SPECIALS.length;
          const kinds = [special ? "special" : word % 2 ? "odd" : "even", piece && "piece"];
          const item = chip(nameOf({ ids, texts }, place), id, { kinds });
          const step = steps.find((each) => each.merged === id);
          if (step) item.append(...fork(textsOf(opened.tokenizer, [step.left, step.right])));
          return item;
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

/** Lines from a token to the two that were merged, and those. */
function fork(texts) {
  const lines = make("path", { d: "M50 0L25 10M50 0L75 10" });
  const box = { class: "fork", viewBox: "0 0 100 10", preserveAspectRatio: "none" };
  const halves = texts.map((text) => make("span", {}, visible(text)));
  return [make("svg", { ...box, "aria-hidden": "true" }, lines), make("div", {}, ...halves)];
}

function mergeWords(tokenizer, steps, count) {
  if (!tokenizer) return "The tokenizer is being loaded; then you can undo its merges.";
  const all = tokenizer.ranks.size.toLocaleString("en");
  if (!count) return `Before the first of ${all} merges: every byte is a token.`;
  const { rank, left, right } = steps[count - 1];
  const [one, other] = textsOf(tokenizer, [left, right]).map(visible);
  const order = (rank + 1).toLocaleString("en");
  const end = count === steps.length ? " This text needs no more." : "";
  return (
    `After ${count} of the ${counted(steps.length, "merge")} in this text: ` +
    `\u2068${one}\u2069 + \u2068${other}\u2069, merge ${order} of the ${all} learned merges.${end}`
  );
}

/** What the text is counted in: words and punctuation marks, bytes, tokens. */
export function countWords(words, ids) {
  const texts = words.filter((word) => typeof word === "string");
  const bytes = new TextEncoder().encode(texts.join("")).length;
  const own = ids.filter((id) => id >= SPECIALS.length).length;
  const rate = own > 1 ? ` of ${(bytes / own).toFixed(1)} bytes on average` : "";
  const those = texts.length === 1 ? "word or punctuation mark" : "words and punctuation marks";
  return (
    `${texts.length} ${those} (${counted(bytes, "byte")}) became ` +
    `${counted(own, "token")}${rate}, plus <eos>: ${ids.length} in all.`
  );
}
