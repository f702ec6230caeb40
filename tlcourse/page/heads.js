// Heads one by one: all of a model, and what is left of its first choice without each.

import { breathe } from "./dom.js";
import { readWithout } from "./reading.js";

/** Every head as [layer, head]. */
export function headsOf({ layers, heads }) {
  return upTo(layers).flatMap((layer) => upTo(heads).map((head) => [layer, head]));
}

export function upTo(count) {
  return Array.from({ length: count }, (_, number) => number);
}

/**
 * What a reading predicts without each head, one forward pass a head: [{layer, head, left,
 * probabilities, best}], where `left` is the probability of the first choice. `still()` is asked
 * before each; null comes back once it says no. Between two passes the browser hears keys.
 */
export async function effectsOf(reading, still) {
  const found = [];
  for (const [layer, head] of headsOf(reading)) {
    await breathe();
    if (!still()) return null;
    const { probabilities, best } = readWithout(reading, [[layer, head]]);
    found.push({ layer, head, left: probabilities[reading.best[0].id], probabilities, best });
  }
  return found;
}

/** What switching a head off takes from the first choice; below 0: the choice becomes likelier. */
export function lostBy({ best }, { left }) {
  return best[0].probability - left;
}
