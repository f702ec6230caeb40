// The course's Transformer, as in tlcourse.transformer: token ids to hidden states to logits.
//
//     const model = new Transformer(chooseKernel(), config, readSafetensors(bytes));
//     const { attention, states, logits } = model.run(ids);
//
// One text at a time and nothing to train, so there is no batch, no padding and no gradient: a
// matrix has a row for each token.

import { causalMask, rotaryTable } from "./attention.js";
import { Block, layerNorm } from "./block.js";
import { mergeLora } from "./lora.js";

const PROJECTIONS = ["attention.query", "attention.key", "attention.value", "attention.output"];
// What the page can read: the block of the course's own models, of any size.
const OWN_BLOCK = {
  rotary: true,
  norm_first: true,
  qk_norm: true,
  activation: "relu2",
  token_types: 0,
  head_transform: false,
  head_bias: false,
};

/** Token ids to hidden states to logits; the head shares the embedding matrix. */
export class Transformer {
  /**
   * `config` is what config.json holds, `tensors` what `readSafetensors` gives. Throws an Error for
   * another block than the course's, and for weights that do not fit.
   */
  constructor(kernel, config, tensors) {
    checkConfig(config);
    checkTensors(config, tensors);
    Object.assign(this, { kernel, config, merged: null });
    const vector = (name) => tensors.get(name).numbers();
    const matrix = (name) => {
      const made = kernel.matrix(...tensors.get(name).shape);
      made.data.set(vector(name));
      return made;
    };
    this.embedding = matrix("embedding.weight");
    this.norm = { weight: vector("norm.weight"), bias: vector("norm.bias") };
    this.blocks = Array.from({ length: config.layers }, (_, number) => {
      const layers = {};
      for (const [name, [, inputs]] of layerShapes(config)) {
        const [weight, bias] = [`blocks.${number}.${name}.weight`, `blocks.${number}.${name}.bias`];
        layers[name] = { weight: inputs ? matrix(weight) : vector(weight), bias: vector(bias) };
      }
      return new Block(kernel, config, layers);
    });
  }

  /**
   * Reads a text. The one call that every room of the page asks; by its options
   *
   * - `headScale`: layers × heads numbers by which what the heads say is multiplied (`ablating`);
   * - `causal`: whether each position sees only itself and the past; as the model was trained;
   * - `lora`, `strength`: an update (`LoRA`) and how much of it, 1 for what was trained;
   * - `upTo`: how many blocks are run; with fewer than all the logits are those of the logit lens;
   * - `logits`: of "all" positions, of the "last", or of "none".
   *
   * Gives, as Float32Arrays, `attention` (a layer: heads × length × length), `states` (the
   * embeddings and after each block: length × width) and `logits` (length × vocabulary). Throws a
   * RangeError for ids that the model does not have, and too many of them.
   */
  run(ids, options = {}) {
    const { layers, causal: trained } = this.config;
    const {
      headScale,
      causal = trained,
      lora,
      strength = 1,
      upTo = layers,
      logits = "all",
    } = options;
    this.checkIds(ids);
    const blocks = lora ? this.blocksWith(lora, strength) : this.blocks;
    return this.kernel.temporarily(() => {
      let x = this.embed(ids);
      const mask = causal ? causalMask(ids.length) : null;
      const table = rotaryTable(ids.length, this.config.width / this.config.heads);
      const [attention, states] = [[], [x.data.slice()]];
      for (const [layer, block] of blocks.slice(0, upTo).entries()) {
        const seen = block.forward(x, { mask, table, headScale: headScale?.[layer] });
        x = seen.x;
        attention.push(seen.weights);
        states.push(x.data.slice());
      }
      return { attention, states, logits: logits === "none" ? null : this.said(x, logits) };
    });
  }

  /** The logits of any hidden states (length × width): the final norm and the head on them. */
  logits(state) {
    return this.kernel.temporarily(() => {
      const x = this.kernel.matrix(state.length / this.config.width, this.config.width);
      x.data.set(state);
      return this.said(x, "all");
    });
  }

  /** What the last norm makes of hidden states: what a classifier reads. */
  hidden(state) {
    return layerNorm(state, this.norm, this.config.norm_epsilon);
  }

  said(x, which) {
    const first = which === "last" ? x.rows - 1 : 0;
    const normed = this.kernel.matrix(x.rows - first, x.columns);
    normed.data.set(this.hidden(x.data.subarray(first * x.columns)));
    const out = this.kernel.matrix(normed.rows, this.embedding.rows);
    this.kernel.product(normed, this.embedding, out);
    return out.data.slice();
  }

  embed(ids) {
    const x = this.kernel.matrix(ids.length, this.config.width);
    const [rows, all] = [x.data, this.embedding.data];
    ids.forEach((id, row) =>
      rows.set(all.subarray(id * x.columns, (id + 1) * x.columns), row * x.columns),
    );
    return x;
  }

  /** The blocks with LoRA merged into copies of their weights; the originals stay as they are. */
  blocksWith(lora, strength) {
    const { merged } = this;
    if (merged?.lora === lora && merged.strength === strength) return merged.blocks;
    const copies = merged?.copies ?? new Map();
    const blocks = this.blocks.map(({ layers }, number) => {
      const changed = { ...layers };
      for (const [name, { weight, bias }] of Object.entries(layers)) {
        const place = `blocks.${number}.${name}`;
        if (!lora.updates.has(place)) continue;
        if (!copies.has(place)) copies.set(place, this.kernel.matrix(weight.rows, weight.columns));
        mergeLora(weight, lora.updates.get(place), strength, copies.get(place));
        changed[name] = { weight: copies.get(place), bias };
      }
      return new Block(this.kernel, this.config, changed);
    });
    this.merged = { lora, strength, copies, blocks };
    return blocks;
  }

  checkIds(ids) {
    const { max_length: most, vocabulary_size: count } = this.config;
    if (!(ids.length >= 1 && ids.length <= most)) {
      throw new RangeError(`expected 1 to ${most} tokens, got ${ids.length}; change the text`);
    }
    const foreign = ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < count));
    if (foreign !== undefined) {
      throw new RangeError(`expected ids from 0 to ${count - 1}, got ${foreign}`);
    }
  }
}

/** The `headScale` with which these heads, [layer, head] from 0, say nothing (0), or so much. */
export function ablating({ layers, heads }, chosen, scale = 0) {
  const table = Array.from({ length: layers }, () => new Array(heads).fill(1));
  for (const [layer, head] of chosen) {
    if (table[layer]?.[head] === undefined) {
      const there = `layers 0 to ${layers - 1} and heads 0 to ${heads - 1}`;
      throw new RangeError(`expected heads as [layer, head], ${there}, got [${layer}, ${head}]`);
    }
    table[layer][head] = scale;
  }
  return table;
}

/** Each layer of a block by name: (outputs, inputs), or (width) alone for a norm. */
function layerShapes({ width, feed_forward: wide }) {
  return [
    ...PROJECTIONS.map((name) => [name, [width, width]]),
    ["up", [wide, width]],
    ["down", [width, wide]],
    ["attention_norm", [width]],
    ["feed_forward_norm", [width]],
  ];
}

function checkConfig(config) {
  for (const [field, value] of Object.entries(OWN_BLOCK)) {
    if (config?.[field] !== value) {
      throw new Error(
        `expected a model of the course's own block, which has ${field} ${value}, got ` +
          `${config?.[field]} in its config.json; give a checkpoint that tlcourse pretrain wrote`,
      );
    }
  }
}

function checkTensors(config, tensors) {
  const { vocabulary_size: count, width, layers } = config;
  const expected = new Map([["embedding.weight", [count, width]]]);
  const add = (name, shape) => {
    expected.set(`${name}.weight`, shape).set(`${name}.bias`, shape.slice(0, 1));
  };
  add("norm", [width]);
  for (let number = 0; number < layers; number++) {
    for (const [name, shape] of layerShapes(config)) add(`blocks.${number}.${name}`, shape);
  }
  for (const [name, shape] of expected) {
    const found = tensors.get(name)?.shape;
    if (`${found}` !== `${shape}`) {
      throw new Error(
        `expected ${name} of shape ${shape.join(" × ")}, as config.json says, got ` +
          `${found ? found.join(" × ") : "none"}; give the files of one checkpoint`,
      );
    }
  }
}
