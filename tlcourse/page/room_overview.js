// The first room: one drawing of the whole model as it reads, from tokens to the next one.

import { blocksOf, effectLegend, effectOf, shareOf } from "./blocks.js";
import { SPECIALS } from "./bpe.js";
import { bar, barRows, isTapped, make, refill } from "./dom.js";
import { fanIn, fanOut, mapOf, strip, tone } from "./flow.js";
import { askedFrom, highest, rowsOf, sharpest, weightsFrom } from "./reading.js";
import { askWords, effectWords, nameOf, putsWords, titleWords } from "./telling.js";

const SHOWN = 6; // bars
const REST = "all others";
const MEANINGS = [
  ["attention", "attention"],
  ["chance", "probability"],
  ["feed", "feed-forward (FFN)"],
];
const DENSE = [18, 32]; // more tokens than that are drawn lower

export const overviewRoom = {
  id: "overview",
  name: "The whole model",
  lesson: "00",
  story: isTapped()
    ? "Tap a head to see where it looks; tap any other part of the drawing for a closer look."
    : "Point at a head to see what it does; click any part of the drawing for a closer look.",

  build(root, page) {
    const parts = partsOf(root);
    let flowed = false;
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
        if (!flowed) parts.drawing.classList.add("flowing"); // once
        flowed = true;
      });
    };
  },
};

/** The drawing's elements, in the order of reading; page.css puts them beside each other. */
function partsOf(root) {
  const drawing = root.appendChild(make("div", { class: "drawing" }));
  const part = (tag, attributes, ...inside) =>
    drawing.appendChild(make(tag, attributes, ...inside));
  const stage = (id, room, name, does) => {
    const link = make("a", { id, href: `#${room}` }, name);
    part("div", { class: "stage" }, make("h3", {}, link), make("p", {}, does));
    return link;
  };
  const parts = { drawing };
  stage("drawn-tokens-name", "tokens", "Tokens", "Each becomes a vector.");
  parts.tokens = part("ol", { id: "drawn-tokens", "aria-labelledby": "drawn-tokens-name" });
  parts.into = part("div", { class: "fan" });
  parts.size = stage("drawn-heads-name", "attention", "", "Each block adds to the vectors.");
  parts.heads = part("ol", {
    id: "drawn-heads",
    class: "blocks",
    "aria-labelledby": "drawn-heads-name",
  });
  parts.out = part("div", { class: "fan out" });
  parts.asks = stage("asks", "prediction", "", "A probability for every token.");
  parts.bars = part("ol", { id: "drawn-bars", class: "bars", "aria-labelledby": "asks" });
  parts.route = part("svg", { id: "route", "aria-hidden": "true" });
  const told = (id, kind) => root.appendChild(make("p", { id, class: kind }));
  parts.looks = told("looks", null);
  parts.legend = told("legend", "legend");
  parts.title = told("takes-title", "note");
  parts.about = told("about", "note");
  return parts;
}

function drawTokens({ tokens }, reading) {
  const { ids, vectors } = reading;
  tokens.className = `dense-${DENSE.filter((most) => ids.length > most).length}`;
  tokens.replaceChildren(
    ...ids.map((id, place) => {
      const kinds = [
        id < SPECIALS.length && "special",
        place === askedFrom(reading) && "marked",
      ];
      const name = kinds.filter(Boolean).join(" ");
      const signs = make("bdi", {}, nameOf(reading, place));
      return make("li", { class: name || null }, signs, strip(vectors[place]), bar(0));
    }),
  );
}

/** The blocks, each of their heads coloured by what depends on it. */
function drawHeads(parts, reading, page, look) {
  parts.size.textContent = `${reading.layers} blocks of ${reading.heads} heads`;
  const field = (layer, head) => {
    const effect = effectOf(reading, layer, head);
    const name = `head ${layer}.${head}`;
    return make(
      "a",
      {
        href: "#attention",
        class: page.isOff(layer, head) ? "head off" : "head",
        "aria-label": effect ? `${name}: ${effectWords(reading, effect)}` : name,
        click: () => page.choose([layer, head]),
        pointerenter: () => look({ layer, head }),
        focus: () => look({ layer, head }),
      },
      mapOf(reading, { layer, head }),
      tone(shareOf(reading, layer, head)),
    );
  };
  refill(parts.heads, ...blocksOf(reading, field));
  parts.legend.replaceChildren(...effectLegend(reading), ...MEANINGS.map(kindOf));
}

/** What the head that is pointed at does, else where the sharpest one looks. */
function drawFlow(parts, { reading, shown, head: chosen }) {
  const { layer, head } = chosen ?? sharpest(reading);
  parts.drawing.classList.remove("flowing");
  const from = askedFrom(reading);
  const weights = weightsFrom(reading, layer, head, from);
  const effect = effectOf(reading, layer, head);
  parts.heads.querySelector(".shown")?.classList.remove("shown");
  parts.heads.querySelectorAll(".head")[layer * reading.heads + head].classList.add("shown");
  parts.into.replaceChildren(fanIn(Array.from(weights)));
  weights.forEach((weight, at) => parts.tokens.children[at].lastChild.replaceWith(bar(weight)));
  drawRoute(parts, chosen && highest(weights));
  const words = [`In head ${layer}.${head}, ${putsWords(reading, from, weights)}`];
  if (effect) words.push(effectWords(reading, effect));
  const now = chosen && effect?.probabilities ? effect : shown;
  if (now === effect) words.push("Pale: with all heads; solid: without it.");
  else if (now !== reading) words.push("Pale: with all heads; solid: without those that are off.");
  const spoken = words.join(" ").split(/([\d.]+%)/u); // every second part is a number
  parts.looks.replaceChildren(...spoken.map((each, at) => (at % 2 ? make("b", {}, each) : each)));
  const rows = withRest(rowsOf(now, now === reading ? null : reading, SHOWN));
  parts.out.replaceChildren(...(rows.length ? [fanOut(rows.map((row) => row.now))] : []));
  parts.bars.replaceChildren(...barRows(rows));
}

/** From the token that the chosen head looks at to that head, and on into the ribbon. */
function drawRoute({ drawing, tokens, heads, route }, place) {
  drawing.classList.toggle("picked", place !== null);
  route.replaceChildren();
  if (place === null) return;
  const { left, top } = drawing.getBoundingClientRect();
  const boxOf = (element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x: x - left, y: y - top, width, height, middle: y - top + height / 2 };
  };
  const head = heads.querySelector(".shown");
  const [token, blocks, tile, lane] = [
    tokens.children[place],
    heads,
    head,
    head.closest("li").querySelector(".lane"),
  ].map(boxOf);
  const [start, into, out] = [token.x + token.width, blocks.x, tile.x + tile.width / 2];
  const [{ middle }, end] = [lane, blocks.x + blocks.width];
  const bend = (start + into) / 2;
  const edge = tile.y < lane.y ? tile.y + tile.height : tile.y;
  const first = `M${start} ${token.middle}C${bend} ${token.middle} ${bend} ${tile.middle}`;
  route.append(
    make("path", { d: `${first} ${into} ${tile.middle}H${tile.x}` }),
    make("path", { d: `M${out} ${edge}Q${out} ${middle} ${lane.x + lane.width} ${middle}H${end}` }),
  );
}

/** Rows of bars, and one for the probability that they leave. */
function withRest(rows) {
  if (!rows.length) return rows;
  const left = (kind) => Math.max(0, rows.reduce((sum, row) => sum - row[kind], 1));
  const before = rows[0].before === null ? null : left("before");
  return [...rows, { text: REST, now: left("now"), before }];
}

function kindOf([kind, name]) {
  return make("span", {}, make("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), name);
}
