// The page's modules by themselves, for node --test: kernels, weights, base64, chance, errors.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import {
  attention,
  causalMask,
  rmsNorm,
  rotaryTable,
  rotate,
  softmax,
} from "../../tlcourse/page/attention.js";
import { fromBase64, lettersToBytes } from "../../tlcourse/page/base64.js";
import { layerNorm } from "../../tlcourse/page/block.js";
import { EOS, SPECIALS, Tokenizer, mergePair } from "../../tlcourse/page/bpe.js";
import { Classifier } from "../../tlcourse/page/classify.js";
import { bytesOf, jsonOf } from "../../tlcourse/page/files.js";
import { candidates, generate, sample, seeded } from "../../tlcourse/page/generate.js";
import { PlainKernel, SimdKernel, chooseKernel } from "../../tlcourse/page/kernel.js";
import { LoRA } from "../../tlcourse/page/lora.js";
import { Transformer, ablating } from "../../tlcourse/page/model.js";
import { halfTable, readSafetensors } from "../../tlcourse/page/safetensors.js";

const near = (a, b, most = 1e-5) => assert.ok(Math.abs(a - b) <= most, `${a} is not near ${b}`);
const CONFIG = {
  vocabulary_size: 12,
  width: 8,
  layers: 2,
  heads: 2,
  feed_forward: 6,
  max_length: 5,
  causal: true,
  rotary: true,
  norm_first: true,
  qk_norm: true,
  activation: "relu2",
  token_types: 0,
  head_transform: false,
  head_bias: false,
  norm_epsilon: 1e-5,
  dropout: 0,
};

/** A file of the format, its numbers given as bytes: {name: [dtype, shape, bytes]}. */
function file(tensors) {
  const [header, data] = [{ __metadata__: { format: "pt" } }, []];
  for (const [name, [dtype, shape, bytes]] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [data.length, data.length + bytes.length] };
    data.push(...bytes);
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = new Uint8Array(new BigUint64Array([BigInt(text.length)]).buffer);
  return Uint8Array.from([...length, ...text, ...data]);
}

const floats = (...numbers) => [...new Uint8Array(Float32Array.from(numbers).buffer)];

/** Tensors of a model, with numbers drawn from a seed. */
function tensorsOf(config, draw = seeded(1)) {
  const { vocabulary_size: count, width, feed_forward: wide } = config;
  const tensors = new Map();
  const add = (name, shape) => {
    const size = shape.reduce((a, b) => a * b);
    tensors.set(name, {
      shape,
      numbers: () => Float32Array.from({ length: size }, () => draw() - 0.5),
    });
  };
  const layer = (name, ...shape) => {
    add(`${name}.weight`, shape);
    add(`${name}.bias`, shape.slice(0, 1));
  };
  add("embedding.weight", [count, width]);
  layer("norm", width);
  for (let number = 0; number < config.layers; number++) {
    for (const name of ["query", "key", "value", "output"]) {
      layer(`blocks.${number}.attention.${name}`, width, width);
    }
    layer(`blocks.${number}.up`, wide, width);
    layer(`blocks.${number}.down`, width, wide);
    layer(`blocks.${number}.attention_norm`, width);
    layer(`blocks.${number}.feed_forward_norm`, width);
  }
  return tensors;
}

const tiny = (changes = {}) => {
  const config = { ...CONFIG, ...changes };
  return new Transformer(chooseKernel(), config, tensorsOf(config));
};

// ---- safetensors --------------------------------------------------------------------------------

test("all three kinds of numbers are read, wherever they lie", () => {
  const tensors = readSafetensors(
    file({
      half: ["F16", [2, 2], [0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0xff, 0x7b]],
      brain: ["BF16", [2], [0x80, 0x3f, 0x49, 0xc0]],
      scalar: ["F32", [], floats(0.1)],
      none: ["F32", [0], []],
    }),
  );
  assert.deepEqual(tensors.get("half").shape, [2, 2]);
  assert.deepEqual([...tensors.get("half").numbers()], [1, -2, 2 ** -24, 65504]);
  assert.deepEqual([...tensors.get("brain").numbers()], [1, -3.140625]);
  assert.deepEqual([...tensors.get("scalar").numbers()], [Math.fround(0.1)]);
  assert.equal(tensors.get("none").numbers().length, 0);
  tensors.get("scalar").numbers()[0] = 7;
  assert.deepEqual([...tensors.get("scalar").numbers()], [Math.fround(0.1)], "each time anew");
  assert.equal(tensors.size, 4);
});

test("8 bits are whole numbers times the scale of their row", () => {
  const scales = ["F32", [2], floats(0.1, 2)];
  const parts = { m: ["I8", [2, 3], [127, 0x81, 0, 1, 2, 0xff]], "m.scale": scales };
  const m = readSafetensors(file(parts)).get("m");
  assert.deepEqual(m.shape, [2, 3]);
  const tenth = Math.fround(0.1);
  const expected = [Math.fround(127 * tenth), Math.fround(-127 * tenth), 0, 2, 4, -2];
  assert.deepEqual([...m.numbers()], expected);
  assert.deepEqual([...m.numbers()], expected, "each time anew");
  for (const scale of [undefined, ["F32", [3], floats(1, 2, 3)]]) {
    const wrong = file(scale ? { ...parts, "m.scale": scale } : { m: parts.m });
    assert.throws(() => readSafetensors(wrong), /a scale for each row of m in .* build the page again$/u);
  }
});

test("half precision: zeros, infinities, no number", () => {
  const table = halfTable();
  assert.ok(Object.is(table[0x8000], -0));
  assert.deepEqual([table[0x7c00], table[0xfc00], table[0x7e00]], [Infinity, -Infinity, NaN]);
});

test("a file cut short at any byte is an error that says what to do", () => {
  const whole = file({ a: ["F32", [3], floats(1, 2, 3)], b: ["F16", [1], [0, 0]] });
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => readSafetensors(whole.subarray(0, length), "m.safetensors"), {
      message: /^expected .*m\.safetensors.*(fetch or copy it again|of a checkpoint)$/u,
    });
  }
  assert.throws(
    () => readSafetensors(whole.subarray(0, -1)),
    /cut short on its way; fetch or copy/u,
  );
});

test("another kind of file is an error that shows how it begins", () => {
  const said = (text) => new RegExp(`begins with '${text}.*another kind of file; give`, "u");
  const read = (text) => () => readSafetensors(new TextEncoder().encode(text));
  assert.throws(read("<!doctype html><title>404</title>"), said("<!doctype ht"));
  assert.throws(read("version https://git-lfs.github.com/spec/v1"), said("version http"));
  for (const header of ["null", "[1]", '{"a":1}', '{"a":{"dtype":"F32"}}', "{"]) {
    const length = String.fromCharCode(header.length);
    assert.throws(read(`${length}\0\0\0\0\0\0\0${header}`), /another kind of file/u);
  }
  assert.throws(
    () => readSafetensors(file({ a: ["I64", [1], [...Array(8)].fill(0)] })),
    /got I64 in a/u,
  );
  assert.throws(
    () => readSafetensors(file({ a: ["F32", [2], floats(1)] })),
    /all of a in .* again$/u,
  );
});

// ---- base64 and kernels -------------------------------------------------------------------------

test("base64 letter by letter is what node makes of it", () => {
  const draw = seeded(2);
  for (let length = 0; length < 50; length++) {
    const bytes = Uint8Array.from({ length }, () => 256 * draw());
    const text = Buffer.from(bytes).toString("base64");
    assert.deepEqual(lettersToBytes(text), bytes);
    assert.deepEqual(fromBase64(text), bytes);
  }
  for (const text of ["AAA", "AA*A", "AAé="]) {
    assert.throws(() => lettersToBytes(text), /base64.* fetch the file again$/u);
  }
});

test("13 MB of base64 take no time", () => {
  const text = "QUJD".repeat(4_500_000);
  const before = performance.now();
  const bytes = lettersToBytes(text);
  assert.ok(performance.now() - before < 3000);
  assert.deepEqual([bytes.length, bytes.at(-1)], [13_500_000, 67]);
});

test("where the browser knows base64, it is asked", () => {
  const own = Uint8Array.fromBase64;
  Uint8Array.fromBase64 = (text) => `asked for ${text}`;
  try {
    assert.equal(fromBase64("QUJD"), "asked for QUJD");
  } finally {
    if (own) Uint8Array.fromBase64 = own;
    else delete Uint8Array.fromBase64;
  }
});

test("both kernels give the product, whatever the shape", () => {
  const draw = seeded(3);
  const shapes = [
    [1, 4, 4],
    [2, 5, 8],
    [3, 7, 12],
    [5, 9, 16],
    [4, 3, 8],
    [2, 6, 7],
    [1, 1, 1],
  ];
  for (const [rows, columns, depth] of shapes) {
    const x = Array.from({ length: rows * depth }, () => draw() - 0.5);
    const w = Array.from({ length: columns * depth }, () => draw() - 0.5);
    for (const kernel of [new SimdKernel(), new PlainKernel()]) {
      const [a, b] = [kernel.matrix(rows, depth), kernel.matrix(columns, depth)];
      const [out, guard] = [kernel.matrix(rows, columns), kernel.matrix(1, 4)];
      a.data.set(x);
      b.data.set(w);
      guard.data.fill(7);
      kernel.product(a, b, out);
      out.data.forEach((found, place) => {
        const [row, column] = [Math.floor(place / columns), place % columns];
        let sum = 0;
        for (let k = 0; k < depth; k++) sum += x[row * depth + k] * w[column * depth + k];
        near(found, sum, 1e-6);
      });
      assert.deepEqual([...guard.data], [7, 7, 7, 7], "nothing is written beside it");
      const foreign = kernel.matrix(columns, depth + 1);
      assert.throws(() => kernel.product(a, foreign, out), /shapes that fit/u);
    }
  }
});

test("the kernel's memory grows, and what was made in passing is given back", () => {
  const kernel = new SimdKernel();
  const first = kernel.matrix(10, 10);
  first.data.fill(3);
  const end = kernel.temporarily(() => kernel.matrix(1000, 1000).offset);
  assert.equal(kernel.matrix(1, 1).offset, end);
  assert.equal(first.data[99], 3);
  assert.throws(() => kernel.temporarily(() => kernel.matrix(2 ** 16, 2 ** 16)), {
    name: "RangeError",
    message: /MB of memory.* close other tabs/u,
  });
  assert.equal(kernel.matrix(1, 1).offset, end + 16);
});

test("without SIMD, or where a page may run no WebAssembly, the plain kernel says so", () => {
  const { WebAssembly: own } = globalThis;
  try {
    globalThis.WebAssembly = undefined;
    assert.match(chooseKernel().note, /no SIMD WebAssembly.* up-to-date/u);
    globalThis.WebAssembly = {
      ...own,
      Memory: own.Memory,
      Module: () => {
        throw new Error("CSP");
      },
    };
    assert.ok(chooseKernel() instanceof PlainKernel);
  } finally {
    globalThis.WebAssembly = own;
  }
  assert.equal(chooseKernel().note, "");
});

test("a type of numbers that only objects have is not known", () => {
  const typed = (dtype) => file({ a: [dtype, [1], new Uint8Array(4)] });
  assert.deepEqual([...readSafetensors(typed("F32")).get("a").numbers()], [0]);
  for (const dtype of ["constructor", "toString", "__proto__", "F64"]) {
    assert.throws(() => readSafetensors(typed(dtype)), /numbers of type F16, BF16, F32, I8 in/u);
  }
});

test("tokens may have the names that objects have", () => {
  const shipped = JSON.parse(readFileSync(SHIPPED, "utf-8"));
  const kept = new Tokenizer(shipped).strings.slice(0, SPECIALS.length + 256);
  const parts = ["c o n s t r u c t o r", "_ _ p r o t o", "__proto __"];
  const merges = parts.flatMap((each) => {
    const signs = each.split(" ");
    return signs.slice(1).map((sign, at) => [signs.slice(0, at + 1).join(""), sign]);
  });
  const strings = [...kept, ...merges.map((pair) => pair.join(""))];
  const vocab = `{${strings.map((string, id) => `${JSON.stringify(string)}:${id}`)}}`;
  const tokenizer = new Tokenizer({ model: { type: "BPE", vocab: JSON.parse(vocab), merges } });
  for (const word of ["constructor", "__proto__"]) {
    assert.deepEqual(tokenizer.tokens(tokenizer.encodePreToken(word)), [word]);
  }
});

test("a file beside the page is asked for by an address that keeps its name whole", async () => {
  const { document, fetch } = globalThis;
  const asked = [];
  globalThis.document = { getElementById: () => null };
  globalThis.fetch = async (address) => {
    asked.push(new URL(address, "http://a.org/page/"));
    return new Response("{}");
  };
  try {
    const names = ["run #2", "a b", "50%", "ä", "?x", "a:b", "a&b=c", "100%25", "plain-2"];
    for (const name of names) {
      await jsonOf(`${name}/config.json`);
      const { href, pathname, search, hash } = asked.at(-1);
      assert.equal(decodeURIComponent(pathname), `/page/${name}/config.json.gz`, href);
      assert.deepEqual([search, hash], ["", ""]);
    }
    assert.equal((await bytesOf("plain-2/a")).length, 2);
  } finally {
    Object.assign(globalThis, { document, fetch });
  }
});

test("files are unpacked, in the page or beside it, unless a server has done so", async () => {
  const { document, fetch, DecompressionStream } = globalThis;
  const packed = new Uint8Array(gzipSync(Buffer.from('{"a": 1}')));
  const shown = { textContent: Buffer.from(packed).toString("base64") };
  globalThis.document = { getElementById: (id) => (id === "m/in.gz" ? shown : null) };
  const served = new Map([
    ["m/packed.gz", packed],
    ["m/plain.gz", Buffer.from('{"a": 1}')],
    ["m/short.gz", packed.subarray(0, -5)],
  ]);
  globalThis.fetch = async (address) => new Response(served.get(address));
  try {
    for (const name of ["m/in", "m/packed", "m/plain"]) {
      assert.deepEqual(await jsonOf(name), { a: 1 }, name);
    }
    const damaged = /^expected all of m\/short, packed with gzip, .* copy it again$/u;
    await assert.rejects(bytesOf("m/short"), { message: damaged });
    delete globalThis.DecompressionStream;
    await assert.rejects(bytesOf("m/in"), /a browser that unpacks gzip .* Firefox 113, Safari/u);
  } finally {
    Object.assign(globalThis, { document, fetch, DecompressionStream });
  }
});

// ---- the parts of a block -----------------------------------------------------------------------

test("attention by hand: two tokens, one of which looks back", () => {
  assert.deepEqual([...causalMask(3)], [1, 0, 0, 1, 1, 0, 1, 1, 1]);
  const [query, key, value] = [
    [0, 0, 2, 0],
    [1, 0, 0, 1],
    [1, 2, 3, 4],
  ].map((x) => Float32Array.from(x));
  const back = 1 / (1 + Math.exp(-2 / Math.sqrt(2))); // the score of key 0 less that of key 1
  const { mixed, weights } = attention(query, key, value, causalMask(2), 2);
  [1, 0, back, 1 - back].forEach((weight, place) => near(weights[place], weight, 1e-6));
  [1, 2, 3 - 2 * back, 4 - 2 * back].forEach((number, place) => near(mixed[place], number, 1e-6));
  near(attention(query, key, value, null, 2).weights[0], 0.5, 1e-7);
});

test("rotation keeps lengths, and products depend on the distance alone", () => {
  const vector = [0.3, -1, 2, 0.5];
  const rows = rotate(Float32Array.from([...vector, ...vector, ...vector]), rotaryTable(3, 4));
  const dot = (a, b) => vector.reduce((sum, _, k) => sum + rows[4 * a + k] * rows[4 * b + k], 0);
  assert.deepEqual([...rows.subarray(0, 4)], vector.map(Math.fround));
  near(rows[4], 0.3 * Math.cos(1) - 2 * Math.sin(1), 1e-6);
  near(rows[6], 2 * Math.cos(1) + 0.3 * Math.sin(1), 1e-6);
  near(dot(2, 2), dot(0, 0));
  near(dot(0, 1), dot(1, 2));
});

test("norms by hand; zeros stay zeros", () => {
  assert.deepEqual([...rmsNorm(Float32Array.from([3, -3, 0, 0]), 2)], [1, -1, 0, 0]);
  near(rmsNorm(Float32Array.from([1e-4, 1e-4]), 2)[0], 1e-4 / Math.sqrt(1e-8 + 1.1920929e-7), 1e-6);
  const layer = { weight: Float32Array.from([2, 2]), bias: Float32Array.from([1, 0]) };
  const found = layerNorm(Float32Array.from([1, 3, 5, 5]), layer, 0.21);
  const scale = 1 / Math.sqrt(1.21);
  [1 - 2 * scale, 2 * scale, 1, 0].forEach((number, place) => near(found[place], number, 1e-6));
  assert.deepEqual([...softmax(Float64Array.from([5, -Infinity, 5]))], [0.5, 0, 0.5]);
});

test("a merge takes pairs from the left", () => {
  assert.deepEqual(mergePair([1, 1, 1, 2, 1, 1], [1, 1], 9), [9, 1, 2, 9]);
});

// ---- running ------------------------------------------------------------------------------------

test("what one run gives, the next does not change", () => {
  const model = tiny();
  const first = model.run([1, 2, 3]);
  const copy = structuredClone(first);
  const { end } = model.kernel;
  model.run([4, 5, 6, 7], { headScale: ablating(CONFIG, [[0, 1]]) });
  assert.deepEqual(first, copy);
  assert.equal(model.kernel.end, end, "no memory was lost");
  assert.equal(model.run([1, 2], { logits: "none", upTo: 1 }).logits, null);
  assert.equal(model.run([1, 2], { upTo: 1 }).states.length, 2);
});

test("heads that are not there, foreign ids and too many of them are errors", () => {
  const head = [1, 0];
  for (const heads of [[head], [head, head]]) {
    assert.deepEqual(ablating(CONFIG, heads, -3).flat(), [1, 1, -3, 1]);
  }
  for (const head of [
    [2, 0],
    [0, 2],
    [-1, 0],
    [0.5, 0],
  ]) {
    assert.throws(() => ablating(CONFIG, [head]), /layers 0 to 1 and heads 0 to 1, got/u);
  }
  const model = tiny();
  for (const ids of [[], [1, 2, 3, 4, 5, 6]]) {
    assert.throws(() => model.run(ids), /expected 1 to 5 tokens, got \d; change the text/u);
  }
  for (const id of [12, -1, 1.5, NaN, "1"]) {
    assert.throws(() => model.run([1, id]), /expected ids from 0 to 11, got/u);
  }
});

test("a model of another block, or with another's weights, is an error", () => {
  const open = (changes) => () => tiny(changes);
  assert.throws(open({ rotary: false }), /has rotary true, got false in its config\.json; give/u);
  assert.throws(open({ activation: "gelu" }), /activation relu2, got gelu/u);
  assert.throws(
    () => new Transformer(chooseKernel(), null, new Map()),
    /rotary true, got undefined/u,
  );
  const other = tensorsOf({ ...CONFIG, width: 4 });
  const said =
    /embedding\.weight of shape 12 × 8, as config\.json says, got 12 × 4; give the files/u;
  assert.throws(() => new Transformer(chooseKernel(), CONFIG, other), said);
  const fewer = tensorsOf({ ...CONFIG, layers: 1 });
  assert.throws(() => new Transformer(chooseKernel(), CONFIG, fewer), /blocks\.1\..* got none/u);
});

test("LoRA's updates are found by their names; none is an error", () => {
  const part = (...shape) => ({
    shape,
    numbers: () => new Float32Array(shape[0] * shape[1]).fill(1),
  });
  const tensors = new Map([
    ["x.a", part(2, 3)],
    ["x.b", part(4, 2)],
    ["y.a", part(2, 3)],
    ["z", part(1, 1)],
  ]);
  const { updates } = new LoRA(tensors, 16);
  assert.deepEqual([...updates.keys()], ["x"]);
  assert.equal(updates.get("x").scale, 8);
  assert.throws(() => new LoRA(new Map(), 16), /expected the updates of LoRA.* save them again/u);
});

// ---- tokenizer and classifier: errors -----------------------------------------------------------

const SHIPPED = new URL("../../data/checkpoints/causal-small/tokenizer.json", import.meta.url);

test("another kind of tokenizer, half a character and unknown ids are errors", () => {
  const shipped = JSON.parse(readFileSync(SHIPPED, "utf-8"));
  const changed = (change) => ({ model: { ...shipped.model, ...change } });
  const fewer = Object.fromEntries(Object.entries(shipped.model.vocab).slice(0, -1));
  const wrong = [
    null,
    {},
    { model: { type: "WordPiece", vocab: { a: 0 } } },
    changed({ merges: [] }),
  ];
  for (const file of [...wrong, changed({ vocab: fewer }), changed({ type: "Unigram" })]) {
    assert.throws(
      () => new Tokenizer(file),
      /^Error: expected a byte-level BPE tokenizer.* give the/u,
    );
  }
  const tokenizer = new Tokenizer(shipped);
  assert.throws(() => tokenizer.encode("a\ud83d"), /half of a character; delete it/u);
  assert.throws(() => tokenizer.decode([8192]), /expected ids from 0 to 8191, got 8192/u);
});

test("a classifier that the page cannot read says so", () => {
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(SHIPPED, "utf-8")));
  const record = { labels: ["a", "b"], pooling: "mean", scheme: null };
  const make = (changes, tensors = new Map(), base = tiny()) =>
    new Classifier(chooseKernel(), tokenizer, { record: { ...record, ...changes }, tensors, base });
  const by = (knob) => ({ scheme: { edit: { knob } } });
  assert.throws(
    () => make(by("Adapters")),
    /got one by Adapters, which this page cannot show; adapt/u,
  );
  assert.throws(() => make({}, new Map(), null), /the model under this classifier, got none/u);
  assert.throws(() => make({}), /head\.weight of shape \[2,8\].* got \[\]; give the files/u);
  const head = { shape: [2, 8], numbers: () => new Float32Array(16) };
  const bias = { shape: [2], numbers: () => new Float32Array(2) };
  const classifier = make(
    {},
    new Map([
      ["head.weight", head],
      ["head.bias", bias],
    ]),
  );
  assert.throws(() => classifier.encode(" \t"), /expected text, got none; type some/u);
  assert.throws(() => classifier.encode(["a", ""]), /expected text, got none/u);
  assert.equal(classifier.encode("one two three four five six").length, CONFIG.max_length);
  assert.equal(classifier.encode(["one two three", "four five six"], 7).length, 7);
});

// ---- writing ------------------------------------------------------------------------------------

const LOGITS = Float32Array.from({ length: 12 }, (_, id) => (id < 5 ? 100 : Math.log(id - 4)));
// of the ids 5 to 11 the shares are 1 to 7 of 28; the other specials must never come

test("candidates: temperature, top-k, top-p", () => {
  const ids = (how) => candidates(LOGITS, how).map(({ id }) => id);
  const shares = (how) => candidates(LOGITS, how).map(({ probability }) => probability);
  assert.deepEqual(ids({}), [11, 10, 9, 8, 7, 6, EOS]);
  shares({}).forEach((share, rank) => near(share, (7 - rank) / 28, 1e-7));
  assert.deepEqual(ids({ topK: 2 }), [11, 10]);
  near(shares({ topK: 2 })[0], 7 / 13, 1e-7);
  assert.deepEqual(ids({ topP: 0.24 }), [11]);
  assert.deepEqual(ids({ topP: 0.26 }), [11, 10]);
  near(shares({ topP: 0.26 })[1], 6 / 13, 1e-7);
  assert.deepEqual(ids({ topP: 0 }), [11]);
  assert.deepEqual(ids({ temperature: 0 }), [11]);
  near(shares({ temperature: 0.5 })[0], 49 / 140, 1e-7);
  assert.deepEqual(candidates(LOGITS, { temperature: 0 })[0].probability, 1);
});

test("samples come as often as they should, and the same for the same seed", () => {
  const drawn = (seed, count) => {
    const random = seeded(seed);
    return Array.from({ length: count }, () => sample(LOGITS, { random, topK: 3 }));
  };
  const counts = drawn(4, 6000).reduce((sums, id) => ({ ...sums, [id]: (sums[id] ?? 0) + 1 }), {});
  assert.deepEqual(Object.keys(counts), ["9", "10", "11"]);
  [5, 6, 7].forEach((share, rank) => near(counts[9 + rank] / 6000, share / 18, 0.025));
  assert.deepEqual(drawn(5, 50), drawn(5, 50));
  assert.notDeepEqual(drawn(5, 50), drawn(6, 50));
});

test("writing stops at <eos> or the count, and reads no further back than it can", () => {
  const says = (...ids) => {
    const asked = [];
    const run = (text, options) => {
      asked.push([text, options]);
      return {
        logits: Float32Array.from({ length: 12 }, (_, id) =>
          id === ids[asked.length - 1] ? 50 : 0,
        ),
      };
    };
    return { config: CONFIG, asked, run };
  };
  const model = says(7, 8, EOS, 9);
  assert.deepEqual([...generate(model, [EOS, 6], { seed: 1, run: { upTo: 1 } })], [7, 8, EOS]);
  assert.deepEqual(model.asked[1], [[EOS, 6, 7], { upTo: 1, logits: "last" }]);
  assert.deepEqual([...generate(says(7, 8, 9), [6], { count: 2 })], [7, 8]);
  const long = says(7, 8);
  [...generate(long, [1, 2, 3, 4, 5], { count: 2 })];
  assert.deepEqual(long.asked[1][0], [2, 3, 4, 5, 7]);
  assert.throws(() => [...generate(tiny({ causal: false }), [1])], /expected a causal model/u);
  assert.throws(() => [...generate(tiny(), [])], /at least one token to start from/u);
  assert.equal(SPECIALS[EOS], "<eos>");
});
