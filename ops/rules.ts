// What the elementwise families share: forms of gradient rules, dtype rules, test inputs.
// Not part of the public surface: ops/mod.ts does not export it.
import { DTypeError } from "../core/errors.ts";
import {
  commonDType,
  type DTypeRule,
  type Operand,
  promote,
  type Sample,
  type SampleInput,
  type Vjp,
} from "../core/op.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";

/** The gradient of a function of one tensor, from the operand. */
export function fromInput(rule: (g: Tensor, x: Tensor) => Tensor): Vjp {
  return ([g], { inputs: [x] }) => [rule(g, x as Tensor)];
}

/** The gradient of a function of one tensor, from the result (with `saves: "out"`). */
export function fromOutput(rule: (g: Tensor, y: Tensor) => Tensor): Vjp {
  return ([g], { outputs: [y] }) => [rule(g, y)];
}

/** The gradient of a step function: zeros, so that its operand still gets one. */
export const flat: Vjp = ([g]) => [op.zerosLike(g)];

/** An operand in the dtype that the op computed in, which may be wider than its own. */
export function widened(x: Operand, like: Tensor): Operand {
  return typeof x === "object" ? op.cast(x, like.dtype) : x;
}

/** Like `promote`, for arithmetic that makes no sense on truth values. */
export const numeric: DTypeRule = (name, metas, attrs) => {
  if (commonDType(metas) === "bool") {
    throw new DTypeError(
      `Cannot ${name} bool: truth values have no such arithmetic; use logicalNot or logicalXor, ` +
        `or cast to "int32" first`,
    );
  }
  return promote(name, metas, attrs);
};

/** Points at which functions of one float are tested beside their domain. */
export const POINTS: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  -2.5,
  Infinity,
  -Infinity,
  NaN,
  3e38,
  -3e38,
  1e-40,
];

/** Samples of a function of one float tensor, with further operands as numbers. */
export function unarySamples(
  range: readonly [number, number],
  points: readonly number[] = POINTS,
  rest: readonly number[] = [],
): () => readonly Sample[] {
  return () => [
    { inputs: [{ shape: [2, 3], range }, ...rest] },
    { inputs: [{ shape: [], range }, ...rest] },
    { inputs: [{ shape: [0, 3] }, ...rest] },
    { inputs: [{ values: points }, ...rest], noGrad: true },
  ];
}

/** Every pair of the values, as two operands. */
export function pairs(values: readonly number[], dtype?: "int32"): readonly SampleInput[] {
  const left = values.flatMap((v) => values.map(() => v));
  const right = values.flatMap(() => [...values]);
  return dtype === undefined
    ? [{ values: left }, { values: right }]
    : [{ values: left, dtype }, { values: right, dtype }];
}

/** Samples of a function of two float tensors. */
export function binarySamples(
  range: readonly [number, number],
  points: readonly number[] = [0, -0, 1, -1.5, Infinity, -Infinity, NaN],
): () => readonly Sample[] {
  return () => [
    { inputs: [{ shape: [2, 3], range }, { shape: [3], range }] },
    { inputs: [{ shape: [2, 1, 3], range }, { shape: [4, 1], range }] },
    { inputs: [{ shape: [], range }, { shape: [2], range }] },
    { inputs: [{ shape: [0, 3] }, { shape: [3] }] },
    { inputs: pairs(points), noGrad: true },
  ];
}
