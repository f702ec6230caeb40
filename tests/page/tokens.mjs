// Reads asked.json in the folder given and writes answers.json: texts and ids through bpe.js.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Tokenizer, normalise, preTokenise } from "../../tlcourse/page/bpe.js";

const folder = process.argv[2];
const { file, texts, sequences } = JSON.parse(readFileSync(join(folder, "asked.json"), "utf-8"));
const tokenizer = new Tokenizer(JSON.parse(readFileSync(file, "utf-8")));
const answers = {
  texts: texts.map((text) => ({
    normal: normalise(text),
    words: preTokenise(text),
    normalIds: tokenizer.encode(normalise(text)),
    ids: tokenizer.encode(text),
    special: tokenizer.encode(text, { allowSpecial: true }),
  })),
  sequences: sequences.map((ids) => ({
    text: tokenizer.decode(ids),
    tokens: tokenizer.tokens(ids),
  })),
};
writeFileSync(join(folder, "answers.json"), JSON.stringify(answers));
