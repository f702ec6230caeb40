// Sentences about a reading that more than one room tells.

import { SPECIALS } from "./bpe.js";
import { percent } from "./dom.js";
import { highest } from "./reading.js";
import { visible } from "../views/attention.js";

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

/** Where one token looks in a head, in words. `weights` are those with which it looks. */
export function lookWords({ texts }, { layer, head, from, weights }) {
  const most = highest(weights);
  return (
    `In head ${head} of block ${layer} (${layer}.${head}), ${quote(texts[from])} looks most of ` +
    `all at ${quote(texts[most])}: ${percent(weights[most])} of its attention.`
  );
}

/** What becomes of the first choice without a head, in words. */
export function effectWords({ best }, { left }) {
  const [{ text, probability }] = best;
  return (
    `Without this head, the probability of ${quote(text)} goes from ${percent(probability)} to ` +
    `${percent(left)}.`
  );
}

/** A token in quotes; the two signs nobody sees keep its direction of writing to itself. */
export function quote(text) {
  return `'\u2068${visible(text)}\u2069'`;
}

/** Whether a token goes on with the word of the token before it. */
export function isPiece(ids, texts, place) {
  const own = (at) => ids[at] >= SPECIALS.length;
  if (!place || !own(place) || !own(place - 1)) return false;
  return /^[\p{L}\p{M}\p{N}‹]/u.test(texts[place]) && /[\p{L}\p{M}\p{N}›]$/u.test(texts[place - 1]);
}
