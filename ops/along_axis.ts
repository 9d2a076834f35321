// Reading and writing along one axis with an index of full rank. Rows by a shared index: gather.ts and
// scatter.ts.
import { elementwise, engine, kernelOp, type Operand } from "../core/op.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import type { HostArray } from "../core/host.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { normalizeAxis, showShape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { checkIndexRange, indexCompute, refuseComplex, valuesFor } from "./common.ts";
import { copyElements } from "./host_arrays.ts";
import { type Put, putAlong } from "./host_scatter.ts";
import { scatterAlong } from "./placing.ts";
import { coordinate } from "./positions.ts";

const TAKE = elementwise({
  name: "takeAlongAxis",
  dtype: (name, [x, index]) => {
    refuseComplex(name, x.dtype);
    return { compute: [x.dtype, indexCompute(index.dtype), "int32"], out: x.dtype };
  },
  indexed: [0],
  shape: ([, index]) => index.shape,
  scalar: ([, index, size], ctx) => {
    const rank = ctx.attrs.rank as number;
    const coords = Array.from(
      { length: rank },
      (_, d) => d === ctx.attrs.axis ? coordinate(index, size) : ctx.coord(d),
    );
    return ctx.at(0, coords);
  },
  vjp: ([g], { inputs: [, index], shapes, attrs }) => [
    scatterAlong(g, index as Tensor, attrs.axis as number, shapes[0]),
    null,
    null,
  ],
  reads: [[1]],
  samples: () => [
    {
      inputs: [
        { shape: [2, 4] },
        { values: [3, 0, 0, -1, 1, 2], shape: [2, 3], dtype: "int32" },
        4,
      ],
      attrs: { axis: 1, rank: 2 },
    },
    {
      inputs: [{ shape: [3, 2] }, { values: [2, 2, 0, 1], shape: [4, 1], dtype: "int64" }, 3],
      attrs: { axis: 0, rank: 2 },
    },
  ],
});

function checkAlong(name: string, x: Tensor, index: Tensor, axis: number): void {
  const fits = x.rank === index.rank &&
    x.shape.every((n, d) => d === axis || index.shape[d] <= n);
  if (!fits) {
    throw new ShapeError(
      `Cannot ${name} ${showShape(x.shape)} with an index of shape ${
        showShape(index.shape)
      } along ` +
        `axis ${axis}: ranks must be equal, and on the other axes the index must not be larger; ` +
        "expand or reshape the index",
    );
  }
  checkIndexRange(name, index, x.shape[axis]);
}

/**
 * Picks along one axis: out[i, j, …] = x[i, index[i, j, …], …] for axis 1 (PyTorch's gather).
 *
 * @param x Rank of at least 1.
 * @param index Integers of `x`'s rank, negative ones counting from the end; on the other axes at most
 * as large as `x`.
 * @param axis The axis that the index runs along.
 * @returns The shape of `index`, the dtype of `x`.
 * @throws {ShapeError} if ranks or sizes do not fit.
 * @throws {IndexError} if a position is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { takeAlongAxis, tensor } from "../mod.ts";
 *
 * const x = tensor([[1, 2, 3], [4, 5, 6]]);
 * const index = tensor([[2], [0]], { dtype: "int32" });
 * assertEquals(await takeAlongAxis(x, index, 1).toArray(), [[3], [4]]);
 * ```
 */
export function takeAlongAxis(x: Tensor, index: Tensor, axis: number): Tensor {
  expectTensors("takeAlongAxis", x, index);
  const a = normalizeAxis("takeAlongAxis", axis, x.rank);
  checkAlong("takeAlongAxis", x, index, a);
  return engine.call(TAKE, [x, index, x.shape[a]], { axis: a, rank: x.rank });
}

const PUT = kernelOp({
  name: "putAlongAxis",
  infer: ([x]) => [{ shape: x.shape, dtype: x.dtype }],
  reference: ([x, index, values], [out], attrs) => {
    copyElements(out, x as HostArray);
    putAlong(
      "putAlongAxis",
      out,
      index as HostArray,
      values as HostArray,
      attrs.axis as number,
      attrs.how as Put,
    );
  },
  vjp: ([g], { inputs, attrs, needs, shapes }) => {
    const [x, index, values] = inputs as Tensor[];
    const axis = attrs.axis as number;
    const taken = (y: Tensor): Tensor => takeAlongAxis(y, index, axis);
    switch (attrs.how as Put) {
      case "assign":
        return [
          needs[0] ? putAlongAxis(g, index, 0, axis) : null,
          null,
          needs[2] ? taken(g) : null,
        ];
      case "add":
        return [g, null, needs[2] ? taken(g) : null];
      case "mul": {
        const factors = putAlongAxis(
          op.ones(shapes[0], { dtype: g.dtype, place: g.place }),
          index,
          values,
          axis,
          { reduce: "mul" },
        );
        return [
          needs[0] ? op.mul(g, factors) : null,
          null,
          needs[2] ? factorGradient(g, x, index, values, axis) : null,
        ];
      }
    }
  },
  reads: [[1, 2], [], [0, 1, 2]],
  samples: () =>
    ["assign", "add", "mul"].map((how) => ({
      inputs: [
        { shape: [2, 4] },
        { values: [2, 0, 1, 3], shape: [2, 2], dtype: "int32" as const },
        { shape: [2, 2], range: [0.5, 1.5] as const },
      ],
      attrs: { axis: 1, how },
    })),
});

/**
 * The gradient of each factor: what the others at its place multiply to. A zero cannot be divided out, so
 * products are taken without zeros, and zeros counted.
 */
function factorGradient(
  g: Tensor,
  x: Tensor,
  index: Tensor,
  values: Tensor,
  axis: number,
): Tensor {
  const zero = op.equal(values, 0);
  const safe = op.where(zero, 1, values);
  const zeros = putAlongAxis(op.zerosLike(x), index, op.cast(zero, x.dtype), axis, {
    reduce: "add",
  });
  const product = putAlongAxis(op.mul(g, x), index, safe, axis, { reduce: "mul" });
  const others = op.sub(takeAlongAxis(zeros, index, axis), op.cast(zero, x.dtype));
  const share = op.div(takeAlongAxis(product, index, axis), safe);
  return op.where(op.equal(others, 0), share, 0);
}

/** Options of `putAlongAxis`. */
export interface PutAlongAxisOptions {
  /** What happens to the element that is there: replaced (default), added to, multiplied. */
  readonly reduce?: "assign" | "add" | "mul";
}

/**
 * A copy of `x` with values put along one axis: out[i, index[i, j], …] = values[i, j, …] for axis 1.
 *
 * @param x Rank of at least 1.
 * @param index Integers of `x`'s rank; on the other axes at most as large as `x`.
 * @param values A number, or a tensor that broadcasts to the index's shape.
 * @param axis The axis that the index runs along.
 * @returns The shape and dtype of `x`. Of values assigned to one place the last one stays.
 * @throws {ShapeError} if ranks or sizes do not fit.
 * @throws {IndexError} if a position is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { putAlongAxis, tensor } from "../mod.ts";
 *
 * const x = tensor([[1, 2, 3], [4, 5, 6]]);
 * const index = tensor([[2], [0]], { dtype: "int32" });
 * assertEquals(await putAlongAxis(x, index, 9, 1).toArray(), [[1, 2, 9], [9, 5, 6]]);
 * ```
 */
export function putAlongAxis(
  x: Tensor,
  index: Tensor,
  values: Operand,
  axis: number,
  options: PutAlongAxisOptions = {},
): Tensor {
  expectTensors("putAlongAxis", x, index);
  expectOptions("putAlongAxis", options);
  const a = normalizeAxis("putAlongAxis", axis, x.rank);
  const how = options.reduce ?? "assign";
  if (how !== "assign" && how !== "add" && how !== "mul") {
    throw new ValueError(
      `Cannot putAlongAxis with reduce "${how}": use "assign", "add" or "mul"`,
    );
  }
  refuseComplex("putAlongAxis", x.dtype);
  checkAlong("putAlongAxis", x, index, a);
  const v = valuesFor("putAlongAxis", x, values, index.shape);
  return engine.call(PUT, [x, index, v], { axis: a, how });
}
