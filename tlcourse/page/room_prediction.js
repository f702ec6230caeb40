// The room of predictions: what comes next, writing on, and how the blocks get there.

import { barRows, breathe, heat, make, percent } from "./dom.js";
import { EOS } from "./bpe.js";
import { generate } from "./generate.js";
import { headsOf } from "./heads.js";
import { MOST, likeliest, namedBy, predictedFrom, rowsOf } from "./reading.js";
import { askWords, titleWords } from "./telling.js";
import { visible } from "../views/attention.js";

const PACE = 40; // milliseconds a token, so that one sees the text grow
const GUESSES = 3; // of each block
const DOES = {
  temperature: "at 0, always the likeliest token",
  "top-k": "keeps the k likeliest tokens",
  "top-p": "of these, the likeliest that add up to p",
};
const KNOBS = [
  { name: "temperature", least: 0, most: 2, step: 0.1, first: 0.8 },
  { name: "top-k", least: 1, most: 100, step: 1, first: 50 },
  { name: "top-p", least: 0.1, most: 1, step: 0.05, first: 0.95 },
];

export const predictionRoom = {
  id: "prediction",
  name: "Prediction",
  lesson: "03",
  story:
    "The model gives a probability to every token it knows. To write, it draws one of them, " +
    "adds it to the text and reads again.",

  build(root, page) {
    const part = (tag, attributes = {}, ...inside) =>
      root.appendChild(make(tag, attributes, ...inside));
    const parts = {
      asks: make("h3", { id: "question", tabindex: -1 }),
      bars: make("ol", { id: "bars", class: "bars", "aria-labelledby": "question" }),
      title: make("p", { class: "note" }),
      off: make("p", { class: "pills" }),
      lens: make("div", { id: "lens" }),
    };
    const lensName = make("h3", { id: "lens-name" }, "What each block would say (the logit lens)");
    const [bars, lens] = [
      make("div", {}, parts.asks, parts.bars, parts.off, parts.title),
      make("div", {}, lensName, parts.lens),
    ];
    parts.writing = part("div", { id: "writing" });
    part("div", { class: "columns" }, bars, lens);
    const write = writer(parts.writing, page);
    return (reading, shown) => {
      drawPrediction(parts, reading, shown, page);
      parts.lens.replaceChildren(...lensOf(shown));
      write(shown);
    };
  },
};

function drawPrediction(parts, reading, shown, page) {
  const off = headsOf(reading).filter(([layer, head]) => page.isOff(layer, head));
  const list = off.map((each) => each.join(".")).join(", ");
  const colours = off.length ? ` (pale: all heads on; solid: without ${list})` : "";
  parts.asks.textContent = askWords(shown) + colours;
  parts.bars.replaceChildren(...barRows(rowsOf(shown, reading)));
  parts.title.textContent = titleWords(shown);
  const click = () => {
    page.allOn();
    parts.asks.focus(); // the button is gone
  };
  parts.off.replaceChildren(
    ...(off.length
      ? [make("button", { type: "button", click }, "All heads on")]
      : []),
  );
}

/** The head on the states after each block: a table of the likeliest tokens. */
function lensOf({ opened, states, place, probabilities }) {
  if (!probabilities) return [make("p", { class: "note" }, "This needs the model, and a <mask>.")];
  const [{ id: last }] = likeliest(probabilities, 1);
  const rows = states.map((state, layer) => {
    const shares = predictedFrom(opened.model, state, place);
    const best = namedBy(opened.tokenizer, likeliest(shares, GUESSES));
    const cells = best.map(({ id, text, probability }) =>
      make(
        "td",
        { class: `${heat(probability)}${id === last ? " last" : ""}` },
        make("bdi", {}, visible(text)),
        make("small", {}, percent(probability)),
      ),
    );
    const name = layer ? `block ${layer - 1}` : "start";
    return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
  });
  const titles = ["after", "1st", "2nd", "3rd"].map((text) => make("th", { scope: "col" }, text));
  const caption = "A stronger colour: a higher probability. In bold: the last block's guess.";
  return [
    make(
      "table",
      { class: "heats", "aria-labelledby": "lens-name" },
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...titles)),
      make("tbody", {}, ...rows),
    ),
  ];
}

/** The part that writes on; gives what is to be called with a new reading. */
function writer(root, page) {
  const knobs = KNOBS.map(({ name, least, most, step, first }) => {
    const value = make("output", {}, String(first));
    const input = make("input", { type: "range", min: least, max: most, step, id: name });
    input.value = first;
    input.addEventListener("input", () => (value.textContent = input.value));
    const label = make("label", { for: name }, `${name} `, value);
    const note = make("small", { id: `${name}-does`, class: "note" }, DOES[name]);
    input.setAttribute("aria-describedby", note.id);
    return { input, element: make("div", {}, label, input, note) };
  });
  const start = make("button", { type: "button", id: "write", class: "primary" }, "Write on");
  const written = make("p", { id: "written", class: "written", "aria-live": "polite" });
  let [current, run, seed] = [null, 0, 0];
  start.addEventListener("click", async () => {
    const mine = ++run;
    const [temperature, topK, topP] = knobs.map(({ input }) => Number(input.value));
    const { opened, ids, text } = current;
    const how = { temperature, topK, topP, count: MOST - ids.length, seed: seed++ };
    const headScale = page.headScale();
    const more = [];
    start.textContent = "Write something else";
    written.setAttribute("aria-busy", "true");
    for (const id of generate(opened.model, ids, { ...how, run: { headScale } })) {
      if (id !== EOS) more.push(id);
      const end = id === EOS ? " (the model ends the text here)" : "";
      written.replaceChildren(
        make("span", {}, text.trim()),
        make("mark", {}, opened.tokenizer.decode(more)),
        end,
      );
      await breathe(PACE);
      if (mine !== run) return;
    }
    written.removeAttribute("aria-busy"); // now a screen reader may say it, in one piece
  });
  root.append(
    make("div", { class: "knobs" }, start, ...knobs.map(({ element }) => element)),
    written,
  );
  return (shown) => {
    if (current?.text !== shown.text) {
      run++;
      seed = 0;
      written.replaceChildren();
      start.textContent = "Write on";
    }
    current = shown;
    root.hidden = !shown.causal;
    start.disabled = !shown.opened || shown.ids.length >= MOST;
  };
}
