// The first room: one drawing of the whole model as it reads, from tokens to the next one.

import { bar, barRows, make, refill, roam } from "./dom.js";
import { SPECIALS } from "./bpe.js";
import { fanIn, fanOut, strip, tone } from "./flow.js";
import { lostBy, upTo } from "./heads.js";
import { askedFrom, rowsOf, sharpest, weightsFrom } from "./reading.js";
import { askWords, effectWords, isPiece, lookWords, quote, titleWords } from "./telling.js";
import { visible } from "../views/attention.js";

const SHOWN = 6; // bars
const LEAST = 0.02; // the change of a probability that has full colour, where none is larger
const DENSE = [18, 32]; // more tokens than that are drawn lower

export const overviewRoom = {
  id: "overview",
  name: "The whole model",
  lesson: "00",
  story:
    "Point at a head to see where it looks and what it adds; every part leads to its room.",

  build(root, page) {
    const parts = partsOf(root);
    const state = { reading: null, shown: null, head: null, studied: null };
    const look = (head) => {
      state.head = head;
      drawFlow(parts, state);
    };
    parts.heads.addEventListener("pointerleave", () => look(null));
    parts.heads.addEventListener("focusout", () => look(null));
    return (reading, shown) => {
      if (state.reading !== reading) state.head = null;
      Object.assign(state, { reading, shown });
      drawTokens(parts, reading);
      drawHeads(parts, reading, page, look);
      parts.asks.textContent = askWords(reading);
      parts.title.textContent = titleWords(reading);
      parts.about.textContent = page.made.about[page.parts.model.value];
      drawFlow(parts, state);
      if (state.studied === reading) return;
      state.studied = reading;
      page.study(reading)?.then(() => {
        if (state.reading !== reading) return;
        drawHeads(parts, reading, page, look);
        drawFlow(parts, state);
      });
    };
  },
};

/** The drawing's elements, in the order of reading; page.css puts them beside each other. */
function partsOf(root) {
  const drawing = root.appendChild(make("div", { class: "drawing" }));
  const part = (tag, attributes, ...inside) =>
    drawing.appendChild(make(tag, attributes, ...inside));
  const stage = (id, room, name) => {
    const link = make("a", { id, href: `#${room}` }, name);
    part("h3", { class: "stage" }, link);
    return link;
  };
  const parts = {};
  stage("drawn-tokens-name", "tokens", "Tokens and vectors");
  parts.tokens = part("ol", { id: "drawn-tokens", "aria-labelledby": "drawn-tokens-name" });
  parts.into = part("div", { class: "fan" });
  parts.size = stage("drawn-heads-name", "attention", "");
  parts.heads = part("table", { id: "drawn-heads", "aria-labelledby": "drawn-heads-name" });
  parts.out = part("div", { class: "fan out" });
  parts.asks = stage("asks", "prediction", "");
  parts.bars = part("ol", { id: "drawn-bars", class: "bars", "aria-labelledby": "asks" });
  const told = (id, kind) => root.appendChild(make("p", { id, class: kind }));
  parts.looks = told("looks", null);
  parts.legend = told("legend", "legend");
  parts.title = told("takes-title", "note");
  parts.about = told("about", "note");
  return parts;
}

function drawTokens({ tokens }, reading) {
  const { ids, texts, vectors } = reading;
  tokens.className = `dense-${DENSE.filter((most) => ids.length > most).length}`;
  tokens.replaceChildren(
    ...ids.map((id, place) => {
      const kinds = [
        id < SPECIALS.length && "special",
        place === askedFrom(reading) && "marked",
        isPiece(ids, texts, place) && "piece",
      ];
      const [name, word] = [kinds.filter(Boolean).join(" "), visible(texts[place])];
      const signs = make("bdi", {}, word);
      return make("li", { class: name || null }, signs, strip(vectors[place]), bar(0));
    }),
  );
}

/** A column for each block, a field for each of its heads, coloured by what depends on it. */
function drawHeads(parts, reading, page, look) {
  const { layers, heads } = reading;
  const most = fullColour(reading);
  parts.size.textContent = `${layers} blocks of ${heads} heads`;
  const names = upTo(layers).map((layer) => {
    const link = make("a", { href: "#stream", "aria-label": `block ${layer}` }, String(layer));
    return make("th", { scope: "col" }, link);
  });
  const fields = upTo(heads).map((head) =>
    upTo(layers).map((layer) => {
      const effect = effectOf(reading, layer, head);
      const name = `head ${layer}.${head}`;
      const told = effect ? `${name}: ${effectWords(reading, effect)}` : name;
      return make(
        "a",
        {
          href: "#attention",
          class: page.isOff(layer, head) ? "off" : null,
          "aria-label": told,
          click: () => page.choose({ layer, head }),
          pointerenter: () => look({ layer, head }),
          focus: () => look({ layer, head }),
        },
        tone(effect ? lostBy(reading, effect) / most : null),
      );
    }),
  );
  roam(fields.flat(), layers);
  const rows = fields.map((row) => make("tr", {}, ...row.map((field) => make("td", {}, field))));
  refill(parts.heads, make("thead", {}, make("tr", {}, ...names)), make("tbody", {}, ...rows));
  parts.legend.replaceChildren(...legendOf(reading, most));
}

/** What the head that is pointed at does, else where the sharpest one looks. */
function drawFlow(parts, { reading, shown, head: chosen }) {
  const { layer, head } = chosen ?? sharpest(reading);
  const from = askedFrom(reading);
  const weights = weightsFrom(reading, layer, head, from);
  const effect = effectOf(reading, layer, head);
  parts.heads.querySelector(".shown")?.classList.remove("shown");
  parts.heads.querySelectorAll("td a")[head * reading.layers + layer].classList.add("shown");
  parts.into.replaceChildren(fanIn(Array.from(weights)));
  weights.forEach((weight, at) => parts.tokens.children[at].lastChild.replaceWith(bar(weight)));
  const words = [lookWords(reading, { layer, head, from, weights })];
  if (effect) words.push(effectWords(reading, effect));
  const now = chosen && effect?.probabilities ? effect : shown;
  if (now === effect) words.push("Orange: with all heads; blue: without it.");
  else if (now !== reading) words.push("Orange: with all heads; blue: without those that are off.");
  parts.looks.textContent = words.join(" ");
  const rows = rowsOf(now, now === reading ? null : reading, SHOWN);
  parts.out.replaceChildren(...(rows.length ? [fanOut(rows.map((row) => row.now))] : []));
  parts.bars.replaceChildren(...barRows(rows));
}

function effectOf({ effects }, layer, head) {
  return effects?.find((each) => each.layer === layer && each.head === head) ?? null;
}

/** The largest change that a single head makes, and at least LEAST. */
function fullColour(reading) {
  const changes = (reading.effects ?? []).map((effect) => Math.abs(lostBy(reading, effect)));
  return Math.max(LEAST, ...changes);
}

/** What the colours of the heads mean. */
function legendOf(reading, most) {
  if (!reading.effects) return [];
  const swatch = (kind) => make("span", { class: `swatch ${kind}`, "aria-hidden": "true" });
  const points = `${(100 * most).toFixed(1)} percentage points`;
  return [
    make("span", {}, `With one head switched off, ${quote(reading.best[0].text)} becomes`),
    make("span", {}, swatch("less"), " less likely"),
    make("span", {}, swatch("more"), " more likely"),
    make("span", {}, `full colour: by ${points}`),
    make("span", {}, swatch("feed"), " feed-forward layer"),
  ];
}
