// Kernels cut into blocks against the kernels themselves, by the interpreter.
import { assert, assertEquals } from "jsr:@std/assert@1";
import { type DataArray, type DType, DTYPES } from "../../../core/dtype.ts";
import * as k from "../../../core/ir/expr.ts";
import { runKernel } from "../../../core/ir/interp.ts";
import { type Kernel, type KernelSpec, type Launch, makeKernel } from "../../../core/ir/kernel.ts";
import { BlockedKernel, canBeCut, cutOf, temporaryBytes } from "./blocks.ts";

const f32 = (index: number) => k.leaf("load", "float32", index);
const coord = (index: number) => k.leaf("coord", "int32", index);
const left = (index: number, dtype: "float32" | "int32" = "float32") =>
  k.leaf("left", dtype, index);
const right = (index: number, dtype: "float32" | "int32" = "float32") =>
  k.leaf("right", dtype, index);
const result = (stage: number, index: number, dtype: "float32" | "int32" = "float32") =>
  k.leaf("result", dtype, index, stage);

function kernel(spec: Partial<KernelSpec>): Kernel {
  return makeKernel({
    outerRank: 0,
    innerRank: 1,
    inputs: [],
    args: [],
    stages: [],
    outputs: [],
    index32: true,
    ...spec,
  });
}

const any = { outer: "any", inner: "any" } as const;

/** Runs a kernel whole and in blocks of every length; the outputs must be the same. */
function sameInBlocks(
  source: Kernel,
  launch: Launch,
  inputs: readonly DataArray[],
  outputs: readonly DataArray[],
): void {
  const expected = outputs.map((o) => o.slice());
  runKernel(source, launch, [...inputs, ...expected]);
  for (let axis = source.outerRank; axis < launch.sizes.length; axis++) {
    const blocked = new BlockedKernel(source, axis);
    for (let length = 1; length <= launch.sizes[axis]; length++) {
      const own = outputs.map((o) => o.slice());
      let bytes = 0;
      const temporary = (dtype: DType, elements: number): DataArray => {
        bytes = Math.ceil((bytes + elements * DTYPES[dtype].bytes) / 64) * 64;
        return new DTYPES[dtype].array(elements) as DataArray;
      };
      blocked.run(launch, [...inputs, ...own], length, temporary, (kernel, part, buffers) => {
        assert(blocked.kernels.includes(kernel));
        runKernel(kernel, part, buffers);
      });
      assertEquals(own, expected);
      assert(bytes <= temporaryBytes(source, launch.sizes, { axis, length }));
    }
  }
}

const numbers = (n: number) => Float32Array.from({ length: n }, (_, i) => (i * 37 % 101) - 50);

Deno.test("a sum, strided, with an argument and a size in its final", () => {
  const sum = kernel({
    inputs: [{ dtype: "float32", ...any }],
    args: ["float32"],
    stages: [
      {
        kind: "reduce",
        init: [k.constant(0, "float32")],
        lift: [f32(0)],
        combine: [k.add(left(0), right(0))],
      },
      {
        kind: "final",
        values: [
          k.add(
            k.mul(result(0, 0), k.leaf("arg", "float32", 0)),
            k.cast(k.leaf("size", "int32", 0), "float32"),
          ),
        ],
      },
    ],
    outputs: [{ dtype: "float32", outer: "zero", inner: "zero", stage: 1, value: 0 }],
  });
  assert(canBeCut(sum));
  const launch = { sizes: [13], strides: [[-2], [0]], offsets: [30, 1], args: [3] };
  sameInBlocks(sum, launch, [numbers(40)], [new Float32Array(3)]);
});

Deno.test("a place of the largest over two inner axes for each outer point", () => {
  const place = k.add(k.mul(coord(1), k.leaf("size", "int32", 2)), coord(2));
  const larger = k.or(
    k.gt(left(0), right(0)),
    k.and(k.eq(left(0), right(0)), k.lt(left(1, "int32"), right(1, "int32"))),
  );
  const argmax = kernel({
    outerRank: 1,
    innerRank: 2,
    inputs: [{ dtype: "float32", ...any }],
    stages: [{
      kind: "reduce",
      init: [k.constant(-Infinity, "float32"), k.constant(2 ** 31 - 1, "int32")],
      lift: [f32(0), place],
      combine: [
        k.where(larger, left(0), right(0)),
        k.where(larger, left(1, "int32"), right(1, "int32")),
      ],
    }],
    outputs: [
      { dtype: "int32", outer: "unit", inner: "zero", stage: 0, value: 1 },
      { dtype: "float32", outer: "any", inner: "zero", stage: 0, value: 0 },
    ],
  });
  const strides = [[20, 5, 1], [1, 0, 0], [2, 0, 0]];
  const launch = { sizes: [3, 4, 5], strides, offsets: [0, 0, 1], args: [] };
  sameInBlocks(argmax, launch, [numbers(60)], [new Int32Array(3), new Float32Array(7)]);
});

Deno.test("two reductions, the second of which reads the first, a map of both and a table", () => {
  const table = k.gather(1, "float32", [coord(1)]);
  const spread = kernel({
    outerRank: 1,
    inputs: [{ dtype: "float32", ...any }, { dtype: "float32", ...any, gatherRank: 1 }],
    stages: [
      {
        kind: "reduce",
        init: [k.constant(-Infinity, "float32")],
        lift: [f32(0)],
        combine: [k.max(left(0), right(0))],
      },
      {
        kind: "reduce",
        init: [k.constant(0, "float32")],
        lift: [k.mul(k.sub(f32(0), result(0, 0)), table)],
        combine: [k.add(left(0), right(0))],
      },
      { kind: "final", values: [k.add(result(0, 0), result(1, 0))] },
      {
        kind: "map",
        values: [k.add(k.sub(f32(0), result(0, 0)), k.mul(result(1, 0), table))],
      },
      {
        kind: "final",
        values: [k.mul(result(1, 0), k.cast(k.leaf("size", "int32", 1), "float32"))],
      },
    ],
    outputs: [
      { dtype: "float32", outer: "any", inner: "zero", stage: 4, value: 0 },
      { dtype: "float32", outer: "any", inner: "unit", stage: 3, value: 0 },
      { dtype: "float32", outer: "unit", inner: "zero", stage: 2, value: 0 },
    ],
  });
  const strides = [[7, 1], [1], [3, 0], [7, 1], [1, 0]];
  const launch = { sizes: [2, 7], strides, offsets: [0, 2, 1, 0, 0], args: [] };
  const arrays = [new Float32Array(5), new Float32Array(14), new Float32Array(2)];
  sameInBlocks(spread, launch, [numbers(14), numbers(9)], arrays);
});

Deno.test("only long reductions to a few values are cut, by their longest axis", () => {
  assertEquals(cutOf(0, [65535]), null);
  assertEquals(cutOf(0, [65536]), { axis: 0, length: 32768 });
  assertEquals(cutOf(1, [17, 10 ** 6]), null);
  assertEquals(cutOf(1, [0, 10 ** 6]), null);
  assertEquals(cutOf(1, [16, 10 ** 6]), { axis: 1, length: 32768 });
  assertEquals(cutOf(0, [3, 10 ** 6, 5]), { axis: 1, length: 2185 });
  assertEquals(cutOf(1, [2, 1, 10 ** 6 + 1]), { axis: 2, length: 32768 });
});
