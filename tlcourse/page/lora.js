// LoRA, as in tlcourse.adaptation: W + (alpha / rank) B A in the place of W (Hu et al., 2021).

/** The updates of a model's linear layers, at any strength. */
export class LoRA {
  /**
   * `tensors` (as `readSafetensors` gives them) holds NAME.a (rank × inputs) and NAME.b (outputs ×
   * rank) for each layer NAME that has an update, and whatever else. Throws an Error if none has.
   */
  constructor(tensors, alpha) {
    this.updates = new Map();
    for (const [name, tensor] of tensors) {
      const layer = name.replace(/\.a$/, "");
      const partner = tensors.get(`${layer}.b`);
      if (layer === name || !partner) continue;
      const [a, b, rank] = [tensor.numbers(), partner.numbers(), tensor.shape[0]];
      this.updates.set(layer, { a, b, rank, scale: alpha / rank });
    }
    if (!this.updates.size) {
      throw new Error("expected the updates of LoRA among the weights, got none; save them again");
    }
  }
}

/** Writes `weight` + `strength` · scale · B A into `copy`; all matrices are (outputs × inputs). */
export function mergeLora(weight, { a, b, rank, scale }, strength, copy) {
  const [base, merged, inputs] = [weight.data, copy.data, weight.columns];
  const row = new Float64Array(inputs);
  for (let output = 0; output < weight.rows; output++) {
    row.fill(0);
    for (let k = 0; k < rank; k++) {
      const share = strength * scale * b[output * rank + k];
      for (let input = 0; input < inputs; input++) row[input] += share * a[k * inputs + input];
    }
    for (let input = 0; input < inputs; input++) {
      merged[output * inputs + input] = base[output * inputs + input] + row[input];
    }
  }
}
