// Self-attention, its mask and its rotary positions, as in tlcourse.transformer (Vaswani et al.,
// 2017). All of it is written out number by number for one head of one text, (length × headDim),
// row after row: there is no batch and no padding.

/** (length × length), 1 where a query (row) may look at a key (column): itself and before. */
export function causalMask(length) {
  const mask = new Uint8Array(length * length);
  for (let query = 0; query < length; query++) {
    mask.fill(1, query * length, query * length + query + 1);
  }
  return mask;
}

/** (length × half of headDim) cosines and sines of position times frequency (Su et al., 2021). */
export function rotaryTable(length, headDim) {
  const half = headDim / 2;
  const angles = Float32Array.from({ length: length * half }, (_, place) => {
    const frequency = Math.fround(10_000 ** -((2 * (place % half)) / headDim));
    return Math.floor(place / half) * frequency;
  });
  return { cosine: angles.map(Math.cos), sine: angles.map(Math.sin), half };
}

/** Turns each pair of features, one of the first half and one of the second, by its angle. */
export function rotate(x, { cosine, sine, half }) {
  for (let place = 0; place < x.length / 2; place++) {
    const first = 2 * half * Math.floor(place / half) + (place % half);
    const [a, b] = [x[first], x[first + half]];
    x[first] = a * cosine[place] - b * sine[place];
    x[first + half] = b * cosine[place] + a * sine[place];
  }
  return x;
}

/** Divides each row of `width` numbers by the root of its mean square (Zhang & Sennrich, 2019). */
export function rmsNorm(x, width, epsilon = 2 ** -23) {
  for (let start = 0; start < x.length; start += width) {
    let squares = 0;
    for (let place = start; place < start + width; place++) squares += x[place] ** 2;
    const scale = 1 / Math.sqrt(squares / width + epsilon);
    for (let place = start; place < start + width; place++) x[place] *= scale;
  }
  return x;
}

/** Numbers that add up to 1, in place; -Infinity becomes 0. */
export function softmax(x) {
  const largest = x.reduce((a, b) => Math.max(a, b), -Infinity);
  let sum = 0;
  for (let place = 0; place < x.length; place++) sum += x[place] = Math.exp(x[place] - largest);
  for (let place = 0; place < x.length; place++) x[place] /= sum;
  return x;
}

/**
 * One head: softmax(QKᵀ / √headDim) V, and the weights. Query, key and value are (length ×
 * headDim), the weights (length × length); `mask` has 1 where a query may look, or is null.
 */
export function attention(query, key, value, mask, headDim) {
  const length = query.length / headDim;
  const weights = new Float32Array(length * length);
  const mixed = new Float32Array(length * headDim);
  for (let from = 0; from < length; from++) {
    const row = weights.subarray(from * length, (from + 1) * length).fill(-Infinity);
    for (let to = 0; to < length; to++) {
      if (mask && !mask[from * length + to]) continue;
      let score = 0;
      for (let k = 0; k < headDim; k++) score += query[from * headDim + k] * key[to * headDim + k];
      row[to] = score / Math.sqrt(headDim);
    }
    softmax(row);
    for (let to = 0; to < length; to++) {
      if (mask && !mask[from * length + to]) continue;
      for (let k = 0; k < headDim; k++) {
        mixed[from * headDim + k] += row[to] * value[to * headDim + k];
      }
    }
  }
  return { mixed, weights };
}
