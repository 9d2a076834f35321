// The product of a layer: with a weight matrix and a bias.
import { ShapeError } from "../core/errors.ts";
import { composite, engine } from "../core/op.ts";
import { expectOptional, expectTensors } from "../core/operands.ts";
import { showShape, sizeOf } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { checkShapes, contractible, MATMUL, product } from "./contraction.ts";

const LINEAR = composite({
  name: "linear",
  amp: "white",
  body: ([operand, weight, bias]) => {
    const x = operand as Tensor;
    const lead = x.shape.slice(0, -1);
    const rows = op.reshape(x, [sizeOf(lead), x.shape[x.rank - 1]]);
    // The bias is added to the rows, before their axes are restored: so it can be the product's tail.
    const y = op.add(engine.call(MATMUL, [rows, weight]), bias);
    return op.reshape(y, [...lead, y.shape[1]]);
  },
  samples: () => [
    { inputs: [{ shape: [2, 3] }, { shape: [3, 4] }, { shape: [4] }] },
    { inputs: [{ shape: [2, 2, 3] }, { shape: [3, 2] }, { shape: [2] }] },
    { inputs: [{ shape: [3] }, { shape: [3, 2] }, { shape: [2] }] },
    { inputs: [{ shape: [0, 3] }, { shape: [3, 2] }, { shape: [2] }] },
  ],
});

/**
 * `x @ weight + bias` over the last axis. The weight is `[in, out]` as in Paddle; PyTorch's is its
 * transpose.
 *
 * @param x `[..., in]`.
 * @param weight `[in, out]`.
 * @param bias `[out]`, or left out.
 * @returns `[..., out]` in the promoted dtype.
 * @throws {ShapeError} if the weight is not a matrix, its rows are not as many as `x`'s last axis has
 * elements, or the bias has another size than its columns.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const y = nn.functional.linear(tensor([1, 2]), tensor([[1, 0, 1], [0, 1, 1]]), tensor([0, 0, 9]));
 * assertEquals(await y.toArray(), [1, 2, 12]);
 * ```
 */
export function linear(x: Tensor, weight: Tensor, bias?: Tensor): Tensor {
  expectTensors("linear", x, weight);
  expectOptional("linear", bias);
  if (weight.rank !== 2) {
    throw new ShapeError(
      `Cannot linear ${showShape(x.shape)} with weight ${
        showShape(weight.shape)
      }: the weight must be ` +
        `a matrix [in, out]: got rank ${weight.rank}`,
    );
  }
  const wording = {
    call: "linear",
    left: showShape(x.shape),
    right: `weight ${showShape(weight.shape)}`,
  };
  checkShapes(x.shape, weight.shape, wording);
  if (bias === undefined) return product(x, weight, wording);
  if (bias.rank !== 1 || bias.shape[0] !== weight.shape[1]) {
    throw new ShapeError(
      `Cannot linear with weight ${showShape(weight.shape)} and bias ${
        showShape(bias.shape)
      }: the bias ` +
        `must have one element for each column of the weight: expected [${weight.shape[1]}]`,
    );
  }
  return engine.call(LINEAR, contractible("linear", x, weight, bias));
}
