// A text classifier that `tlcourse adapt` saved: a body, a pooling of its states, a head.

import { softmax } from "./attention.js";
import { layerNorm } from "./block.js";
import { CLS, SEP, normalise } from "./bpe.js";
import { LoRA } from "./lora.js";
import { Transformer } from "./model.js";

const READ_AT = new Map([
  ["classification token", 0], // one position, counted from <cls>
  ["last token", -1],
]);
const EDITS = ["Unchanged", "LoRA", "LayerMix"]; // of a scheme; the page cannot read the others

/** A Transformer with its tokenizer, a pooling of its hidden states, one linear layer. */
export class Classifier {
  /**
   * `record`, `config` and `tensors` are what classifier.json, config.json and model.safetensors
   * hold. Where the weights are those of LoRA and the head alone, `base` is the Transformer they
   * belong to. Throws an Error for an edit that the page cannot read, and for weights that do not
   * fit.
   */
  constructor(kernel, tokenizer, { record, config, tensors, base = null }) {
    const edit = record.scheme?.edit ?? { knob: "Unchanged" };
    if (!EDITS.includes(edit.knob)) {
      throw new Error(
        `expected a classifier adapted by fine-tuning, LoRA or a mix of layers, got one by ` +
          `${edit.knob}, which this page cannot show; adapt it by one of those`,
      );
    }
    Object.assign(this, { tokenizer, labels: record.labels, pooling: record.pooling });
    this.pairs = Boolean(record.columns?.pair); // whether it reads two texts
    const body = bodyOf(tensors);
    this.body = body.has("embedding.weight") ? new Transformer(kernel, config, body) : base;
    if (!this.body) throw new Error("expected the model under this classifier, got none; add it");
    this.lora = edit.knob === "LoRA" ? new LoRA(body, edit.alpha) : null;
    const width = this.body.config.width * (this.pooling === "concatenation" ? 3 : 1);
    this.head = {
      weight: vectorOf(tensors, "head.weight", [this.labels.length, width]),
      bias: vectorOf(tensors, "head.bias", [this.labels.length]),
    };
    this.mix = null;
    if (edit.knob === "LayerMix") {
      const shares = vectorOf(tensors, "mix.weights", [this.body.config.layers + 1]);
      this.mix = { shares: softmax(shares), scale: vectorOf(tensors, "mix.scale", [])[0] };
    }
  }

  /**
   * The ids of a text, or of a pair [text, text], normalised, cut to `longest`, `<cls>` last.
   * Throws an Error where there is no text.
   */
  encode(text, longest = this.body.config.max_length) {
    const parts = [text].flat().map((part) => this.tokenizer.encode(normalise(part)));
    if (!parts.every((ids) => ids.length)) throw new Error("expected text, got none; type some");
    if (parts.length === 1) return [...parts[0].slice(0, longest - 1), CLS];
    const [[first, second], room] = [parts, longest - 2]; // the longer part loses tokens first
    return [
      ...first.slice(0, Math.max(room - second.length, Math.ceil(room / 2))),
      SEP,
      ...second.slice(0, Math.max(room - first.length, Math.floor(room / 2))),
      CLS,
    ];
  }

  /**
   * The probability of each label, and what the body gave on the way, see `Transformer.run`, which
   * gets the other options; `strength` is how much of LoRA is put in. `ids` as `encode` makes them.
   */
  read(ids, { strength = 1, ...options } = {}) {
    const run = { ...options, lora: this.lora, strength, logits: "none" };
    const { attention, states } = this.body.run(ids, run);
    const probabilities = softmax(this.classify(this.features(states)));
    return { probabilities, attention, states };
  }

  /** The probability of each label for a text or a pair. */
  probabilities(text, options = {}) {
    return this.read(this.encode(text), options).probabilities;
  }

  /** What the head reads: of the last layer, or of a learned mix of all, each normalised. */
  features(states) {
    if (!this.mix) return this.pool(this.body.hidden(states.at(-1)));
    const pooled = states.map((state) => this.pool(normalised(state, this.body.config.width)));
    return pooled[0].map((_, place) => {
      const sum = pooled.reduce(
        (sum, each, layer) => sum + this.mix.shares[layer] * each[place],
        0,
      );
      return this.mix.scale * sum;
    });
  }

  /**
   * (length × width) hidden states to width numbers. "concatenation" is three times that: last
   * token, largest value and mean over the words (Howard & Ruder, 2018).
   */
  pool(hidden) {
    const { width } = this.body.config;
    const last = hidden.length / width - 1; // the place of <cls>
    const row = (place) => hidden.slice(place * width, (place + 1) * width);
    if (READ_AT.has(this.pooling)) return row(last + READ_AT.get(this.pooling));
    const mean = new Float32Array(width);
    const largest = new Float32Array(width).fill(-Infinity);
    for (let place = 0; place < last * width; place++) {
      mean[place % width] += hidden[place] / last;
      largest[place % width] = Math.max(largest[place % width], hidden[place]);
    }
    if (this.pooling === "mean") return mean;
    return Float32Array.from([...row(last - 1), ...largest, ...mean]);
  }

  /** Features to the logits of the labels. */
  classify(features) {
    const { weight, bias } = this.head;
    return bias.map((start, label) =>
      features.reduce((sum, x, place) => sum + x * weight[label * features.length + place], start),
    );
  }
}

/** The tensors of the body by the names they had before anything was added. */
function bodyOf(tensors) {
  const body = new Map();
  for (const [name, tensor] of tensors) {
    if (name.startsWith("body.")) body.set(name.slice(5).replace(".base.", "."), tensor);
  }
  return body;
}

function vectorOf(tensors, name, shape) {
  const found = tensors.get(name);
  if (`${found?.shape}` !== `${shape}`) {
    throw new Error(
      `expected ${name} of shape [${shape}], as classifier.json says, got ` +
        `[${found?.shape ?? ""}]; give the files of one classifier`,
    );
  }
  return found.numbers();
}

/** Each row less its mean, divided by its deviation. */
function normalised(state, width) {
  const plain = { weight: new Float32Array(width).fill(1), bias: new Float32Array(width) };
  return layerNorm(state, plain, 1e-5);
}
