// Recording calls in the gradient graph, in-place changes too.
import { describe } from "../describe.ts";
import { isDifferentiable } from "../dtype.ts";
import { GradError, ValueError } from "../errors.ts";
import type { Attrs, Op, Operand } from "../op.ts";
import { showShape } from "../shape.ts";
import { Tensor } from "../tensor.ts";
import { isGradEnabled } from "./mode.ts";
import { checkHistory, edgeOf, type GradNode, OpNode } from "./node.ts";

/** Whether a call with these operands is to be recorded. */
export function needsGrad(operands: readonly Operand[]): boolean {
  if (!isGradEnabled()) return false;
  for (let i = 0; i < operands.length; i++) {
    const x = operands[i];
    if (typeof x !== "object") continue;
    if (x.impl.requiresGrad) return true;
    checkHistory(x);
  }
  return false;
}

/** Points differentiable outputs at the node. */
export function attach(node: GradNode, outputs: readonly Tensor[]): void {
  for (let i = 0; i < outputs.length; i++) {
    if (!isDifferentiable(outputs[i].dtype)) continue;
    const impl = outputs[i].impl;
    impl.node = node;
    impl.nodeIndex = i;
    impl.requiresGrad = true;
    if (impl.storage !== null) impl.history = impl.storage.history;
  }
}

/** Records a call of an op that has a gradient rule. Call only if {@linkcode needsGrad}. */
export function record(
  op: Op,
  operands: readonly Operand[],
  attrs: Attrs,
  outputs: readonly Tensor[],
): void {
  if (op.vjp === null || !outputs.some((o) => isDifferentiable(o.dtype))) return;
  const edges = operands.map((x) => (x instanceof Tensor ? edgeOf(x) : null));
  const node = new OpNode(op, operands, attrs, edges, outputs);
  attach(node, outputs);
  node.saveOutputs(outputs);
}

/** Refuses an in-place change that would make recorded gradients wrong. */
export function checkInPlace(name: string, target: Tensor, recording: boolean): void {
  if (!isGradEnabled()) return;
  const leaf = target.isLeaf && target.requiresGrad
    ? target
    : target.impl.base !== null && target.impl.base.isLeaf && target.impl.base.requiresGrad
    ? target.impl.base
    : null;
  if (leaf !== null) {
    throw new GradError(
      `Cannot ${name} in place on ${leaf === target ? "" : "a view of "}a leaf of shape ${
        showShape(leaf.shape)
      } that requires grad: ` +
        "its gradient would be lost; wrap the change in noGrad(() => …), or use the form that is not in place",
    );
  }
  if (recording && !isDifferentiable(target.dtype)) {
    throw new GradError(
      `Cannot ${name} in place on a ${target.dtype} tensor with operands that require grad: no gradient passes through it; ` +
        "detach() them",
    );
  }
}

/** Gives targets of an in-place change the history recorded on `fresh`; other views become stale. */
export function attachInPlace(targets: readonly Tensor[], fresh: readonly Tensor[]): void {
  targets.forEach((t, i) => {
    const impl = t.impl;
    const from = fresh[i].impl;
    impl.node = from.node;
    impl.nodeIndex = from.nodeIndex;
    impl.requiresGrad = from.requiresGrad;
    if (impl.storage !== null) impl.history = ++impl.storage.history;
  });
}

/** Makes a leaf require its gradient, or stop. */
export function setRequiresGrad(x: Tensor, on: boolean): void {
  if (typeof on !== "boolean") {
    throw new ValueError(`Cannot set requiresGrad to ${describe(on)}: it is true or false`);
  }
  if (on && !isDifferentiable(x.dtype)) {
    throw new GradError(
      `Cannot require the gradient of a ${x.dtype} tensor: only floating dtypes have one; cast it first`,
    );
  }
  if (!x.isLeaf) {
    if (on) return;
    throw new GradError("Cannot turn requiresGrad off for a tensor that an op made: use detach()");
  }
  x.impl.requiresGrad = on;
  if (!on) x.impl.node = null;
}
