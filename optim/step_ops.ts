// The arithmetic of the updates: one composite an optimizer, which becomes one kernel that reads and
// writes each element once. Numbers that change from step to step are operands, so that nothing is compiled
// anew. Not here: which parameters, states and numbers (optimizer.ts, sgd.ts, adam.ts).
import type { DType } from "../core/dtype.ts";
import { composite, type Operand } from "../core/op.ts";
import type { Tensor } from "../core/tensor.ts";
import { add, cast, div, maximum, mul, sign, sqrt, square, sub } from "../ops/mod.ts";
import type { Decay } from "./regularizer.ts";

/** Narrow floats widened: updates are computed and states are kept in float32 at least. */
export function wide(x: Tensor): Tensor {
  return x.dtype === "float32" || x.dtype === "float64" ? x : cast(x, "float32");
}

/** The dtype of the states of a parameter. */
export function stateDType(parameter: Tensor): DType {
  return parameter.dtype === "float64" ? "float64" : "float32";
}

function as(x: Tensor, dtype: DType): Tensor {
  return x.dtype === dtype ? x : cast(x, dtype);
}

/** The gradient with the decay term. */
function decayed(p: Tensor, g: Tensor, kind: Decay["kind"], coefficient: Operand): Tensor {
  switch (kind) {
    case "none":
      return g;
    case "l1":
      return add(g, mul(sign(p), coefficient));
    case "l2":
      return add(g, mul(p, coefficient));
  }
}

/** p - lr · g. Operands: p, g, lr, decay; attrs: `decay`. */
export const SGD_STEP = composite({
  name: "sgdStep",
  vjp: null,
  body: ([p, g, lr, decay], attrs) => {
    const x = wide(p as Tensor);
    const d = decayed(x, wide(g as Tensor), attrs.decay as Decay["kind"], decay);
    return as(sub(x, mul(d, lr)), (p as Tensor).dtype);
  },
});

/**
 * v = momentum · v + g; p - lr · v, or with Nesterov's look ahead p - lr · (g + momentum · v).
 * Operands: p, g, v, lr, momentum, decay; attrs: `decay`, `nesterov`. Gives p, v.
 */
export const MOMENTUM_STEP = composite({
  name: "momentumStep",
  vjp: null,
  body: ([p, g, v, lr, momentum, decay], attrs) => {
    const x = wide(p as Tensor);
    const d = decayed(x, wide(g as Tensor), attrs.decay as Decay["kind"], decay);
    const velocity = add(mul(v, momentum), d);
    const step = attrs.nesterov ? add(d, mul(velocity, momentum)) : velocity;
    return [
      as(sub(x, mul(step, lr)), (p as Tensor).dtype),
      as(velocity, (v as Tensor).dtype),
    ];
  },
});

/**
 * Adam (Kingma & Ba 2015): m = β₁ m + (1 - β₁) g, v = β₂ v + (1 - β₂) g²; p - size · m / (√v · root + ε), where
 * size = lr / (1 - β₁ᵗ) and root = 1 / √(1 - β₂ᵗ). With `amsgrad` (Reddi et al. 2018) the greatest v so far stands for v.
 * With decay "decoupled" (AdamW: Loshchilov & Hutter 2019) decay · p is subtracted too.
 *
 * Operands: p, g, m, v, (greatest v), size, β₁, 1 - β₁, β₂, 1 - β₂, ε, root, decay; attrs: `decay`,
 * `amsgrad`. Gives p, m, v, (greatest v).
 */
export const ADAM_STEP = composite({
  name: "adamStep",
  vjp: null,
  body: (inputs, attrs) => {
    const [p, g, m, v] = inputs as readonly Tensor[];
    const states = attrs.amsgrad ? 5 : 4;
    const [size, beta1, rest1, beta2, rest2, epsilon, root, decay] = inputs.slice(states);
    const kind = attrs.decay as Decay["kind"] | "decoupled";
    const x = wide(p);
    const d = kind === "decoupled" ? wide(g) : decayed(x, wide(g), kind, decay);
    const mean = add(mul(m, beta1), mul(d, rest1));
    const spread = add(mul(v, beta2), mul(square(d), rest2));
    const greatest = attrs.amsgrad ? [maximum(inputs[4], spread)] : [];
    const scale = add(mul(sqrt(greatest[0] ?? spread), root), epsilon);
    const move = mul(div(mean, scale), size);
    const step = kind === "decoupled" ? add(move, mul(x, decay)) : move;
    return [
      as(sub(x, step), p.dtype),
      ...[mean, spread, ...greatest].map((s) => as(s, m.dtype)),
    ];
  },
});
