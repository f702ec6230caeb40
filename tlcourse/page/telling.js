// Sentences about a reading that more than one room tells.

import { SPECIALS } from "./bpe.js";
import { percent } from "./dom.js";
import { highest } from "./reading.js";
import { visible } from "../views/attention.js";

/** Why a short text is often followed by "=". */
export function titleWords({ causal, best }) {
  if (!causal || best[0].text.trim() !== "=") return "";
  return (
    "The model has learned from Wikipedia articles, where = marks a heading, and it takes your " +
    "text for one. Write another sentence before it."
  );
}

/** The heading of the bars. */
export function askWords({ causal, place }) {
  if (place < 0) return "Write <mask> where a word is to be guessed";
  return causal ? "What could come next" : "What could stand at <mask>";
}

/** Where one token looks, in words. `weights` are those with which it looks. */
export function putsWords({ texts }, from, weights) {
  const most = highest(weights);
  const other = most === from ? "itself" : which(texts, most);
  return `${which(texts, from)} puts ${percent(weights[most])} of its attention on ${other}.`;
}

/** A token in quotes, and which one it is where there are several. */
function which(texts, place) {
  const name = quote(texts[place]);
  const places = [...texts.keys()].filter((at) => quote(texts[at]) === name);
  const number = places.indexOf(place) + 1;
  if (places.length === 1) return name;
  const order = number === places.length ? "last" : number === 1 ? "first" : `${number}th`;
  return `the ${order} ${name}`;
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

/** A token as it is named everywhere: a piece of a word begins with a dot. */
export function nameOf({ ids, texts }, place) {
  return (isPiece(ids, texts, place) ? "·" : "") + visible(texts[place]);
}

/** Whether a token goes on with the word of the token before it. */
export function isPiece(ids, texts, place) {
  const own = (at) => ids[at] >= SPECIALS.length;
  if (!place || !own(place) || !own(place - 1)) return false;
  return /^[\p{L}\p{M}\p{N}‹]/u.test(texts[place]) && /[\p{L}\p{M}\p{N}›]$/u.test(texts[place - 1]);
}
