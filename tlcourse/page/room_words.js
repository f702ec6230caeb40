// The room of erasure: which words an answer hangs on, found by leaving each of them out.

import { barRows, breathe, chip, choice, counted, make, percent } from "./dom.js";
import { MOST, cutAfter, highest, moved, readIds } from "./reading.js";
import { labelWords } from "./room_classify.js";
import { visible } from "../views/attention.js";

const STRONGEST = 5; // bars
const NEXT = "the predicted word";

export const wordsRoom = {
  id: "words",
  name: "Which words matter",
  lesson: "07",
  story:
    "Leave one word out and read again: how much does the answer change? The words that change " +
    "it most are the ones that matter, wherever the attention goes.",

  build(root, page) {
    const part = (tag, attributes = {}, ...inside) =>
      root.appendChild(make(tag, attributes, ...inside));
    const state = { asked: NEXT, reading: null, found: null };
    const kinds = [NEXT, ...page.made.classifiers.map(({ name }) => name)];
    const options = kinds.map((value) => {
      return { value, inside: value === NEXT ? NEXT : answerOf(page, value) };
    });
    const parts = {};
    const change = (changes) => {
      Object.assign(state, { found: null }, changes);
      parts.said.textContent = "";
      drawErased(parts, state);
      start();
    };
    if (kinds.length > 1) {
      root.append(choice("erased-of", "Answer", options, NEXT, (asked) => change({ asked })));
    }
    parts.said = part("p", { id: "erased-said", "aria-live": "polite" });
    parts.words = part("ol", { id: "erased", class: "chips", "aria-label": "words" });
    parts.bars = part("ol", { id: "erased-bars", class: "bars", "aria-label": "ranking" });
    const limits =
      "Below each word: how far the answer shifts without this word. If two words say the same " +
      "thing, removing either one changes little.";
    part("p", { class: "note" }, limits);
    const start = async () => {
      const { reading, asked } = state;
      const able = asked === NEXT ? reading.probabilities : reading.opened;
      if (!able || !reading.words.some((word) => typeof word === "string")) return;
      const still = () => state.reading === reading && state.asked === asked;
      try {
        const ask = asked === NEXT ? predicting(reading) : labelling(await page.classifier(asked));
        const found = await erase(reading.words, ask, async (word) => {
          if (still()) parts.said.textContent = `without \u2068${word.trim()}\u2069 …`;
          await breathe();
          return still();
        });
        if (!found) return;
        state.found = found;
        drawErased(parts, state);
      } catch (error) {
        if (still()) parts.said.textContent = error.message;
      }
    };
    return (reading) => {
      if (state.reading !== reading) change({ reading });
    };
  },
};

/**
 * What becomes of an answer without each word: {answer, share, rows}, a row a word, [{text, change,
 * left, now}]: the share of probability that moves, what is left of the answer, the new answer.
 * `words` are pre-tokens and ids of specials, which stay. `ask(words)` gives {names,
 * probabilities}; `go(word)` is asked before each one, and null comes back once it says no.
 */
export async function erase(words, ask, go) {
  const { names, probabilities } = ask(words);
  const best = highest(probabilities);
  const rows = [];
  for (const [place, text] of words.entries()) {
    if (typeof text !== "string") continue;
    if (!(await go(text))) return null;
    const rest = [...words.slice(0, place), ...words.slice(place + 1)];
    const now = ask(rest).probabilities;
    const change = moved(probabilities, now);
    rows.push({ text, change, left: now[best], now: names(highest(now)) });
  }
  return { answer: names(best), share: probabilities[best], rows };
}

/** What a classifier answers, in words. */
function answerOf({ made }, name) {
  return made.classifiers.length > 1 ? `the label of ${name}` : "the question type";
}

/** Asks the model for the token that comes next, or stands at the mask. */
function predicting({ opened }) {
  const { model, tokenizer } = opened;
  const names = (id) => visible(tokenizer.tokens([id])[0]);
  return (words) => {
    const ids = cutAfter(tokenizer, words, Infinity).slice(0, MOST);
    return { names, probabilities: readIds(opened, ids).probabilities };
  };
}

/** Asks a classifier for its label. */
function labelling(classifier) {
  if (classifier.pairs) throw new Error("This classifier reads two texts; ask another here.");
  const names = (place) => labelWords(classifier.labels[place]);
  return (words) => {
    const text = words.filter((word) => typeof word === "string").join("");
    if (!text.trim()) throw new Error("Without its only word nothing is left: type some more.");
    const ids = classifier.encode(text, MOST);
    return { names, probabilities: classifier.read(ids).probabilities };
  };
}

function drawErased({ said, words, bars }, { reading, found }) {
  const texts = (reading.words ?? []).filter((word) => typeof word === "string");
  const rows = found?.rows ?? texts.map((text) => ({ text }));
  const nameOf = numbered(rows);
  words.replaceChildren(
    ...rows.map(({ text, change }) =>
      chip(visible(text), found ? percent(change) : "", { share: found ? change : 0 }),
    ),
  );
  bars.replaceChildren();
  if (!found) return;
  said.textContent = foundWords(found);
  const strongest = [...rows].sort((one, other) => other.change - one.change).slice(0, STRONGEST);
  const ranked = strongest.sort((one, other) => one.left - other.left); // as their bars show it
  const named = ranked.map((row) => ({
    text: `without ${nameOf(row)}` + (row.now === found.answer ? "" : ` → ${row.now}`),
    now: row.left,
    before: found.share,
  }));
  bars.replaceChildren(...barRows(named));
}

/** Names rows by their words; a word that comes twice gets numbers. */
function numbered(rows) {
  const same = (row) => rows.filter(({ text }) => text.trim() === row.text.trim());
  return (row) => {
    const all = same(row);
    const number = all.length > 1 ? ` (${all.indexOf(row) + 1})` : "";
    return `\u2068${visible(row.text.trim())}\u2069${number}`;
  };
}

function foundWords({ answer, share, rows }) {
  const changed = rows.filter(({ now }) => now !== answer).length;
  const others = changed
    ? `${changed} of its ${counted(rows.length, "word")} would change it if left out`
    : `no single one of its ${counted(rows.length, "word")} decides it`;
  return (
    `The answer is '\u2068${answer}\u2069' (${percent(share)}); ${others}. ` +
    "Pale: its probability with all words; solid: without one."
  );
}
