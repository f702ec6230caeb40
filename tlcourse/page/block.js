// The block, as in tlcourse.transformer: attention and feed-forward, with norms and residuals.

import { attention, rmsNorm, rotate } from "./attention.js";

/** Each row less its mean, divided by its deviation, times `weight` plus `bias`; a new array. */
export function layerNorm(x, { weight, bias }, epsilon) {
  const [width, found] = [weight.length, new Float32Array(x.length)];
  for (let start = 0; start < x.length; start += width) {
    let [mean, variance] = [0, 0];
    for (let place = 0; place < width; place++) mean += x[start + place] / width;
    for (let place = 0; place < width; place++) variance += (x[start + place] - mean) ** 2 / width;
    const scale = 1 / Math.sqrt(variance + epsilon);
    for (let place = 0; place < width; place++) {
      found[start + place] = (x[start + place] - mean) * scale * weight[place] + bias[place];
    }
  }
  return found;
}

/** The square of what is above 0 (So et al., 2021). */
export function relu2(x) {
  return x > 0 ? x * x : 0;
}

/** Attention and feed-forward, each with a residual around it and a norm before it. */
export class Block {
  /** `layers` are its parts by their names in the package, each {weight, bias}. */
  constructor(kernel, config, layers) {
    Object.assign(this, { kernel, config, layers });
  }

  /**
   * (length × width) to the same in `x`; in `weights` where the heads looked, (heads × length ×
   * length). `mask` and `table` are those of `attention` and `rotate`; what each head says is
   * multiplied by its number in `headScale`, if there is one.
   */
  forward(x, { mask, table, headScale }) {
    const seen = this.attend(this.norm(x, "attention_norm"), { mask, table, headScale });
    const here = this.sum(x, seen.said);
    const more = this.feedForward(this.norm(here, "feed_forward_norm"));
    return { x: this.sum(here, more), weights: seen.weights };
  }

  attend(x, { mask, table, headScale }) {
    const [length, { width, heads }] = [x.rows, this.config];
    const headDim = width / heads;
    const projected = ["query", "key", "value"].map((name) => this.linear(x, `attention.${name}`));
    const weights = new Float32Array(heads * length * length);
    const mixed = this.kernel.matrix(length, width);
    for (let head = 0; head < heads; head++) {
      const [query, key, value] = projected.map((all) => ofHead(all, head, headDim));
      for (const each of [query, key]) rotate(rmsNorm(each, headDim), table);
      const seen = attention(query, key, value, mask, headDim);
      weights.set(seen.weights, head * length * length);
      putHead(mixed, seen.mixed, head, headDim, headScale?.[head] ?? 1);
    }
    return { said: this.linear(mixed, "attention.output"), weights };
  }

  feedForward(x) {
    const hidden = this.linear(x, "up");
    hidden.data.set(hidden.data.map(relu2));
    return this.linear(hidden, "down");
  }

  linear(x, name) {
    const { weight, bias } = this.layers[name];
    const out = this.kernel.matrix(x.rows, weight.rows);
    this.kernel.product(x, weight, out);
    const numbers = out.data;
    for (let start = 0; start < numbers.length; start += bias.length) {
      for (let place = 0; place < bias.length; place++) numbers[start + place] += bias[place];
    }
    return out;
  }

  norm(x, name) {
    const out = this.kernel.matrix(x.rows, x.columns);
    out.data.set(layerNorm(x.data, this.layers[name], this.config.norm_epsilon));
    return out;
  }

  sum(one, other) {
    const out = this.kernel.matrix(one.rows, one.columns);
    const [a, b, numbers] = [one.data, other.data, out.data];
    for (let place = 0; place < numbers.length; place++) numbers[place] = a[place] + b[place];
    return out;
  }
}

/** The columns of one head, as (length × headDim) numbers of their own. */
function ofHead({ data, rows, columns }, head, headDim) {
  const found = new Float32Array(rows * headDim);
  for (let row = 0; row < rows; row++) {
    const start = row * columns + head * headDim;
    found.set(data.subarray(start, start + headDim), row * headDim);
  }
  return found;
}

/** Puts what one head mixed into its columns, times a scale. */
function putHead({ data, rows, columns }, mixed, head, headDim, scale) {
  for (let row = 0; row < rows; row++) {
    const start = row * columns + head * headDim;
    for (let k = 0; k < headDim; k++) data[start + k] = scale * mixed[row * headDim + k];
  }
}
