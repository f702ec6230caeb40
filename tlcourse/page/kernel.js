// The one product that has to be fast, in WebAssembly (kernel.wat) or in plain JavaScript.
//
//     const kernel = chooseKernel();
//     kernel.product(x, weight, out); // out = x · weightᵀ, each of them a `kernel.matrix(…)`
//     kernel.note;                    // "", or what a visitor should know

import { fromBase64 } from "./base64.js";

/** kernel.wat, assembled, in base64. */
export const KERNEL = [
  "AGFzbQEAAAABEgJgBHt7e3sBe2AGf39/f39/AAIQAQRwYWdlBm1lbW9yeQIAAQMDAgABBwsBB3Byb2R1Y3QAAQrE",
  "BQKVAQECeyAAIAH9DQABAgMQERITBAUGBxQVFhcgACAB/Q0ICQoLGBkaGwwNDg8cHR4f/eQBIQQgAiAD/Q0AAQID",
  "EBESEwQFBgcUFRYXIAIgA/0NCAkKCxgZGhsMDQ4PHB0eH/3kASEFIAQgBf0NAAECAwQFBgcQERITFBUWFyAEIAX9",
  "DQgJCgsMDQ4PGBkaGxwdHh/95AELqgQCC38LeyAFQQRsIQkDQCAIIARBBGtKBEAgBEEEayEIC0EAIQYDQCAGQQFq",
  "IQcgByADTgRAIAYhBwsgACAGIAlsaiELIAAgByAJbGohDCABIAggCWxqIQ0gDSAJaiEOIA4gCWohDyAPIAlqIRD9",
  "DAAAAAAAAAAAAAAAAAAAAAAhFP0MAAAAAAAAAAAAAAAAAAAAACEV/QwAAAAAAAAAAAAAAAAAAAAAIRb9DAAAAAAA",
  "AAAAAAAAAAAAAAAhF/0MAAAAAAAAAAAAAAAAAAAAACEY/QwAAAAAAAAAAAAAAAAAAAAAIRn9DAAAAAAAAAAAAAAA",
  "AAAAAAAhGv0MAAAAAAAAAAAAAAAAAAAAACEbQQAhCgNAIAsgCmr9AAQAIREgDCAKav0ABAAhEiANIApq/QAEACET",
  "IBQgESAT/eYB/eQBIRQgGCASIBP95gH95AEhGCAOIApq/QAEACETIBUgESAT/eYB/eQBIRUgGSASIBP95gH95AEh",
  "GSAPIApq/QAEACETIBYgESAT/eYB/eQBIRYgGiASIBP95gH95AEhGiAQIApq/QAEACETIBcgESAT/eYB/eQBIRcg",
  "GyASIBP95gH95AEhGyAKQRBqIQogCiAJSA0ACyACQQQgBiAEbCAIamxqIBQgFSAWIBcQAP0LBAAgAkEEIAcgBGwg",
  "CGpsaiAYIBkgGiAbEAD9CwQAIAZBAmohBiAGIANIDQALIAhBBGohCCAIIARIDQALCw==",
].join("");
const PAGE = 65536; // bytes by which the memory grows
const SLOW =
  "This browser has no SIMD WebAssembly, so answers take about ten times as long as they need; " +
  "an up-to-date Chrome, Edge, Firefox or Safari has it.";

/** The fast kernel where the browser has what it takes, else the plain one, which says so. */
export function chooseKernel() {
  try {
    return new SimdKernel();
  } catch (error) {
    if (error instanceof RangeError) throw error; // memory: the plain kernel would need as much
    return new PlainKernel();
  }
}

/** A matrix in the kernel's memory. `data` is a view for now: who grows the memory ends it. */
class MemoryMatrix {
  constructor(memory, offset, rows, columns) {
    Object.assign(this, { memory, offset, rows, columns });
  }

  get data() {
    return new Float32Array(this.memory.buffer, this.offset, this.rows * this.columns);
  }
}

/** kernel.wat at work; its operands lie in one memory, which grows as matrices are asked for. */
export class SimdKernel {
  note = "";

  /** Throws an Error where there is no SIMD WebAssembly, or where a page's policy forbids it. */
  constructor() {
    this.memory = new WebAssembly.Memory({ initial: 1 });
    const module = new WebAssembly.Module(fromBase64(KERNEL));
    const instance = new WebAssembly.Instance(module, { page: { memory: this.memory } });
    this.exported = instance.exports.product;
    this.end = 0; // of what is taken
  }

  /** A matrix whose numbers are to be filled in. Throws a RangeError if there is no memory left. */
  matrix(rows, columns) {
    const offset = this.end;
    this.end += Math.ceil((rows * columns) / 4) * 16; // begins at a multiple of 16 bytes
    const missing = this.end - this.memory.buffer.byteLength;
    try {
      if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE));
    } catch {
      this.end = offset;
      const megabytes = Math.ceil((offset + missing) / 1e6);
      throw new RangeError(
        `expected ${megabytes} MB of memory for the model, and the browser gives no more; close ` +
          "other tabs and load this page again",
      );
    }
    return new MemoryMatrix(this.memory, offset, rows, columns);
  }

  /** What `work` gives; the room of the matrices made meanwhile is free again afterwards. */
  temporarily(work) {
    const { end } = this;
    try {
      return work();
    } finally {
      this.end = end;
    }
  }

  product(x, weight, out) {
    checkShapes(x, weight, out);
    if (x.columns % 4 || weight.rows < 4) return plainProduct(x, weight, out);
    this.exported(x.offset, weight.offset, out.offset, x.rows, weight.rows, x.columns);
  }
}

/** The same in plain JavaScript. */
export class PlainKernel {
  note = SLOW;

  matrix(rows, columns) {
    return { rows, columns, data: new Float32Array(rows * columns) };
  }

  temporarily(work) {
    return work();
  }

  product(x, weight, out) {
    checkShapes(x, weight, out);
    plainProduct(x, weight, out);
  }
}

function checkShapes(x, weight, out) {
  if (x.columns !== weight.columns || x.rows !== out.rows || weight.rows !== out.columns) {
    const shapes = [x, weight, out].map(({ rows, columns }) => `${rows} × ${columns}`);
    throw new Error(`expected shapes that fit x · weightᵀ = out, got ${shapes.join(", ")}`);
  }
}

function plainProduct(x, weight, out) {
  const [inputs, weights, outputs, depth] = [x.data, weight.data, out.data, x.columns];
  for (let column = 0; column < out.columns; column++) {
    for (let row = 0; row < out.rows; row++) {
      let sum = 0;
      for (let k = 0; k < depth; k++) sum += inputs[row * depth + k] * weights[column * depth + k];
      outputs[row * out.columns + column] = sum;
    }
  }
}
