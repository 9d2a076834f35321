// Gradients of a computation by the walk back itself, inside a gradient rule that has no formula of its own.
// Not public; what people call is `grad`.
import { enableGrad, grad, isGradEnabled, setRequiresGrad } from "../core/autograd.ts";
import { isFloat } from "../core/dtype.ts";
import type { Operand } from "../core/op.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";

/**
 * Gradients of `operands` (null for numbers and tensors that are not floats) from the gradients `gs` of what
 * `fn` makes of them. They can be differentiated again where gradients are being recorded.
 */
export function pullback(
  fn: (operands: readonly Operand[]) => readonly Tensor[],
  operands: readonly Operand[],
  gs: readonly Tensor[],
): (Tensor | null)[] {
  const again = isGradEnabled();
  return enableGrad(() => {
    const xs = operands.map((x): Operand => {
      if (typeof x !== "object" || !isFloat(x.dtype)) return x;
      // A node of its own, so that an operand that is given twice gets the gradient of each.
      if (again && x.requiresGrad) return op.reshape(x, x.shape);
      const leaf = x.detach();
      setRequiresGrad(leaf, true);
      return leaf;
    });
    const ends = xs.map((x) => (typeof x === "object" && x.requiresGrad ? x : null));
    const found = grad(fn(xs), ends.filter((x) => x !== null), {
      gradOutputs: gs,
      createGraph: again,
      allowUnused: true,
    });
    let next = 0;
    return ends.map((x) => (x === null ? null : found[next++]));
  });
}
