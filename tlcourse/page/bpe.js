// Byte-pair encoding, as in tlcourse.bpe: text to pre-tokens to bytes to merges.
//
//     const tokenizer = new Tokenizer(JSON.parse(text of tokenizer.json));
//     const ids = tokenizer.encode(normalise("The rain, in the train."));
//     tokenizer.decode(ids);

export const SPECIALS = ["<pad>", "<unk>", "<cls>", "<sep>", "<mask>", "<eos>"];
export const [PAD, UNK, CLS, SEP, MASK, EOS] = SPECIALS.keys(); // their ids in every vocabulary

// White space is not the same everywhere. JavaScript's \s has U+FEFF and lacks U+0085; the pattern
// of GPT-2 goes by Unicode's property; Python's str.split() takes U+001C to U+001F as well.
const SPACE = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const SPLITS = new RegExp(`[${SPACE}\\x1c-\\x1f]+`, "u");
const PRE_TOKEN = new RegExp(
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+" +
    `| ?[^${SPACE}\\p{L}\\p{N}]+|[${SPACE}]+(?![^${SPACE}])|[${SPACE}]+`,
  "gu",
);
const SPECIAL = new RegExp(`(${SPECIALS.join("|")})`, "u");
const TYPOGRAPHY = { "‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..." };

/**
 * A text typed by a person, in the form the shipped models read: NFC, typewriter quotes and dashes,
 * white space collapsed, one space in front.
 */
export function normalise(text) {
  const plain = text.normalize("NFC").replace(/[‘’“”–—…]/gu, (sign) => TYPOGRAPHY[sign]);
  const words = plain.split(SPLITS).filter((word) => word);
  return words.map((word) => ` ${word}`).join("");
}

/** The pre-tokens inside which merges happen; joined, they give `text` back. */
export function preTokenise(text) {
  return text.match(PRE_TOKEN) ?? [];
}

/** The printable character that stands for each byte in a vocabulary file (GPT-2's table). */
export function byteSymbols() {
  const printable = (byte) =>
    (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte < 0xad) || byte > 0xad;
  let others = 0;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(printable(byte) ? byte : 256 + others++),
  );
}

/** One round of merging: each `left` that is followed by `right` becomes `merged` with it. */
export function mergePair(ids, [left, right], merged) {
  const found = [];
  for (let place = 0; place < ids.length; place++) {
    const here = ids[place] === left && ids[place + 1] === right;
    found.push(here ? merged : ids[place]);
    if (here) place++;
  }
  return found;
}

/** Byte-level BPE: any string goes in and comes back unchanged. */
export class Tokenizer {
  /** `file` is what tokenizer.json holds. Throws an Error for another kind of tokenizer. */
  constructor(file) {
    const symbols = byteSymbols();
    this.byteOf = new Map(symbols.map((symbol, byte) => [symbol, byte]));
    this.strings = [...SPECIALS, ...[...symbols].sort((a, b) => (a < b ? -1 : 1))];
    const known = new Map(this.strings.map((string, id) => [string, id]));
    this.byteIds = symbols.map((symbol) => known.get(symbol));
    this.ranks = new Map(); // by the pair's key: [when it was learnt, the id it gives]
    this.cache = new Map();
    const { vocab = {}, merges = [], type } = file?.model ?? {};
    const ids = new Map(Object.entries(vocab));
    let fits = type === "BPE";
    for (const [rank, [left, right]] of merges.entries()) {
      const merged = ids.get(left + right);
      if (merged === this.strings.length) this.strings.push(left + right);
      this.ranks.set(pairKey(ids.get(left), ids.get(right)), [rank, merged]);
      fits &&= [left, right, left + right].every((string) => ids.has(string));
    }
    fits &&= this.strings.every((string, id) => ids.get(string) === id);
    if (!fits || ids.size !== this.strings.length) {
      throw new Error(
        `expected a byte-level BPE tokenizer with the specials ${SPECIALS.join(" ")}, got ` +
          `${type ?? "none"}; give the tokenizer.json of a checkpoint that tlcourse wrote`,
      );
    }
  }

  get vocabularySize() {
    return this.strings.length;
  }

  /**
   * The ids of `text` as it stands (what a person typed wants `normalise` first). A special token
   * spelled out in it is read as ordinary characters unless `allowSpecial`: otherwise whoever types
   * `<eos>` could end a document. Throws an Error for half a surrogate pair, which is no text.
   */
  encode(text, { allowSpecial = false } = {}) {
    if (/\p{Surrogate}/u.test(text)) {
      throw new Error("expected text, got half of a character; delete it and type it again");
    }
    if (!allowSpecial) return preTokenise(text).flatMap((word) => this.encodePreToken(word));
    return text
      .split(SPECIAL)
      .flatMap((part) => (SPECIALS.includes(part) ? SPECIALS.indexOf(part) : this.encode(part)));
  }

  /** The bytes of a pre-token, then the earliest merge that fits, until none does. */
  encodePreToken(word) {
    if (!this.cache.has(word)) this.cache.set(word, this.merge(word).ids);
    return this.cache.get(word);
  }

  /** The same with the first `most` merges of the vocabulary alone, and the `steps` to there. */
  merge(word, most = Infinity) {
    let ids = Array.from(new TextEncoder().encode(word), (byte) => this.byteIds[byte]);
    const steps = []; // {rank, left, right, merged}
    for (let pair = this.earliest(ids); pair; pair = this.earliest(ids)) {
      const [rank, merged] = this.ranks.get(pairKey(...pair));
      if (rank >= most) break;
      steps.push({ rank, left: pair[0], right: pair[1], merged });
      ids = mergePair(ids, pair, merged);
    }
    return { ids, steps };
  }

  /** Of the neighbours in `ids`, the pair whose merge was learnt first; null if there is none. */
  earliest(ids) {
    let [best, lowest] = [null, Infinity];
    for (let place = 0; place + 1 < ids.length; place++) {
      const rank = this.ranks.get(pairKey(ids[place], ids[place + 1]))?.[0] ?? Infinity;
      if (rank < lowest) [best, lowest] = [[ids[place], ids[place + 1]], rank];
    }
    return best;
  }

  /** The text of `ids`; what is no UTF-8 becomes U+FFFD. Throws a RangeError on unknown ids. */
  decode(ids) {
    const bytes = Array.from(ids).flatMap((id) => this.bytesOf(id));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));
  }

  bytesOf(id) {
    const string = this.strings[id];
    if (string === undefined) {
      throw new RangeError(`expected ids from 0 to ${this.vocabularySize - 1}, got ${id}`);
    }
    if (id < SPECIALS.length) return Array.from(new TextEncoder().encode(string));
    return Array.from(string, (symbol) => this.byteOf.get(symbol));
  }

  /** Each id's own text, for showing; a lone byte of a longer character is shown as U+FFFD. */
  tokens(ids) {
    return Array.from(ids, (id) => this.decode([id]));
  }
}

function pairKey(left, right) {
  return left * 2 ** 24 + right; // one number, which a Map finds faster than a text
}
