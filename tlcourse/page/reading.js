// What a model makes of a text, in the form in which every room of the page shows it.
//
// A reading = {
//   ids, texts, cut,          the tokens, and whether the text had more of them
//   place,                    the token at which is predicted; -1: there is no <mask>
//   causal, layers, heads,
//   attention,                Float32Array (layers, heads, length, length), flat
//   best,                     the likeliest tokens, [{id, text, probability}]
//   probabilities, states,    of the whole vocabulary; embeddings and after each block
//   words, opened,            the text before merges; the model and its tokenizer
//   vectors,                  of each token, the first numbers of its embedding
//   effects,                  of each head, as `effectsOf` in heads.js gives them; null: not yet
//   text                      as it was typed
// }
//
// The reading that was written into the page lacks what needs the model: probabilities, states,
// words and opened are null, and its effects have no probabilities.

import { softmax } from "./attention.js";
import { fromBase64 } from "./base64.js";
import { EOS, MASK, normalise, preTokenise } from "./bpe.js";
import { ablating } from "./model.js";
import { visible } from "../views/attention.js";

export const MOST = 64; // tokens
export const BEST = 10;
const NUMBERS = 12; // of each embedding, as in prerender.py
const UNKNOWN = { probabilities: null, states: null, words: null, opened: null };

/**
 * The ids of a text as the models were trained, after the end of the text before and cut to MOST.
 * Where a mask may be guessed, `<mask>` stands for a word and the space before it.
 */
export function idsOf(tokenizer, text, { causal }) {
  const normal = normalise(text);
  const parts = causal ? [normal] : normal.split(/ ?<mask>/u);
  const written = parts.map((part) => tokenizer.encode(part));
  const ids = written.reduce((before, after) => [...before, MASK, ...after]);
  return { ids: [EOS, ...ids].slice(0, MOST), cut: ids.length + 1 > MOST };
}

/** The same text before any merge, as far as `idsOf` reads it: pre-tokens, and ids of specials. */
export function wordsOf(tokenizer, text, { causal }) {
  const normal = normalise(text);
  const parts = (causal ? [normal] : normal.split(/ ?<mask>/u)).map(preTokenise);
  const words = [EOS, ...parts.reduce((before, after) => [...before, MASK, ...after])];
  let count = 0;
  return words.filter((word) => {
    const before = count;
    count += typeof word === "number" ? 1 : tokenizer.encodePreToken(word).length;
    return before < MOST;
  });
}

/** The ids of such words after the first `most` merges of the vocabulary. */
export function cutAfter(tokenizer, words, most) {
  return words.flatMap((word) =>
    typeof word === "number" ? word : tokenizer.merge(word, most).ids,
  );
}

/** The merges that such words need, as [{rank, left, right, merged}], in the order learned. */
export function mergesIn(tokenizer, words) {
  const texts = words.filter((word) => typeof word !== "number");
  const steps = texts.flatMap((word) => tokenizer.merge(word).steps);
  const found = new Map(steps.map((each) => [each.rank, each]));
  return [...found.values()].sort((one, other) => one.rank - other.rank);
}

/** Each id's text; bytes that are no character, or one that cannot be seen, as ‹E2-82›. */
export function textsOf(tokenizer, ids) {
  return tokenizer.tokens(ids).map((text, place) => {
    if (!/\ufffd|[^\P{Cc}\n\t]/u.test(text)) return text;
    const bytes = tokenizer.bytesOf(ids[place]);
    return `‹${bytes.map((byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join("-")}›`;
  });
}

/** The likeliest of the vocabulary, [{id, probability}], likeliest first. */
export function likeliest(probabilities, count = BEST) {
  const order = Array.from(probabilities.keys());
  order.sort((a, b) => probabilities[b] - probabilities[a]);
  return order.slice(0, count).map((id) => ({ id, probability: probabilities[id] }));
}

/** The place of the highest of some numbers, the first of several. */
export function highest(shares) {
  return shares.reduce((best, share, place) => (share > shares[best] ? place : best), 0);
}

/** What an opened model makes of a text. Throws an Error for half a character. */
export function readText(opened, text) {
  const { tokenizer, model } = opened;
  const { causal, layers, heads } = model.config;
  const { ids, cut } = idsOf(tokenizer, text, model.config);
  const place = causal ? ids.length - 1 : ids.indexOf(MASK);
  const texts = textsOf(tokenizer, ids);
  const words = wordsOf(tokenizer, text, model.config);
  const found = { opened, text, words, ids, texts, cut, place, causal, layers, heads };
  const predicted = predictedAt(opened, ids, place, {});
  const [embedded, { width }] = [predicted.states[0], model.config];
  const vectors = ids.map((_, at) => [...embedded.subarray(at * width, at * width + NUMBERS)]);
  return { ...found, ...predicted, vectors, effects: null };
}

/** The same reading with heads, [layer, head], switched off. */
export function readWithout(reading, off) {
  const { opened, ids, place } = reading;
  const headScale = ablating(opened.model.config, off);
  return { ...reading, ...predictedAt(opened, ids, place, { headScale }) };
}

/** What an opened model predicts after these ids, or at the first mask among them. */
export function readIds(opened, ids) {
  const place = opened.model.config.causal ? ids.length - 1 : ids.indexOf(MASK);
  return predictedAt(opened, ids, place, {});
}

function predictedAt({ model, tokenizer }, ids, place, options) {
  const { attention, states } = model.run(ids, { ...options, logits: "none" });
  const probabilities = place < 0 ? null : predictedFrom(model, states.at(-1), place);
  return {
    attention: joined(attention),
    states,
    probabilities,
    best: probabilities ? namedBy(tokenizer, likeliest(probabilities)) : [],
  };
}

/** The probabilities that the head gives to a hidden state at one place: the logit lens. */
export function predictedFrom(model, state, place) {
  const { width } = model.config;
  const logits = model.logits(state.subarray(place * width, (place + 1) * width));
  return softmax(Float64Array.from(logits));
}

/** The likeliest with their texts. */
export function namedBy(tokenizer, best) {
  const texts = textsOf(
    tokenizer,
    best.map(({ id }) => id),
  );
  return best.map((each, place) => ({ ...each, text: texts[place] }));
}

/** The reading that was written into the page: `kept` is its JSON, weights as float32 in base64. */
export function keptReading(kept) {
  const { buffer } = fromBase64(kept.attention).slice(); // begins where numbers may begin
  return { ...kept, ...UNKNOWN, attention: new Float32Array(buffer) };
}

/**
 * Rows of bars, [{text, now, before}]: the likeliest tokens of two readings, the likeliest of
 * either first. `before` is null where there is nothing to compare with.
 */
export function rowsOf(reading, before = null, count = BEST) {
  if (!before?.probabilities || before === reading) {
    const all = reading.best.slice(0, count);
    return all.map(({ text, probability }) => ({
      text: visible(text),
      now: probability,
      before: null,
    }));
  }
  const texts = new Map([...before.best, ...reading.best].map(({ id, text }) => [id, text]));
  const rows = [...texts].map(([id, text]) => {
    const [now, past] = [reading.probabilities[id], before.probabilities[id]];
    return { text: visible(text), now, before: past };
  });
  rows.sort((a, b) => Math.max(b.now, b.before) - Math.max(a.now, a.before));
  return rows.slice(0, count);
}

/** How much of the probability moved between two predictions: half the sum of the differences. */
export function moved(one, other) {
  return one.reduce((sum, share, id) => sum + Math.abs(share - other[id]), 0) / 2;
}

/** The weights with which a token looks, in one head: a view of (length) numbers. */
export function weightsFrom({ attention, heads, ids }, layer, head, from) {
  const start = ((layer * heads + head) * ids.length + from) * ids.length;
  return attention.subarray(start, start + ids.length);
}

/** The token whose looks are shown: the one at which is predicted, else the last. */
export function askedFrom({ place, ids }) {
  return place < 0 ? ids.length - 1 : place;
}

/**
 * The head in which that token looks hardest at one other token, the first of all left out, where
 * many heads look when they have nothing to do: {layer, head, weights}.
 */
export function sharpest(reading) {
  const from = askedFrom(reading);
  let best = { layer: 0, head: 0, weight: -1 };
  for (let layer = 0; layer < reading.layers; layer++) {
    for (let head = 0; head < reading.heads; head++) {
      weightsFrom(reading, layer, head, from).forEach((weight, to) => {
        if (to > 0 && to !== from && weight > best.weight) best = { layer, head, weight };
      });
    }
  }
  return { ...best, weights: weightsFrom(reading, best.layer, best.head, from) };
}

/** Where a head looks most, on average over the tokens after the first: [in words, share]. */
export function habit(reading, layer, head) {
  const sums = { "the first token": 0, "the token before": 0, itself: 0, "the token after": 0 };
  const names = ["the token after", "itself", "the token before"]; // at a distance of -1, 0, 1
  const { length } = reading.ids;
  for (let from = 1; from < length; from++) {
    weightsFrom(reading, layer, head, from).forEach((weight, to) => {
      const name = to === 0 ? "the first token" : names[from - to + 1];
      if (name) sums[name] += weight / (length - 1);
    });
  }
  const [[name, share]] = Object.entries(sums).sort((a, b) => b[1] - a[1]);
  return share > 0.4 ? [name, share] : ["various tokens", 1 - share];
}

function joined(layers) {
  const all = new Float32Array(layers.reduce((sum, layer) => sum + layer.length, 0));
  let start = 0;
  for (const layer of layers) {
    all.set(layer, start);
    start += layer.length;
  }
  return all;
}
