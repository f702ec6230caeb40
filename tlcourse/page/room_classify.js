// The room of classification: what kind of answer a question asks for, and what LoRA adds.

import { barRows, choice, make } from "./dom.js";
import { MOST } from "./reading.js";

// The kinds of TREC.
const KINDS = new Map([
  ["ABBR", "an abbreviation"],
  ["DESC", "a description"],
  ["ENTY", "a thing"],
  ["HUM", "a person or group"],
  ["LOC", "a place"],
  ["NUM", "a number or date"],
]);
const QUESTIONS_ONLY = " The model has learned from questions only, and this text is not one.";
const ASKS = "Kind of answer";
const QUESTIONS = [
  "Who wrote the first book about whales?",
  "How many people live in Iceland?",
  "What does NASA stand for?",
  "Where do penguins sleep?",
  "What is a black hole?",
];

export const classifyRoom = {
  id: "classify",
  name: "Classify",
  lesson: "05",
  examples: QUESTIONS,
  reads: ({ classifiers }) =>
    `${classifiers.map(({ name }) => name).join(", ")}: names the kind of answer`,
  story:
    "The same model, adapted: it does not answer a question, it says what kind of answer the " +
    "question asks for. A few added weights (LoRA) do this; at strength 0 they have no effect.",

  build(root, page) {
    const part = (tag, attributes = {}, ...inside) =>
      root.appendChild(make(tag, attributes, ...inside));
    const names = page.made.classifiers.map(({ name }) => name);
    const state = { name: names[0], strength: 1, text: "" };
    const options = names.map((value) => ({ value, inside: value }));
    const change = (changes) => {
      Object.assign(state, changes);
      draw();
    };
    if (names.length > 1) {
      const take = (name) => change({ name });
      root.append(choice("classifier", "Classifier", options, state.name, take));
    }
    const parts = {
      asks: part("h3", { id: "label-asks" }),
      said: part("p", { id: "classified", "aria-live": "polite" }),
      bars: part("ol", { id: "labels", class: "bars", "aria-labelledby": "label-asks" }),
      strength: part("div", { hidden: true }),
    };
    parts.strength.append(...strengthSlider((strength) => change({ strength })));
    const draw = async () => {
      const { name } = state;
      try {
        const classifier = await page.classifier(name);
        if (name === state.name) drawLabels(parts, classifier, state);
      } catch (error) {
        parts.bars.replaceChildren();
        parts.said.textContent = error.message;
      }
    };
    return (reading) => {
      state.text = reading.text;
      parts.asks.textContent = ASKS;
      if (!parts.bars.children.length) parts.said.textContent = "The classifier is being loaded …";
      if (reading.opened) draw();
    };
  },
};

function strengthSlider(change) {
  const value = make("output", {}, "1");
  const slider = make("input", { id: "strength", type: "range", min: 0, max: 1.5, step: 0.1 });
  slider.value = 1;
  slider.addEventListener("input", () => {
    value.textContent = slider.value;
    change(Number(slider.value));
  });
  const words = "Strength of LoRA (0: none, 1: as trained): ";
  return [make("label", { for: "strength" }, words, value), slider];
}

function drawLabels(parts, classifier, state) {
  const rows = rowsFrom(classifier, state);
  const [best] = [...rows].sort((one, other) => other.now - one.now);
  const { strength } = state;
  parts.strength.hidden = !classifier.lora;
  parts.asks.textContent =
    ASKS +
    (strength === 1 ? "" : ` (pale: as trained; solid: LoRA at ${strength})`);
  parts.bars.replaceChildren(...barRows(rows, 1));
  const ofTrec = classifier.labels.every((label) => KINDS.has(label));
  const limits = ofTrec && !state.text.trim().endsWith("?") ? QUESTIONS_ONLY : "";
  const says = ofTrec ? "This question asks for" : "The label:";
  parts.said.textContent = `${says} ${best.text}.${limits}`;
}

/** A label; one of TREC in words. */
export function labelWords(label) {
  return KINDS.has(label) ? `${KINDS.get(label)} (${label})` : label;
}

/** The labels with their probabilities; beside them those of LoRA as it was trained. */
function rowsFrom(classifier, { text, strength }) {
  const parts = classifier.pairs ? text.split("\n").filter((each) => each.trim()) : [text];
  if (classifier.pairs && parts.length !== 2) {
    throw new Error("This classifier reads two texts: write the second on a line of its own.");
  }
  const ids = classifier.encode(parts.length > 1 ? parts : text, MOST);
  const trained = classifier.read(ids).probabilities;
  const now = strength === 1 ? trained : classifier.read(ids, { strength }).probabilities;
  const rows = classifier.labels.map((label, place) => ({
    text: labelWords(label),
    now: now[place],
    before: strength === 1 ? null : trained[place],
  }));
  return rows.sort((one, other) => (other.before ?? other.now) - (one.before ?? one.now));
}
