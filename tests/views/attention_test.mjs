// The pure functions of tlcourse/views/attention.js against numbers written down by hand.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const source = readFileSync(new URL("../../tlcourse/views/attention.js", import.meta.url), "utf8");
const view = await import(`data:text/javascript,${encodeURIComponent(source)}`);

// Two layers, two heads, two queries, three keys; weights that say where they stand: 0.LHQK.
const weights = [];
for (const [layer, head, query, key] of [0, 1].flatMap((layer) =>
  [0, 1].flatMap((head) => [0, 1].flatMap((query) => [0, 1, 2].map((key) => [layer, head, query, key]))),
)) {
  weights.push(layer * 0.1 + head * 0.01 + query * 0.001 + key * 0.0001);
}
const places = { layers: 2, heads: 2, queries: ["a", " b"], keys: ["x", "y", "z"], weights };
const data = {
  layers: 1,
  heads: 2,
  queries: ["the", " dog"],
  keys: ["the", " dog"],
  weights: [1, 0, 0.625, 0.375, 0.04, 0.96, 0.002, 0.998],
};
const all = { layer: 0, on: [0, 1], chosen: null };
const dog = { layer: 0, on: [0, 1], chosen: { side: "queries", place: 1 } };
const plain = (sentences) => sentences.map((sentence) => sentence.replace(/[\u2068\u2069]/g, ""));

test("a weight stands where its layer, head, query and key say", () => {
  assert.ok(Math.abs(view.weightAt(places, 1, 0, 1, 2) - 0.1012) < 1e-9);
  assert.ok(Math.abs(view.weightAt(places, 0, 1, 0, 1) - 0.0101) < 1e-9);
});

test("bytes become weights", () => {
  assert.deepEqual(Array.from(view.decode("AP8z")), [0, 1, Math.fround(51 / 255)]);
});

test("without a chosen token only strong lines are drawn, the strongest on top", () => {
  const drawn = view.lines(data, all).map(({ head, query, key, weight }) => [head, query, key, weight]);
  assert.deepEqual(drawn, [
    [0, 1, 1, 0.375],
    [0, 1, 0, 0.625],
    [1, 0, 1, 0.96],
    [1, 1, 1, 0.998],
    [0, 0, 0, 1],
  ]);
});

test("a chosen token has its own lines, weak ones too, of the heads that are on", () => {
  const ends = (state) => view.lines(data, state).map(({ head, query, key }) => [head, query, key]);
  assert.deepEqual(ends({ ...dog, on: [0] }), [[0, 1, 1], [0, 1, 0]]);
  assert.deepEqual(ends({ ...all, chosen: { side: "keys", place: 1 } }), [[0, 1, 1], [1, 0, 1], [1, 1, 1]]);
  const weak = { layer: 0, on: [1], chosen: { side: "queries", place: 0 } };
  assert.deepEqual(ends(weak), [[1, 0, 0], [1, 0, 1]]);
  assert.deepEqual(ends({ ...dog, on: [] }), []);
});

test("a sentence for each head, the strongest first", () => {
  assert.deepEqual(plain(view.sentences(data, dog)), [
    "head 0.1: 'dog' looks at 'dog' with 1.00",
    "head 0.0: 'dog' looks at 'the' with 0.63",
  ]);
  const to = { layer: 0, on: [0], chosen: { side: "keys", place: 0 } };
  assert.deepEqual(plain(view.sentences(data, to)), ["head 0.0: 'the' looks at 'the' with 1.00"]);
  assert.match(view.sentences(data, { ...dog, on: [] })[0], /no head/);
  assert.match(view.sentences(data, all)[0], /choose a token/);
});

test("more heads than four are counted", () => {
  const many = { ...data, heads: 7, weights: Array(28).fill(0.5) };
  const said = view.sentences(many, { ...dog, on: [0, 1, 2, 3, 4, 5, 6] });
  assert.deepEqual([said.length, said[4]], [5, "and 3 more, with less"]);
});

test("the mean of the heads stands beside each token", () => {
  assert.deepEqual(view.means(data, dog).map((mean) => mean.toFixed(4)), ["0.3135", "0.6865"]);
  assert.deepEqual(view.means(data, { ...dog, on: [0] }), [0.625, 0.375]);
});

test("tokens show what has no ink", () => {
  const shown = [" dog", "  ", " ", "a b", "\n", "", "\u0301", "e\u0301", " <b>"].map(view.visible);
  assert.deepEqual(shown, ["dog", "␣", "␣", "a␣b", "↵", "", "◌\u0301", "e\u0301", "<b>"]);
});

test("switches and arrow keys", () => {
  assert.deepEqual(view.switched([0, 2], 1), [0, 1, 2]);
  assert.deepEqual(view.switched([0, 2], 2), [0]);
  const down = ["ArrowUp", "ArrowDown"];
  const steps = ["ArrowUp", "ArrowDown", "Home", "End", "ArrowLeft", "x"];
  assert.deepEqual(steps.map((key) => view.step(key, 0, 4, down)), [0, 1, 0, 3, null, null]);
  assert.equal(view.step("ArrowDown", 3, 4, down), 3);
});
