// Conventions of the elementwise families that the goldens (tests/) do not reach: extremes, narrow
// dtypes, errors, and gradients that must not turn into NaN.
import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import {
  add,
  bitwiseAnd,
  cast,
  clip,
  type DType,
  DTypeError,
  floorDivide,
  fmod,
  grad,
  leftShift,
  lerp,
  mod,
  mul,
  neg,
  ones,
  pow,
  rightShift,
  ShapeError,
  sub,
  type Tensor,
  tensor,
  ValueError,
  where,
} from "../mod.ts";

function values(x: Tensor): number[] {
  return Array.from(x.dataSync() as ArrayLike<number | bigint>, Number);
}

function slope(
  f: (x: Tensor) => Tensor,
  at: readonly number[],
  dtype: DType = "float32",
): number[] {
  const x = tensor(at, { dtype, requiresGrad: true });
  return values(grad([f(x).sum()], [x])[0]);
}

/** Gradient of the gradient. */
function bend(f: (x: Tensor) => Tensor, at: readonly number[], dtype: DType = "float32"): number[] {
  const x = tensor(at, { dtype, requiresGrad: true });
  const [g] = grad([f(x).sum()], [x], { createGraph: true });
  if (!g.requiresGrad) return at.map(() => 0);
  return values(grad([g.sum()], [x], { allowUnused: true })[0]);
}

/** Equal but for what a float64 cannot tell from it at size 1; infinities exactly. */
function assertNear(got: readonly number[], want: readonly number[], what: string): void {
  got.forEach((v, i) => {
    const same = v === want[i] || Math.abs(v - want[i]) < 1e-12;
    assert(same, `${what}: got ${got}, expected ${want}`);
  });
}

const FAR = [-Infinity, -1e30, -1000, -100, 100, 1000, 1e30, Infinity];
const RISES = FAR.map((x) => Number(x > 0));

Deno.test("gated activations reach their limits without NaN, to the second derivative", () => {
  const gates: [string, (x: Tensor) => Tensor][] = [
    ["gelu", (x) => x.gelu()],
    ["geluTanh", (x) => x.gelu({ approximate: true })],
    ["silu", (x) => x.silu()],
    ["mish", (x) => x.mish()],
    ["softplus", (x) => x.softplus()],
    ["hardswish", (x) => x.hardswish()],
    ["relu", (x) => x.relu()],
  ];
  for (const [name, f] of gates) {
    for (const dtype of ["float32", "float64"] as const) {
      const far = FAR.map((v) => (dtype === "float32" ? Math.fround(v) : v));
      const near = (got: number[], want: number[]) => assertNear(got, want, `${name} ${dtype}`);
      near(values(f(tensor(far, { dtype }))), far.map((v) => Math.max(v, 0)));
      near(slope(f, far, dtype), RISES);
      near(bend(f, far, dtype), FAR.map(() => 0));
    }
  }
});

Deno.test("saturating activations reach their limits without NaN, to the second derivative", () => {
  const cases: [string, (x: Tensor) => Tensor, number, number][] = [
    ["sigmoid", (x) => x.sigmoid(), 0, 1],
    ["tanh", (x) => x.tanh(), -1, 1],
    ["softsign", (x) => x.softsign(), -1, 1],
    ["erf", (x) => x.erf(), -1, 1],
    ["hardtanh", (x) => x.hardtanh(), -1, 1],
    ["hardsigmoid", (x) => x.hardsigmoid(), 0, 1],
    ["relu6", (x) => x.relu6(), 0, 6],
  ];
  const ends = [-Infinity, -1e30, 1e30, Infinity];
  for (const [name, f, low, high] of cases) {
    assertNear(values(f(tensor(ends))), [low, low, high, high], name);
    assertNear(slope(f, ends), [0, 0, 0, 0], name);
    assertNear(bend(f, ends), [0, 0, 0, 0], name);
  }
});

Deno.test("exponential units have no NaN far above zero", () => {
  const units: ((x: Tensor) => Tensor)[] = [
    (x) => x.elu({ alpha: 0.5 }),
    (x) => x.celu({ alpha: 0.5 }),
    (x) => x.selu(),
    (x) => x.leakyRelu(),
  ];
  for (const f of units) {
    assert(slope(f, [1e4, Infinity, -1e4, -Infinity]).every(Number.isFinite));
    assert(bend(f, [1e4, Infinity, -1e4, -Infinity]).every((v) => Math.abs(v) === 0));
  }
  assertEquals(
    values(tensor([-1000, -Infinity, Infinity]).logSigmoid()),
    [-1000, -Infinity, -0]
      .map((v) => v + 0),
  );
  assertEquals(slope((x) => x.logSigmoid(), [-Infinity, -1000, 1000]), [1, 1, 0]);
});

Deno.test("where gives no gradient to the side not taken, even where that is NaN", () => {
  const f = (x: Tensor) => where(x.greaterThan(0), x.log(), 0);
  assertEquals(slope(f, [-1, 0, 2]), [0, NaN, 0.5].map((v) => (Number.isNaN(v) ? NaN : v)));
  const safe = (x: Tensor) => where(x.greaterThan(0), x, x.mul(NaN));
  assertEquals(values(safe(tensor([2, 3]))), [2, 3]);
  assertEquals(values(where(tensor([1, 0]), NaN, 2)), [NaN, 2]);
});

Deno.test("where of bare numbers is the default float", () => {
  const cond = tensor([true, false]);
  assertEquals(where(cond, 1, 0).dtype, "float32");
  assertEquals(where(cond, 1n, 0n).dtype, "int64");
  assertEquals(where(cond, true, false).dtype, "bool");
  assertEquals(where(cond, tensor([1, 2], { dtype: "int8" }), 0).dtype, "int8");
});

Deno.test("in-place changes of operands that a gradient does not read are allowed", () => {
  const x = ones([3], { requiresGrad: true });
  const scaled = x.mul(2);
  const factor = tensor([1, 2, 3]);
  const y = mul(scaled, factor);
  scaled.detach().fill_(7);
  assertEquals(values(grad([y.sum()], [x])[0]), [2, 4, 6]);
});

Deno.test("remainders are exact, whatever the quotient", () => {
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: 1e-6, max: 1e6 }),
      fc.boolean(),
      fc.integer({ min: 0, max: 40 }),
      (a, b, negative, scale) => {
        const x = a * 2 ** scale;
        const y = negative ? -b : b;
        const [r] = values(fmod(tensor([x], { dtype: "float64" }), y));
        assertEquals(r, x % y);
        const m = x % y;
        const python = m !== 0 && (m < 0) !== (y < 0) ? m + y : m;
        assertEquals(values(mod(tensor([x], { dtype: "float64" }), y)), [python]);
      },
    ),
    { numRuns: 200, seed: 1 },
  );
  const f32 = (x: number) => Math.fround(x);
  fc.assert(
    fc.property(fc.float({ noNaN: true }), fc.float({ noNaN: true }), (a, b) => {
      if (Math.abs(a / b) >= 2 ** 60) return;
      const [r] = values(fmod(tensor([a]), tensor([b])));
      assertEquals(r, f32(f32(a) % f32(b)), `${a} % ${b}`);
    }),
    { numRuns: 300, seed: 1 },
  );
});

Deno.test("whole division and remainder of narrow integers", () => {
  for (const dtype of ["int8", "int16", "int32", "int64"] as const) {
    const a = tensor([7, -7, 7, -7, -128], { dtype });
    const b = tensor([3, 3, -3, -3, 5], { dtype });
    assertEquals(values(floorDivide(a, b)), [2, -3, -3, 2, -26]);
    assertEquals(values(mod(a, b)), [1, 2, -2, -1, 2]);
    assertEquals(values(fmod(a, b)), [1, -1, 1, -1, -3]);
    assertEquals(values(mod(a, 0)), [0, 0, 0, 0, 0]);
  }
  assertEquals(values(floorDivide(tensor([250], { dtype: "uint8" }), 7)), [35]);
});

Deno.test("narrow integers wrap", () => {
  const x = tensor([100, -100], { dtype: "int8" });
  assertEquals(values(add(x, x)), [-56, 56]);
  assertEquals(values(mul(x, 2)), [-56, 56]);
  assertEquals(values(neg(tensor([1], { dtype: "uint8" }))), [255]);
  assertEquals(values(pow(tensor([3, 2], { dtype: "int16" }), 11)), [
    3 ** 11 % 65536 - 65536,
    2048,
  ]);
});

Deno.test("numbers that a narrow integer dtype cannot hold are not cut to fit", () => {
  const x = tensor([-100, 44, 100], { dtype: "int8" });
  assertEquals(values(x.lessThan(200)), [1, 1, 1]);
  assertEquals(values(x.equal(300)), [0, 0, 0]);
  assertEquals(values(clip(x, -300, 300)), values(x));
  assertEquals(values(x.maximum(-1000)), values(x));
  assertEquals(values(floorDivide(x, 300)), [-1, 0, 0]);
  assertEquals([add(x, 300).dtype, values(add(x, 300))], ["int8", [-56, 88, -112]]);
  assertEquals(values(leftShift(x, 256)), [0, 0, 0]);
});

Deno.test("whole powers: small ones, all bits, inverses", () => {
  const x = tensor([3, -2, 0, 1, -1], { dtype: "int32" });
  assertEquals(values(pow(x, 0)), [1, 1, 1, 1, 1]);
  assertEquals(values(pow(x, 1)), [3, -2, 0, 1, -1]);
  assertEquals(values(pow(x, 5)), [243, -32, 0, 1, -1]);
  const e = tensor([-1, -1, -1, -1, -3], { dtype: "int32" });
  assertEquals(values(pow(x, e)), [0, 0, 0, 1, -1]);
  const big = tensor([2 ** 31 - 1], { dtype: "int32" });
  assertEquals(values(pow(tensor([-1], { dtype: "int32" }), big)), [-1]);
  assertEquals(values(pow(tensor([3n]), tensor([39n]))), [Number(3n ** 39n)]);
  assertThrows(() => pow(x, -1), ValueError, "negative powers");
  assertEquals(pow(x, 0.5).dtype, "float32");
  assertEquals(values(pow(x.cast("float32"), -2)), [Math.fround(1 / 9), 0.25, Infinity, 1, 1]);
});

Deno.test("gradients of powers at zero, to the second derivative", () => {
  assertEquals(slope((x) => pow(x, 2), [0, 3]), [0, 6]);
  assertEquals(slope((x) => pow(x, 0), [0, NaN, Infinity]), [0, 0, 0]);
  assertEquals(slope((x) => pow(x, 1), [0, 5]), [1, 1]);
  assertEquals(bend((x) => pow(x, 3), [0, 2]), [0, 12]);
  const zero = tensor([0, 0]);
  assertEquals(bend((x) => pow(x, zero), [0, 2]), [0, 0]);
  assertEquals(slope((e) => pow(tensor([0, 2]), e), [2, 0]), [0, Math.fround(Math.LN2)]);
});

Deno.test("shifts past the width", () => {
  const x = tensor([5, -5], { dtype: "int32" });
  assertEquals(values(leftShift(x, 32)), [0, 0]);
  assertEquals(values(rightShift(x, 40)), [0, -1]);
  assertEquals(values(leftShift(x, -1)), [0, 0]);
  assertEquals(values(rightShift(tensor([-9], { dtype: "int8" }), 1)), [-5]);
  assertEquals(values(leftShift(tensor([129], { dtype: "uint8" }), 1)), [2]);
  assertEquals(values(rightShift(tensor([-(2n ** 40n)]), 63)), [-1]);
});

Deno.test("cast to narrow dtypes saturates from floats and wraps from integers", () => {
  const x = tensor([300, -300, NaN, 1.9, -1.9]);
  assertEquals(values(cast(x, "int8")), [127, -128, 0, 1, -1]);
  assertEquals(values(cast(x, "uint8")), [255, 0, 0, 1, 0]);
  assertEquals(values(cast(tensor([1e6], {}), "int16")), [32767]);
  assertEquals(values(cast(tensor([300, -129], { dtype: "int32" }), "int8")), [44, 127]);
  assertEquals(values(cast(tensor([2n ** 40n + 1n]), "int32")), [1]);
  const same = tensor([1]);
  assert(cast(same, "float32") === same);
  assertThrows(() => cast(same, "int7" as DType), DTypeError, "one of");
});

Deno.test("clip: tensors as bounds, their gradients, crossing bounds, NaN", () => {
  const x = tensor([-2, 0, 2], { requiresGrad: true });
  const low = tensor([-1, -1, -1], { requiresGrad: true });
  const high = tensor([1, 1, -3], { requiresGrad: true });
  const y = clip(x, low, high);
  assertEquals(values(y), [-1, 0, -3]);
  const [dx, dl, dh] = grad([y.sum()], [x, low, high]);
  assertEquals([values(dx), values(dl), values(dh)], [[0, 1, 0], [1, 0, 0], [0, 0, 1]]);
  assertEquals(slope((v) => clip(v, -1, 1), [NaN, -1, 1]), [0, 1, 1]);
  assertEquals(clip(tensor([5], { dtype: "int32" }), 0.5).dtype, "float32");
  assert(clip(x) === x);
});

Deno.test("lerp is exact at both ends", () => {
  const a = tensor([0.1, 1e8, -3]);
  const b = tensor([0.7, 1, 5]);
  assertEquals(values(lerp(a, b, 0)), values(a));
  assertEquals(values(lerp(a, b, 1)), values(b));
});

Deno.test("arithmetic that truth values do not have is refused, the rest is logic", () => {
  const t = tensor([true, false]);
  assertThrows(() => neg(t), DTypeError, "logicalNot");
  assertThrows(() => sub(t, t), DTypeError, "logicalXor");
  assertEquals(add(t, true).dtype, "bool");
  assertEquals(values(add(t, true)), [1, 1]);
  assertEquals(mul(t, tensor([2, 3])).dtype, "float32");
  assertThrows(() => bitwiseAnd(tensor([1.5]), 1), DTypeError, "integers or bool");
  assertThrows(() => leftShift(t, t), DTypeError, "bits to shift");
});

Deno.test("shapes that do not broadcast are refused by name", () => {
  const bad = () => add(ones([2, 3]), ones([2]));
  assertThrows(bad, ShapeError, "Cannot add [2, 3] with [2]");
});

Deno.test("numbers are weak in every float dtype", () => {
  for (const dtype of ["float16", "bfloat16", "float32", "float64"] as const) {
    const x = tensor([1, 2], { dtype });
    for (
      const y of [add(x, 0.1), mul(2, x), pow(x, 1.5), x.leakyRelu(), x.clip(0, 1), x.mod(0.7)]
    ) {
      assertEquals(y.dtype, dtype);
    }
  }
  assertEquals(values(add(tensor([0], { dtype: "float64" }), 0.1)), [0.1]);
});
