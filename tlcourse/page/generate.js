// Writing with a causal model, as tlcourse.evaluation.generate does, and its ways to choose.

import { softmax } from "./attention.js";
import { EOS, SPECIALS } from "./bpe.js";

/** Draws from 0 to 1, the same for the same seed (mulberry32): a `random` for `sample`. */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * The tokens that may come next, [{id, probability}], likeliest first, with probabilities that add
 * up to 1: the `topK` likeliest of them, and of those the fewest that together have at least `topP`
 * (Holtzman et al., 2020). `temperature` below 1 favours the likely; 0 leaves the likeliest alone.
 * Special tokens other than `<eos>` never come.
 */
export function candidates(logits, { temperature = 1, topK = 50, topP = 1 } = {}) {
  const open = Float64Array.from(logits);
  SPECIALS.forEach((_, id) => (open[id] = id === EOS ? open[id] : -Infinity));
  const order = Array.from(open.keys()).sort((a, b) => open[b] - open[a] || a - b);
  const kept = order.slice(0, temperature === 0 ? 1 : topK);
  const shares = softmax(Float64Array.from(kept, (id) => open[id] / (temperature || 1)));
  let count = 0;
  for (let sum = 0; count < kept.length && (count === 0 || sum < topP); count++)
    sum += shares[count];
  const total = shares.subarray(0, count).reduce((sum, share) => sum + share, 0);
  return kept.slice(0, count).map((id, rank) => ({ id, probability: shares[rank] / total }));
}

/** One of the candidates, by chance. */
export function sample(logits, { random, ...how }) {
  const all = candidates(logits, how);
  let left = random();
  for (const { id, probability } of all) {
    left -= probability;
    if (left < 0) return id;
  }
  return all.at(-1).id; // what rounding left over
}

/**
 * Gives up to `count` new ids after `ids`, one at a time, so that a page can show each; the last is
 * `<eos>` if that comes. The model reads at most `longest` tokens back. `run` holds options of
 * `Transformer.run`. Throws an Error for a model that was not trained to write, or an empty start.
 */
export function* generate(model, ids, options = {}) {
  const { count = 40, longest = model.config.max_length, run = {}, seed = 0, ...how } = options;
  if (!model.config.causal) {
    throw new Error("expected a causal model, got one that reads both ways; choose a causal one");
  }
  if (!ids.length)
    throw new Error("expected at least one token to start from, got none; write one");
  const [random, text] = [seeded(seed), [...ids]];
  for (let step = 0; step < count && (step === 0 || text.at(-1) !== EOS); step++) {
    const { logits } = model.run(text.slice(-longest), { ...run, logits: "last" });
    text.push(sample(logits, { random, ...how }));
    yield text.at(-1);
  }
}
