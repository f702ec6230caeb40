// Reads asked.json in the folder given: texts for models and classifiers. Writes each array of
// numbers as NAME.f32, and answers.json.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Tokenizer } from "../../tlcourse/page/bpe.js";
import { Classifier } from "../../tlcourse/page/classify.js";
import { generate } from "../../tlcourse/page/generate.js";
import { PlainKernel, chooseKernel } from "../../tlcourse/page/kernel.js";
import { Transformer, ablating } from "../../tlcourse/page/model.js";
import { readSafetensors } from "../../tlcourse/page/safetensors.js";

const folder = process.argv[2];
const json = (...path) => JSON.parse(readFileSync(join(...path), "utf-8"));
const tensors = (...path) => readSafetensors(new Uint8Array(readFileSync(join(...path))));
const { models, runs, lenses, texts, classifiers } = json(folder, "asked.json");
const answers = { kernel: chooseKernel().note, written: {}, same: {} };
const opened = new Map();
let tokenizer = null; // all classifiers have the same

function model(name) {
  if (!opened.has(name)) {
    const { folder: path, plain } = models[name];
    const kernel = plain ? new PlainKernel() : chooseKernel();
    const weights = tensors(path, "model.safetensors");
    opened.set(name, new Transformer(kernel, json(path, "config.json"), weights));
  }
  return opened.get(name);
}

function keep(name, arrays) {
  const parts = arrays.map((array) => Buffer.from(Float32Array.from(array).buffer));
  writeFileSync(join(folder, `${name}.f32`), Buffer.concat(parts));
}

function keepRun(name, { attention, states, logits, probabilities }) {
  keep(`${name}.attention`, attention);
  keep(`${name}.states`, states);
  if (logits) keep(`${name}.logits`, [logits]);
  if (probabilities) keep(`${name}.probabilities`, [probabilities]);
}

for (const { name, model: of, ids, heads, scale, ...options } of runs) {
  const headScale = heads && ablating(model(of).config, heads, scale);
  keepRun(name, model(of).run(ids, { headScale, ...options }));
}
for (const { name, model: of, ids } of lenses) {
  const { states } = model(of).run(ids, { logits: "none" });
  keep(
    name,
    states.map((state) => model(of).logits(state)),
  );
}
for (const { name, model: of, ids, ...how } of texts) {
  answers.written[name] = [...generate(model(of), ids, how)];
}
for (const { name, folder: path, base, inputs, strengths = [1] } of classifiers) {
  tokenizer ??= new Tokenizer(json(path, "tokenizer.json"));
  const classifier = new Classifier(base ? model(base).kernel : chooseKernel(), tokenizer, {
    record: json(path, "classifier.json"),
    config: json(path, "config.json"),
    tensors: tensors(path, "model.safetensors"),
    base: base && model(base),
  });
  const ids = classifier.encode(inputs[0]);
  const before = classifier.read(ids, { strength: 0 });
  for (const strength of strengths) {
    keepRun(`${name}-${strength}`, classifier.read(ids, { strength }));
    const all = inputs.map((input) => classifier.probabilities(input, { strength }));
    keep(`${name}-${strength}.all`, all);
  }
  const after = classifier.read(ids, { strength: 0 });
  answers.same[name] = after.probabilities.every((p, label) => p === before.probabilities[label]);
}
writeFileSync(join(folder, "answers.json"), JSON.stringify(answers));
