// The page: what is typed becomes tokens, and the model says what may come next.

import { softmax } from "./attention.js";
import { EOS, MASK, SPECIALS, Tokenizer, normalise } from "./bpe.js";
import { bytesOf, jsonOf } from "./files.js";
import { chooseKernel } from "./kernel.js";
import { Transformer } from "./model.js";
import { readSafetensors } from "./safetensors.js";
import { visible } from "../views/attention.js";

const MOST = 64; // tokens
const BARS = 10;
const PAUSE = 150; // milliseconds without a key before the model is asked

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

/** The likeliest tokens at one place, [{id, probability}], likeliest first. */
export function likeliest(logits, count = BARS) {
  const shares = softmax(Float64Array.from(logits));
  const order = Array.from(shares.keys()).sort((a, b) => shares[b] - shares[a]);
  return order.slice(0, count).map((id) => ({ id, probability: shares[id] }));
}

/** Everything about one model: loaded once, kept for the next time it is chosen. */
async function openModel(kernel, name) {
  const [config, file, bytes] = await Promise.all([
    jsonOf(`${name}/config.json`),
    jsonOf(`${name}/tokenizer.json`),
    bytesOf(`${name}/model.safetensors`),
  ]);
  const model = new Transformer(
    kernel,
    config,
    readSafetensors(bytes, `${name}/model.safetensors`),
  );
  return { model, tokenizer: new Tokenizer(file) };
}

function tokenItem(text, id) {
  const item = document.createElement("li");
  const number = document.createElement("small");
  const sign = document.createElement("bdi");
  sign.textContent = visible(text);
  number.textContent = id;
  if (id < SPECIALS.length) item.className = "special";
  item.append(sign, number);
  return item;
}

function barItem(text, probability) {
  const item = document.createElement("li");
  const [sign, bar, share] = ["bdi", "span", "span"].map((tag) => document.createElement(tag));
  sign.textContent = visible(text);
  bar.className = "bar";
  bar.style.setProperty("--share", probability);
  share.textContent = `${(100 * probability).toFixed(1)} %`;
  item.append(sign, bar, share);
  return item;
}

/** Shows what the model makes of the text; gives the sentence for the status line. */
function display(parts, { model, tokenizer }) {
  const { causal } = model.config;
  const { ids, cut } = idsOf(tokenizer, parts.text.value, model.config);
  const before = performance.now();
  const { logits } = model.run(ids, { logits: causal ? "last" : "all" });
  const took = performance.now() - before;
  const place = causal ? 0 : ids.indexOf(MASK);
  const count = model.config.vocabulary_size;
  const row = logits.subarray(place * count, (place + 1) * count);
  const best = place < 0 ? [] : likeliest(row);
  const texts = tokenizer.tokens(ids);
  parts.tokens.replaceChildren(...ids.map((id, at) => tokenItem(texts[at], id)));
  parts.bars.replaceChildren(
    ...best.map(({ id, probability }) => barItem(tokenizer.decode([id]), probability)),
  );
  parts.question.textContent = causal ? "What may come next" : "What may stand at <mask>";
  const missing = place < 0 ? " Write <mask> where a word is to be guessed." : "";
  const shortened = cut ? ` Only the first ${MOST} tokens are read.` : "";
  return `${ids.length} tokens, read in ${Math.round(took)} ms.${missing}${shortened}`;
}

function start() {
  const parts = {};
  for (const id of ["model", "text", "status", "tokens", "question", "bars"]) {
    parts[id] = document.getElementById(id);
  }
  const { models } = JSON.parse(document.getElementById("page-models").textContent);
  const opened = new Map();
  let [kernel, waiting] = [null, 0];
  const say = (text) => {
    parts.status.textContent = [text, kernel?.note].filter((each) => each).join(" ");
  };
  const read = async () => {
    const name = parts.model.value;
    try {
      kernel ??= chooseKernel();
      if (!opened.has(name)) {
        say(`Loading ${name} …`);
        opened.set(name, openModel(kernel, name));
      }
      const found = await opened.get(name);
      if (name === parts.model.value) say(display(parts, found));
    } catch (error) {
      opened.delete(name);
      say(error.message);
    }
  };
  for (const name of models) parts.model.append(new Option(name, name));
  parts.model.addEventListener("change", read);
  parts.text.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(read, PAUSE);
  });
  setTimeout(read, 0); // after the page has been drawn
}

start();
