// Functions with a gradient of their own (Paddle's PyLayer).
import { describe } from "../describe.ts";
import { GradError, ValueError } from "../errors.ts";
import type { Operand } from "../op.ts";
import { expectOptions, expectTensors } from "../operands.ts";
import { Tensor } from "../tensor.ts";
import { noGrad } from "./mode.ts";
import { FunctionNode } from "./node.ts";
import { attach, needsGrad } from "./record.ts";

/** What the two functions of a custom function share. */
export class FunctionContext {
  /** Tensors that backward will need; use inside forward. */
  saved: readonly Tensor[] = [];
  /** Anything else. */
  readonly store: Map<string, unknown> = new Map();

  /** Keeps tensors for backward; their versions are checked. */
  saveForBackward(...tensors: readonly Tensor[]): void {
    expectTensors("saveForBackward", ...tensors);
    this.saved = tensors;
  }
}

class CustomNode extends FunctionNode {
  override get isForeign(): boolean {
    return true;
  }
}

/** A function with a gradient of its own (Paddle's PyLayer). */
export interface CustomFunction<Args extends readonly Operand[]> {
  /** Computes the outputs; nothing inside is recorded. */
  forward(ctx: FunctionContext, ...inputs: Args): Tensor | readonly Tensor[];
  /** Gradients of the inputs (null for none) from those of the outputs; `ctx.saved` holds what forward saved. */
  backward(
    ctx: FunctionContext,
    ...grads: readonly Tensor[]
  ): Tensor | null | readonly (Tensor | null)[];
  /** The name in errors. */
  readonly name?: string;
}

/**
 * Makes a function from a forward and a backward of one's own.
 *
 * @returns A function of the same inputs; it gives one tensor, or as many as forward gives.
 * @throws {GradError} at backward, if backward gives another number of gradients than there are inputs.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { customFunction, type Tensor, tensor } from "../../mod.ts";
 *
 * const cube = customFunction<[Tensor]>({
 *   forward(ctx, x) {
 *     ctx.saveForBackward(x);
 *     return x.mul(x).mul(x);
 *   },
 *   backward(ctx, g) {
 *     const [x] = ctx.saved;
 *     return g.mul(x).mul(x).mul(3);
 *   },
 * });
 * const x = tensor([2], { requiresGrad: true });
 * (cube(x) as Tensor).sum().backward();
 * assertEquals(await x.grad!.toArray(), [12]);
 * ```
 */
export function customFunction<Args extends readonly Operand[]>(
  fn: CustomFunction<Args>,
): (...inputs: Args) => Tensor | readonly Tensor[] {
  expectOptions("customFunction", fn);
  for (const [part, value] of [["forward", fn.forward], ["backward", fn.backward]] as const) {
    if (typeof value === "function") continue;
    throw new ValueError(
      `Cannot customFunction: ${part} must be a function: got ${describe(value)}; ` +
        "write customFunction({forward(ctx, x) {…}, backward(ctx, g) {…}})",
    );
  }
  const name = fn.name ?? "customFunction";
  return (...inputs: Args) => {
    const ctx = new FunctionContext();
    const result = noGrad(() => fn.forward(ctx, ...inputs));
    const list = resultsOf(name, result);
    if (!needsGrad(inputs)) return result;
    const outs = list.map((o) => (inputs.includes(o) || o.requiresGrad ? o.detach() : o));
    const node = new CustomNode(name, inputs, outs, [], (grads, saved) => {
      ctx.saved = saved;
      const back = fn.backward(ctx, ...grads);
      const gs = back === null || back instanceof Tensor ? [back] : back;
      if (!Array.isArray(gs) || gs.length !== inputs.length) {
        throw new GradError(
          `Cannot backward through ${name}: backward must give one gradient (or null) for each of the ` +
            `${inputs.length} inputs: got ${Array.isArray(gs) ? gs.length : describe(gs)}`,
        );
      }
      return gs;
    });
    attach(node, outs);
    // After that, so that gradients of gradients pass through saved outputs.
    node.save(ctx.saved.map((s) => outs[list.indexOf(s)] ?? s));
    return result instanceof Tensor ? outs[0] : outs;
  };
}

/** The outputs that forward gave. */
function resultsOf(name: string, given: Tensor | readonly Tensor[]): readonly Tensor[] {
  const list = Array.isArray(given) ? given : [given];
  for (const x of list) {
    if (x instanceof Tensor) continue;
    throw new ValueError(
      `Cannot call ${name}: forward must give a tensor or an array of tensors, at once: got ` +
        describe(x),
    );
  }
  return list;
}
