// What the rooms show of a reading, for node --test: merges undone, bars, heads and their habits.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { EOS, MASK, Tokenizer } from "../../tlcourse/page/bpe.js";
import { counted } from "../../tlcourse/page/dom.js";
import { ignoredWords, keep, parsed } from "../../tlcourse/page/fragment.js";
import {
  MOST,
  cutAfter,
  habit,
  idsOf,
  keptReading,
  likeliest,
  mergesIn,
  moved,
  rowsOf,
  sharpest,
  textsOf,
  wordsOf,
} from "../../tlcourse/page/reading.js";
import { labelWords } from "../../tlcourse/page/room_classify.js";
import { changeWords, changesOf } from "../../tlcourse/page/room_stream.js";
import { countWords } from "../../tlcourse/page/room_tokens.js";
import { leanQr } from "../../tlcourse/page/lean_qr.js";
import { codeOf, squaresOf } from "../../tlcourse/page/share.js";
import { isPiece, putsWords } from "../../tlcourse/page/telling.js";
import { erase } from "../../tlcourse/page/room_words.js";

const NAMES_OF_OBJECTS = ["constructor", "__proto__", "toString", "hasOwnProperty", "loc", ""];
const folder = new URL("../../data/checkpoints/causal-small/", import.meta.url);
const tokenizer = new Tokenizer(JSON.parse(readFileSync(new URL("tokenizer.json", folder))));
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not near ${b}`);

test("a text is cut to as many tokens as the page reads, and says so", () => {
  const text = "The ship, the ship and the ship. ".repeat(20);
  const { ids, cut } = idsOf(tokenizer, text, { causal: true });
  assert.deepEqual([ids.length, ids[0], cut], [MOST, EOS, true]);
  assert.deepEqual(idsOf(tokenizer, "", { causal: true }), { ids: [EOS], cut: false });
});

test("a mask stands for a word and the space before it, in a masked model alone", () => {
  const masked = idsOf(tokenizer, "Paris is the <mask> of France.", { causal: false }).ids;
  assert.equal(masked.filter((id) => id === MASK).length, 1);
  assert.equal(tokenizer.decode(masked.slice(1)), " Paris is the<mask> of France.");
  assert.ok(!idsOf(tokenizer, "a <mask>", { causal: true }).ids.includes(MASK));
});

test("all merges give the ids of the text, none gives its bytes, and each step one pair", () => {
  for (const causal of [true, false]) {
    const text = "The <mask> trains, naïve 🦙 don't";
    const words = wordsOf(tokenizer, text, { causal });
    const { ids } = idsOf(tokenizer, text, { causal });
    assert.deepEqual(cutAfter(tokenizer, words, Infinity), ids);
    const steps = mergesIn(tokenizer, words);
    let before = cutAfter(tokenizer, words, 0);
    const strings = words.filter((word) => typeof word === "string").join("");
    const bytes = new TextEncoder().encode(strings).length;
    assert.equal(before.length, bytes + words.filter((word) => typeof word === "number").length);
    for (const [count, { left, right, rank }] of steps.entries()) {
      assert.ok(count === 0 || rank > steps[count - 1].rank);
      assert.ok(before.some((id, place) => id === left && before[place + 1] === right));
      const after = cutAfter(tokenizer, words, steps[count + 1]?.rank ?? Infinity);
      assert.ok(after.length < before.length);
      assert.equal(tokenizer.decode(after), tokenizer.decode(before));
      before = after;
    }
    assert.deepEqual(before, ids);
  }
});

test("a text too long has no words far behind its end", () => {
  const words = wordsOf(tokenizer, "the ".repeat(500), { causal: true });
  assert.equal(words.length, MOST);
});

test("bytes that are no character are shown as bytes", () => {
  const ids = cutAfter(tokenizer, ["é"], 0);
  assert.deepEqual(textsOf(tokenizer, ids), ["‹C3›", "‹A9›"]);
});

// Three tokens, one block of two heads: the second looks at the first token, then hard at the
// second, which is the token before the last.
const reading = {
  ids: [5, 7, 8],
  place: 2,
  layers: 1,
  heads: 2,
  attention: Float32Array.from([
    ...[1, 0, 0, 0.1, 0.9, 0, 0.1, 0.1, 0.8],
    ...[1, 0, 0, 1, 0, 0, 0.2, 0.7, 0.1],
  ]),
  probabilities: [0.5, 0.3, 0.2],
  best: [
    { id: 0, text: " a", probability: 0.5 },
    { id: 1, text: " b", probability: 0.3 },
  ],
};

test("the sharpest head, and what heads do most", () => {
  const { layer, head, weights } = sharpest(reading);
  assert.deepEqual([layer, head], [0, 1]);
  assert.deepEqual([...weights], [0.2, 0.7, 0.1].map(Math.fround));
  assert.equal(habit(reading, 0, 0)[0], "itself");
  near(habit(reading, 0, 0)[1], (Math.fround(0.9) + Math.fround(0.8)) / 2);
  assert.equal(habit(reading, 0, 1)[0], "the first token");
  assert.deepEqual([sharpest({ ...reading, ids: [5], place: 0 }).head], [0], "one token alone");
});

test("bars: alone, and beside what was before", () => {
  assert.deepEqual(likeliest([0.2, 0.5, 0.3], 2), [
    { id: 1, probability: 0.5 },
    { id: 2, probability: 0.3 },
  ]);
  assert.deepEqual(rowsOf(reading, null, 1), [{ text: "a", now: 0.5, before: null }]);
  const best = [{ id: 2, text: "\n", probability: 0.9 }];
  const after = { ...reading, probabilities: [0.05, 0.05, 0.9], best };
  assert.deepEqual(rowsOf(after, reading, 2), [
    { text: "↵", now: 0.9, before: 0.2 },
    { text: "a", now: 0.05, before: 0.5 },
  ]);
  near(moved(reading.probabilities, after.probabilities), 0.7);
});

test("what was written into the page is a reading that lacks the model", () => {
  const bytes = new Uint8Array(Float32Array.from([1, 0, 0.25, 0.75]).buffer);
  const attention = btoa(String.fromCharCode(...bytes));
  const found = keptReading({ ids: [5, 6], attention, best: [] });
  assert.deepEqual([...found.attention], [1, 0, 0.25, 0.75]);
  assert.deepEqual([found.opened, found.probabilities], [null, null]);
});

test("each word is left out once, specials stay, and the answer's loss is told", async () => {
  const asked = [];
  const ask = (words) => {
    asked.push(words);
    const there = words.includes(" moon");
    return { names: (id) => ["sun", "moon"][id], probabilities: there ? [0.2, 0.8] : [0.7, 0.3] };
  };
  const found = await erase([EOS, " the", " moon"], ask, () => true);
  assert.deepEqual(asked.slice(1), [[EOS, " moon"], [EOS, " the"]]);
  assert.deepEqual([found.answer, found.share], ["moon", 0.8]);
  const [kept, lost] = found.rows;
  assert.deepEqual([kept.change, kept.left, kept.now], [0, 0.8, "moon"]);
  near(lost.change, 0.5);
  assert.deepEqual([lost.text, lost.left, lost.now], [" moon", 0.3, "sun"]);
  assert.equal(await erase([" moon"], ask, () => false), null);
});

test("what a block does to predictions: the likeliest, and where another leads", () => {
  const start = [[1, 0], [0.5, 0.5]];
  const first = [[0.25, 0.75], [0.5, 0.5]];
  const second = [[0.5, 0.5], [0, 1]];
  const predicted = [start, first, second];
  assert.deepEqual(changesOf(predicted), {
    best: [[0, 0], [1, 0], [0, 1]],
    shares: [[1, 0.5], [0.75, 0.5], [0.5, 1]],
    others: [1, 2],
  });
  const words = "How many guesses each block changes (of 4): 3, 2, 1.";
  assert.equal(changeWords([3, 2, 1], 4), words);
});

test("one of a kind is told in the singular", () => {
  assert.deepEqual(
    [0, 1, 2].map((count) => counted(count, "token")),
    ["0 tokens", "1 token", "2 tokens"],
  );
  assert.equal(countWords([EOS, " a"], [EOS, 9]), "1 word or punctuation mark (2 bytes) became 1 token, plus <eos>: 2 in all.");
  assert.equal(
    countWords([EOS, " a", "b"], [EOS, 9, 8]),
    "2 words and punctuation marks (3 bytes) became 2 tokens of 1.5 bytes on average, plus <eos>: " +
      "3 in all.",
  );
  assert.equal(countWords([EOS], [EOS]), "0 words and punctuation marks (0 bytes) became 0 tokens, plus <eos>: 1 in all.");
});

const ASKED = { room: null, text: null, model: null, head: null, token: null, off: null };

test("an address says which room and which text, and survives what others made of it", () => {
  const given = (fragment, found) =>
    assert.deepEqual(parsed(fragment), { ...ASKED, ignored: [], ...found });
  given("", {});
  given("#", {});
  given("#attention", { room: "attention" });
  given("#text=The%20ship%20%26%20a", { text: "The ship & a" });
  given("#tokens&text=", { room: "tokens", text: "" });
  given("#tokens&text=50%", { room: "tokens", text: "50%" });
  given("#both&token=0&head=1.10&off=0.0,5.3", {
    room: "both",
    token: 0,
    head: [1, 10],
    off: [[0, 0], [5, 3]],
  });
});

test("what is kept in an address is what is read from it", () => {
  const kept = { room: "both", text: "50% & #1\nü=🦙", model: "a b&c", head: [5, 3], token: 0 };
  for (const off of [[[5, 3], [0, 12]], []]) {
    const states = [];
    globalThis.history = { replaceState: (...words) => states.push(words) };
    keep({ ...kept, off });
    const [[state, , address]] = states;
    assert.deepEqual(state, { own: true });
    const found = { ...kept, off: off.length ? off : null, ignored: [] };
    assert.deepEqual(parsed(address), found);
  }
  keep({ ...kept, text: "half a character: \ud83e", off: [] }); // not an error
});

test("parts of an address that cannot be read are named, and the others are read", () => {
  const broken = ["off=1.1,x", "head=3", "token=-1", "v=2", "__proto__=1", "constructor=", "=", "b"];
  const found = parsed(`#tokens&text=a&${broken.join("&")}&text=b`);
  assert.deepEqual(found, { ...ASKED, room: "tokens", text: "a", ignored: [...broken, "text=b"] });
  assert.equal(ignoredWords([]), "");
  const long = "x".repeat(25);
  assert.equal(
    ignoredWords(["v=2", long]),
    `In the address, this page ignores '\u2068v=2\u2069', '\u2068${"x".repeat(24)}…\u2069': ` +
      "perhaps a link of another version.",
  );
});

test("a code has the squares of its library, and an address that is too long a shorter one", () => {
  const short = "http://192.0.2.1/page.html#tokens";
  const { address, code } = codeOf(`${short}&text=a`, short);
  assert.equal(address, `${short}&text=a`);
  const expected = leanQr.generate(address);
  assert.equal(code.toString(), expected.toString());
  const drawn = [...squaresOf(code).matchAll(/M(\d+) (\d+)h1v1h-1z/gu)].map(([, x, y]) => `${x} ${y}`);
  const rows = expected.toString({ on: "#", off: ".", pad: 0 }).trim().split("\n");
  const dark = rows.flatMap((row, y) =>
    [...row].flatMap((sign, x) => (sign === "#" ? [`${x} ${y}`] : [])),
  );
  assert.ok(dark.length > 200);
  assert.deepEqual(drawn, dark);
  assert.equal(codeOf(`${short}&text=${"%D0%9F".repeat(200)}`, short).address, short);
});

test("a byte that cannot be seen is named by its number, a line break is not", () => {
  const ids = tokenizer.encode("\u0014\n");
  assert.deepEqual(textsOf(tokenizer, ids), ["‹14›", "\n"]);
});

test("pieces of one word are known by their letters", () => {
  const texts = ["<eos>", " Ham", "burg", ".", " 19", "45", " é", "‹CC›"];
  const ids = [EOS, ...texts.slice(1).map((_, at) => 300 + at)];
  const pieces = texts.filter((_, place) => isPiece(ids, texts, place));
  assert.deepEqual(pieces, ["burg", "45", "‹CC›"]);
});

test("where a token looks is told in words", () => {
  const weights = [0.2, 0.7, 0.1];
  assert.equal(
    putsWords({ texts: ["<eos>", " a", " b"] }, 2, weights),
    "'\u2068b\u2069' puts 70.0% of its attention on '\u2068a\u2069'.",
  );
  assert.match(putsWords({ texts: [" a", " b"] }, 1, weights), /^'.b.' puts 70.0% .* on itself\.$/u);
  assert.equal(
    putsWords({ texts: [" a", " b", "b"] }, 2, weights),
    "the last '\u2068b\u2069' puts 70.0% of its attention on the first '\u2068b\u2069'.",
  );
});

test("TREC's labels are told in words, all others as they are", () => {
  assert.equal(labelWords("LOC"), "a place (LOC)");
  for (const label of NAMES_OF_OBJECTS) assert.equal(labelWords(label), label);
});
