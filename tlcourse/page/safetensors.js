// Weights: model.safetensors, in half or single precision, or in 8 bits (see packing.py).
//
// The format: 8 bytes that say how long the header is; the header, in JSON, with each tensor's
// type, shape and place; the numbers themselves. Nothing in such a file is ever run.

const SIZES = new Map([
  ["F16", 2], // bytes of a number
  ["BF16", 2],
  ["F32", 4],
  ["I8", 1], // times the scale of its row, which is a tensor of its own
]);
const LONGEST_HEADER = 100_000_000; // bytes, as in the safetensors library

/**
 * The tensors of a file by name, each {shape, numbers()}; `numbers()` gives a new Float32Array each
 * time. `bytes` is a Uint8Array. Throws an Error for a file that is cut short, or is another kind.
 */
export function readSafetensors(bytes, name = "model.safetensors") {
  const { header, start } = readHeader(bytes, name);
  const tensors = new Map();
  let end = start;
  for (const [tensor, { dtype, shape, data_offsets: places }] of Object.entries(header)) {
    if (tensor === "__metadata__") continue;
    const count = shape.reduce((product, size) => product * size, 1);
    if (!SIZES.has(dtype)) {
      const known = [...SIZES.keys()].join(", ");
      throw new Error(`expected numbers of type ${known} in ${name}, got ${dtype} in ${tensor}`);
    }
    if (places[1] - places[0] !== count * SIZES.get(dtype)) {
      const got = `${places[1] - places[0]} bytes for ${count} numbers`;
      throw new Error(`expected all of ${tensor} in ${name}, got ${got}; fetch the file again`);
    }
    end = Math.max(end, start + places[1]);
    const own = () => toFloats(bytes.subarray(start + places[0], start + places[1]), dtype);
    const numbers = dtype === "I8" ? () => scaled(own(), tensors.get(`${tensor}.scale`)) : own;
    if (dtype === "I8" && `${header[`${tensor}.scale`]?.shape}` !== `${shape.slice(0, 1)}`) {
      const scales = `a scale for each row of ${tensor}`;
      throw new Error(`expected ${scales} in ${name}, got others or none; build the page again`);
    }
    tensors.set(tensor, { shape, numbers });
  }
  if (bytes.length < end) {
    const got = `${bytes.length.toLocaleString("en")} bytes`;
    throw new Error(
      `expected ${end.toLocaleString("en")} bytes of weights in ${name}, got ${got}: it was cut ` +
        "short on its way; fetch or copy it again",
    );
  }
  return tensors;
}

function readHeader(bytes, name) {
  const said = `expected weights in ${name}, but ${foreign(bytes)}`;
  if (bytes.length < 8) throw new Error(said);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  if (length > LONGEST_HEADER) throw new Error(said);
  if (bytes.length < 8 + length) {
    throw new Error(
      `expected a header of ${length} bytes in ${name}, got a file of ${bytes.length}: it was ` +
        "cut short on its way, or is another kind of file; fetch or copy it again",
    );
  }
  try {
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    const described = Object.entries(header).every(
      ([tensor, each]) => tensor === "__metadata__" || isTensor(each),
    );
    if (described) return { header, start: 8 + length };
  } catch {
    // what is no JSON is no header
  }
  throw new Error(said);
}

function isTensor({ shape, data_offsets: places }) {
  const counts = (list) => Array.isArray(list) && list.every((n) => Number.isInteger(n) && n >= 0);
  return counts(shape) && counts(places) && places.length === 2;
}

function foreign(bytes) {
  const first = Array.from(bytes.subarray(0, 12), (byte) =>
    byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·",
  );
  const got = bytes.length ? `it begins with '${first.join("")}'` : "it is empty";
  return `${got}, so it is another kind of file; give the model.safetensors of a checkpoint`;
}

function toFloats(bytes, dtype) {
  const { buffer } = bytes.slice(); // a copy, which begins where numbers may begin
  if (dtype === "F32") return new Float32Array(buffer);
  if (dtype === "I8") return Float32Array.from(new Int8Array(buffer));
  const halves = new Uint16Array(buffer);
  if (dtype === "BF16") {
    return new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
  }
  const table = halfTable();
  const floats = new Float32Array(halves.length);
  for (let place = 0; place < halves.length; place++) floats[place] = table[halves[place]];
  return floats;
}

/** Whole numbers of a matrix times the scale of their row, in place. */
function scaled(wholes, { numbers }) {
  const scales = numbers();
  const columns = wholes.length / scales.length;
  for (let place = 0; place < wholes.length; place++) {
    wholes[place] *= scales[Math.floor(place / columns)];
  }
  return wholes;
}

let halfValues = null; // made once, by whoever needs it first

/** The value of each half-precision number: a sign, 5 bits of exponent, 10 of fraction. */
export function halfTable() {
  halfValues ??= Float32Array.from({ length: 65536 }, (_, bits) => {
    const [sign, exponent] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31];
    const fraction = (bits & 1023) / 1024;
    if (exponent === 0) return sign * fraction * 2 ** -14;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (1 + fraction) * 2 ** (exponent - 15);
  });
  return halfValues;
}
