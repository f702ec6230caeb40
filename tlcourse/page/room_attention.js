// The room of attention: where every head looks, and what happens when one is switched off.

import { barRows, choice, grid, ink, make, percent, refill } from "./dom.js";
import { headsOf, upTo } from "./heads.js";
import { habit, moved, rowsOf, sharpest, weightsFrom } from "./reading.js";
import { askWords, quote } from "./telling.js";
import { show } from "../views/attention.js";

const MOVING = 6; // bars
const RANKED = 5; // heads that get a sentence

export const attentionRoom = {
  id: "attention",
  name: "Attention",
  lesson: "08",
  story:
    "The model is a stack of blocks, each with several heads. In a head every token looks at " +
    "others; the stronger the colour of a square or a line, the harder it looks. Further down " +
    "you can switch heads off: the prediction changes if it needed them.",

  build(root, page) {
    const part = (tag, attributes = {}) => root.appendChild(make(tag, attributes));
    const parts = {
      blocks: part("div"),
      heads: part("div"),
      lines: part("div", { id: "lines" }),
      title: part("h3"),
      switches: part("div", { id: "switches" }),
      asks: part("h4", { id: "moving-asks" }),
      told: part("p", { id: "moved", "aria-live": "polite" }),
      bars: part("ol", { id: "moving", class: "bars", "aria-labelledby": "moving-asks" }),
      sweep: part("button", { id: "sweep", type: "button" }),
      ranking: part("div", { id: "ranking", "aria-live": "polite" }),
    };
    const state = { layer: null, head: null, ranked: null, reading: null, shown: null };
    const change = (changes) => {
      Object.assign(state, changes);
      drawLooks(parts, state, change);
    };
    const draw = (reading, shown) => {
      if (state.reading !== reading) state.ranked = null;
      Object.assign(state, { reading, shown });
      if (page.head || state.layer === null) Object.assign(state, page.head ?? sharpest(reading));
      page.choose(null);
      state.layer = Math.min(state.layer, reading.layers - 1);
      state.head = Math.min(state.head, reading.heads - 1);
      drawLooks(parts, state, change);
      drawSwitches(parts, state, page);
    };
    parts.sweep.addEventListener("click", async () => {
      const { reading } = state;
      parts.sweep.textContent = "Switching off one head after the other …";
      await page.study(reading);
      if (state.reading !== reading) return;
      state.ranked = rankedBy(reading);
      drawSwitches(parts, state, page);
    });
    return draw;
  },
};

/** All heads of the chosen block as small maps, and the chosen one as lines. */
function drawLooks(parts, { layer, head, shown }, change) {
  const blocks = upTo(shown.layers).map((value) => ({ value, inside: `block ${value}` }));
  refill(
    parts.blocks,
    choice("layer", "Block", blocks, layer, (value) => change({ layer: value })),
  );
  const heads = upTo(shown.heads).map((value) => {
    const [name, share] = habit(shown, layer, value);
    const words = make("small", {}, `${name}: ${Math.round(100 * share)}\u00a0%`);
    return { value, inside: [mapOf(shown, layer, value), `head ${layer}.${value}`, words] };
  });
  const legend = "Head: a row for each token, coloured where it looks; most of all at …";
  refill(
    parts.heads,
    choice("head", legend, heads, head, (value) => change({ head: value })),
  );
  parts.heads.firstChild.classList.add("maps");
  show(parts.lines, {
    title: `Head ${layer}.${head}`,
    alt: `The weights of head ${layer}.${head} as lines between tokens.`,
    note: "",
    layers: shown.layers,
    heads: shown.heads,
    queries: shown.texts,
    keys: shown.texts,
    marks: shown.place < 0 ? [] : [shown.place],
    first: { layer, on: [head] },
    weights: shown.attention,
  });
}

/** The switches of all heads, the bars that move with them, and the heads by what they change. */
function drawSwitches(parts, { reading, shown, ranked }, page) {
  const all = headsOf(reading);
  const changes = new Map((ranked ?? []).map((each) => [`${each.layer}.${each.head}`, each]));
  const buttons = all.map(([layer, head]) => {
    const [name, on] = [`${layer}.${head}`, !page.isOff(layer, head)];
    const made = make("button", { type: "button", click: () => page.toggle(layer, head) }, name);
    made.setAttribute("aria-pressed", String(on));
    const found = changes.get(name);
    if (found) made.append(make("small", {}, percent(found.change)));
    made.disabled = !reading.opened;
    return made;
  });
  const off = all.filter(([layer, head]) => page.isOff(layer, head)).length;
  parts.title.textContent = `Switch heads off (block.head); off: ${off} of ${all.length}`;
  const rows = grid("heads: pressed is on", buttons, reading.heads);
  const reset = make("button", { type: "button", click: () => page.allOn() }, "all heads on");
  reset.disabled = !off;
  refill(parts.switches, rows, reset);
  parts.asks.textContent = askWords(shown) + (off ? ` (orange: all heads; blue: ${off} off)` : "");
  parts.told.textContent = shown === reading ? "" : movedWords(reading, shown);
  parts.bars.replaceChildren(...barRows(rowsOf(shown, reading, MOVING)));
  parts.sweep.textContent = `Which heads matter? Switch off each of the ${all.length} in turn`;
  parts.sweep.disabled = !reading.probabilities;
  parts.ranking.replaceChildren(...(ranked ? rankingOf(ranked) : []));
}

function movedWords({ probabilities, best }, shown) {
  if (!probabilities) return "";
  const now = shown.probabilities[best[0].id];
  return (
    `${quote(best[0].text)} goes from ${percent(best[0].probability)} to ` +
    `${percent(now)}. In all, ${percent(moved(probabilities, shown.probabilities))} of the ` +
    "probability went to other tokens."
  );
}

/** The heads by how much of the probability moves without them, most first. */
function rankedBy({ probabilities, best, effects }) {
  const found = effects.map((effect) => ({
    ...effect,
    change: moved(probabilities, effect.probabilities),
    before: best[0],
    after: effect.best[0],
  }));
  return found.sort((one, other) => other.change - one.change);
}

function rankingOf(ranked) {
  const items = ranked.slice(0, RANKED).map(({ layer, head, change, before, left, after }) => {
    const next = after.id === before.id ? "" : `; now ${quote(after.text)} leads`;
    return make(
      "li",
      {},
      `head ${layer}.${head} moves ${percent(change)}: ${quote(before.text)} ` +
        `${percent(before.probability)} → ${percent(left)}${next}`,
    );
  });
  const words =
    "The heads that matter most here, each switched off alone: how much of the probability " +
    "goes to other tokens. The switches above show it for every head.";
  return [make("p", {}, words), make("ol", { class: "plain" }, ...items)];
}

/** A head's weights as a picture of (length × length) squares; its words stand beside it. */
function mapOf(shown, layer, head) {
  const { length } = shown.ids;
  const canvas = make("canvas", { width: length, height: length, "aria-hidden": "true" });
  const [pen, colour] = [canvas.getContext("2d"), ink()];
  const image = pen.createImageData(length, length);
  for (let from = 0; from < length; from++) {
    weightsFrom(shown, layer, head, from).forEach((weight, to) => {
      image.data.set([...colour, 255 * weight], 4 * (from * length + to));
    });
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}
