// Models and classifiers, from their files: opened once, and kept.

import { Tokenizer } from "./bpe.js";
import { Classifier } from "./classify.js";
import { bytesOf, jsonOf } from "./files.js";
import { Transformer } from "./model.js";
import { readSafetensors } from "./safetensors.js";

/** A checkpoint: {model, tokenizer}. `heard` is told which share of its weights is there. */
export async function openModel(kernel, name, heard) {
  const [config, file, tensors] = await Promise.all([
    jsonOf(`${name}/config.json`),
    jsonOf(`${name}/tokenizer.json`),
    tensorsIn(name, heard),
  ]);
  return { model: new Transformer(kernel, config, tensors), tokenizer: new Tokenizer(file) };
}

/** A classifier; `base` is the opened model it stands on, or null if it has all of its weights. */
export async function openClassifier(kernel, name, base) {
  const [record, tensors] = await Promise.all([jsonOf(`${name}/classifier.json`), tensorsIn(name)]);
  if (base) return new Classifier(kernel, base.tokenizer, { record, tensors, base: base.model });
  const config = await jsonOf(`${name}/config.json`);
  const tokenizer = new Tokenizer(await jsonOf(`${name}/tokenizer.json`));
  return new Classifier(kernel, tokenizer, { record, config, tensors });
}

async function tensorsIn(name, heard) {
  const file = `${name}/model.safetensors`;
  return readSafetensors(await bytesOf(file, heard), file);
}
