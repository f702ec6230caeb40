// The room of attention: where every head looks, and what happens when one is switched off.

import { blocksOf, effectLegend, effectOf, shareOf } from "./blocks.js";
import { barRow, barRows, make, percent, refill } from "./dom.js";
import { mapOf, tone } from "./flow.js";
import { headsOf, lostBy } from "./heads.js";
import { drawLooks } from "./looks.js";
import { askedFrom, habit, moved, rowsOf, sharpest } from "./reading.js";
import { askWords, effectWords, quote } from "./telling.js";

const MOVING = 6; // bars
const RANKED = 5; // heads

export const attentionRoom = {
  id: "attention",
  name: "Attention",
  lesson: "08",
  story:
    "Every block has several heads. In each of them, every token looks at others and takes " +
    "something from them. Choose a head to see where it looks, and switch it off to see whether " +
    "the prediction needs it.",

  build(root, page) {
    const left = root.appendChild(make("div", { class: "beside" }));
    const part = (tag, attributes = {}, ...inside) =>
      left.appendChild(make(tag, attributes, ...inside));
    const parts = {
      heads: make("ol", { id: "maps", class: "blocks maps", "aria-label": "heads" }),
      legend: make("p", { id: "maps-legend", class: "legend" }),
      name: make("h3"),
      looks: make("div", { id: "lines" }),
      asks: make("h3", { id: "moving-asks" }),
      bars: make("ol", { id: "moving", class: "bars", "aria-labelledby": "moving-asks" }),
      told: make("p", { id: "moved", "aria-live": "polite" }),
      switches: make("div", { id: "switches", class: "pills" }),
      ranks: make("h3", { id: "ranks" }),
      ranking: make("ol", { id: "ranking", class: "bars", "aria-labelledby": "ranks" }),
    };
    const all = make("h3", {}, "Where each head looks");
    part("div", { class: "grid" }, all, parts.heads, parts.legend);
    const { asks, bars, told, switches, ranks, ranking } = parts;
    part("div", { class: "panel" }, asks, bars, told, switches, ranks, ranking);
    part("div", { class: "large" }, parts.name, parts.looks);
    const state = { layer: null, head: null, reading: null, shown: null };
    const take = (layer, head) => {
      Object.assign(state, { layer, head });
      page.choose([layer, head]);
      draw();
    };
    const draw = () => {
      drawHeadMaps(parts, state, page, take);
      parts.name.textContent = habitWords(state);
      const chosen = page.tokens[attentionRoom.id];
      const from = chosen < state.reading.ids.length ? chosen : askedFrom(state.reading);
      drawLooks(parts.looks, state.shown, state, from, (place) => page.mark(place));
      drawSwitches(parts, state, page);
    };
    return (reading, shown) => {
      Object.assign(state, { reading, shown });
      if (page.head) [state.layer, state.head] = page.head;
      else if (state.layer === null) Object.assign(state, sharpest(reading));
      state.layer = Math.min(state.layer, reading.layers - 1);
      state.head = Math.min(state.head, reading.heads - 1);
      draw();
      if (reading.effects) return;
      page.study(reading)?.then(() => state.reading === reading && draw());
    };
  },
};

function habitWords({ shown, layer, head }) {
  const [name, share] = habit(shown, layer, head);
  const often = name === "various tokens" ? `at ${name}` : `most at ${name} (${percent(share)})`;
  return `Head ${layer}.${head}: on average, a token looks ${often}`;
}

/** All heads as small maps, with the colour of what depends on them. */
function drawHeadMaps(parts, { layer, head, reading, shown }, page, choose) {
  const field = (ofLayer, ofHead) => {
    const place = { layer: ofLayer, head: ofHead };
    const [chosen, off] = [ofLayer === layer && ofHead === head, page.isOff(ofLayer, ofHead)];
    const effect = effectOf(reading, ofLayer, ofHead);
    const words = [`head ${ofLayer}.${ofHead}`, off ? " (off)" : ""];
    if (effect) words.push(`: ${effectWords(reading, effect)}`);
    return make(
      "button",
      {
        type: "button",
        class: off ? "head off" : "head",
        "aria-pressed": String(chosen),
        "aria-label": words.join(""),
        click: () => choose(ofLayer, ofHead),
      },
      mapOf(shown, place),
      tone(shareOf(reading, ofLayer, ofHead)),
    );
  };
  refill(parts.heads, ...blocksOf(shown, field));
  parts.legend.replaceChildren(...effectLegend(reading));
}

/** The prediction, the switch of the chosen head, and the heads that the prediction needs most. */
function drawSwitches(parts, { reading, shown, layer, head }, page) {
  const off = headsOf(reading).filter((each) => page.isOff(...each));
  const own = page.isOff(layer, head);
  const name = `Switch head ${layer}.${head} ${own ? "on" : "off"}`;
  const press = (words, kind, click, disabled) =>
    make("button", { type: "button", class: kind, click, disabled }, words);
  refill(
    parts.switches,
    press(name, "primary", () => page.toggle(layer, head), !reading.opened),
    press("All heads on", null, () => page.allOn(), !off.length),
  );
  parts.asks.textContent = askWords(shown);
  parts.told.textContent = shown === reading ? "" : movedWords(reading, shown, off);
  parts.bars.replaceChildren(...barRows(rowsOf(shown, reading, MOVING)));
  const ranked = [...(reading.effects ?? [])].sort(
    (one, other) => Math.abs(lostBy(reading, other)) - Math.abs(lostBy(reading, one)),
  );
  parts.ranks.textContent = ranked.length
    ? `The heads that matter most for ${quote(reading.best[0].text)}`
    : "";
  parts.ranking.replaceChildren(...ranked.slice(0, RANKED).map((each) => rankOf(reading, each)));
}

function movedWords({ probabilities, best }, shown, off) {
  if (!probabilities) return "";
  const now = shown.probabilities[best[0].id];
  const names = off.map((each) => each.join(".")).join(", ");
  return (
    `Pale: all heads on; solid: without ${names}. ${quote(best[0].text)} goes from ` +
    `${percent(best[0].probability)} to ${percent(now)}; in all, ` +
    `${percent(moved(probabilities, shown.probabilities))} of the probability goes to other tokens.`
  );
}

/** A head in the ranking: a bar of what it changes, and what is left of the first choice. */
function rankOf(reading, effect) {
  const share = shareOf(reading, effect.layer, effect.head);
  const kind = { class: share < 0 ? "more" : "less", width: "100%", height: "100%" };
  const told = `${percent(reading.best[0].probability)} → ${percent(effect.left)}`;
  const name = `head ${effect.layer}.${effect.head}`;
  return barRow(name, Math.abs(share), [make("rect", kind)], told, "compared");
}
