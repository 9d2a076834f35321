import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { backendOf } from "../backends/registry.ts";
import { setRequiresGrad } from "../core/autograd.ts";
import { Tracer, withTracer } from "../core/engine/trace.ts";
import { DTypeError, ShapeError } from "../core/errors.ts";
import { composite, engine } from "../core/op.ts";
import { Place } from "../core/place.ts";
import { addmm, bmm, dot, grad, matmul, mm, nn, type Tensor, tensor, zeros } from "../mod.ts";
import { assertGrid, at, type Grid, grid, noise, toTensor } from "../tests/grid.ts";

/** The product by its definition, for operands of rank 2 or more. */
function naive(a: Grid, b: Grid): Grid {
  const [x, y] = [a.shape, b.shape];
  const rank = Math.max(x.length, y.length);
  const size = (s: readonly number[], i: number) => s[s.length - rank + i] ?? 1;
  const batch = Array.from({ length: rank - 2 }, (_, i) => Math.max(size(x, i), size(y, i)));
  const depth = x[x.length - 1];
  return grid([...batch, x[x.length - 2], y[y.length - 1]], (coords) => {
    const [row, column] = coords.slice(-2);
    const lead = coords.slice(0, -2);
    let sum = 0;
    for (let k = 0; k < depth; k++) sum += at(a, [...lead, row, k]) * at(b, [...lead, k, column]);
    return sum;
  });
}

Deno.test("matmul: any sizes, batches and layouts, as the definition says", () => {
  const size = fc.integer({ min: 1, max: 9 });
  const batches = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.boolean(), fc.boolean()), {
    maxLength: 2,
  });
  fc.assert(
    fc.property(size, size, size, batches, fc.boolean(), fc.boolean(), (m, k, n, lead, tx, ty) => {
      const left = lead.map(([s, one]) => (one ? 1 : s));
      const right = lead.map(([s, , one]) => (one ? 1 : s));
      // matmul's `at` treats size 1 as stretched, so a size of 1 on both sides is fine.
      const a = noise([...left, m, k], 3);
      const b = noise([...right, k, n], 5);
      // Transposed views, transposed back by the call.
      const x = tx ? toTensor(a).transpose(-2, -1) : toTensor(a);
      const y = ty ? toTensor(b).transpose(-2, -1) : toTensor(b);
      const out = matmul(x, y, { transposeX: tx, transposeY: ty });
      assertGrid(out, naive(a, b));
    }),
    { numRuns: 60, seed: 1 },
  );
});

Deno.test("matmul: integers are exact and wrap, int64 beyond 2^53", async () => {
  const a = tensor([[65536, 3]], { dtype: "int32" });
  const b = tensor([[65536], [5]], { dtype: "int32" });
  assertEquals(await matmul(a, b).toArray(), [[15]]);
  const big = tensor([[9007199254740993n]]);
  assertEquals(await matmul(big, tensor([[3n]])).data(), BigInt64Array.of(27021597764222979n));
});

Deno.test("matmul: bfloat16 sums are not rounded before the end", async () => {
  const a = tensor([new Array(512).fill(1)]).cast("bfloat16");
  const b = a.transpose(0, 1);
  assertEquals(await matmul(a, b).toArray(), [[512]]);
});

Deno.test("matmul: mixed dtypes promote", () => {
  const a = tensor([[1, 2]]);
  const b = tensor([[3], [4]], { dtype: "int32" });
  assertEquals(matmul(a, b).dtype, "float32");
  assertEquals(matmul(a.cast("float64"), b).dtype, "float64");
});

/** Names of the ops that gradients of `f` run, views aside. */
function gradientOps(f: (...xs: Tensor[]) => Tensor, ...shapes: number[][]): string[] {
  const tracer = new Tracer("test", backendOf(Place.of("cpu")));
  return withTracer(tracer, () => {
    const xs = shapes.map((shape) => {
      const x = tracer.tensor(tracer.graph.input(shape, "float32"));
      setRequiresGrad(x, true);
      return x;
    });
    const out = f(...xs);
    const seed = tracer.tensor(tracer.graph.input(out.shape, "float32"));
    const before = tracer.graph.nodes.length;
    grad([out], xs, { gradOutputs: [seed] });
    const nodes = tracer.graph.nodes.slice(before).filter((n) => n.op.kind !== "view");
    return nodes.map((n) => n.op.name);
  });
}

Deno.test("the gradients of contractions are contractions", () => {
  const multiply = (a: Tensor, b: Tensor) => matmul(a, b);
  assertEquals(gradientOps(multiply, [4, 3], [3, 5]), ["matmul", "matmul"]);
  assertEquals(gradientOps(multiply, [2, 4, 3], [3, 5]), ["matmul", "matmul"]);
  assertEquals(gradientOps(bmm, [2, 4, 3], [2, 3, 5]), ["matmul", "matmul"]);
  const conv = (x: Tensor, w: Tensor) => nn.functional.conv2d(x, w, undefined, { padding: 1 });
  assertEquals(gradientOps(conv, [2, 3, 5, 5], [4, 3, 3, 3]).sort(), [
    "conv2dInputGrad",
    "conv2dWeightGrad",
  ]);
});

Deno.test("matmul: a fused tail that depends on where it is", () => {
  const masked = composite({
    name: "maskedProduct",
    body: ([a, b]) => matmul(a as Tensor, b as Tensor).tril(),
  });
  // Large enough for the product to be finished part by part.
  const [a, b] = [noise([300, 5], 1), noise([5, 200], 2)];
  const expected = naive(a, b);
  const lower = grid(expected.shape, ([i, j], at) => (j <= i ? expected.values[at] : 0));
  assertGrid(engine.call(masked, [toTensor(a), toTensor(b)]), lower);
});

Deno.test("matmul: what goes wrong is said", () => {
  assertThrows(
    () => matmul(zeros([32, 784]), zeros([512, 10])),
    ShapeError,
    "Cannot matmul [32, 784] with [512, 10]: inner sizes must match: got 784 and 512",
  );
  assertThrows(
    () => matmul(zeros([2, 3]), zeros([4, 5]), { transposeY: true }),
    ShapeError,
    "Cannot matmul [2, 3] with transposed [4, 5]: inner sizes must match: got 3 and 5",
  );
  assertThrows(
    () => matmul(zeros([2, 4, 3]), zeros([5, 3, 4])),
    ShapeError,
    "Cannot matmul [2, 4, 3] with [5, 3, 4]: batch sizes must be equal or 1: got [2] and [5]",
  );
  assertThrows(
    () => matmul(zeros([]), zeros([3])),
    ShapeError,
    "Cannot matmul [] with [3]: both need at least one axis; use mul for scalars",
  );
  const truth = zeros([2, 2], { dtype: "bool" });
  assertThrows(
    () => matmul(truth, truth),
    DTypeError,
    "Cannot matmul bool with bool: truth values do not add up",
  );
});

Deno.test("mm, bmm, dot, addmm: what goes wrong is said", () => {
  assertThrows(
    () => mm(zeros([3]), zeros([3, 2])),
    ShapeError,
    "Cannot mm [3] with [3, 2]: both must be matrices: got ranks 1 and 2; use matmul",
  );
  assertThrows(
    () => bmm(zeros([2, 3, 4]), zeros([1, 4, 2])),
    ShapeError,
    "Cannot bmm [2, 3, 4] with [1, 4, 2]: batch sizes must match: got 2 and 1",
  );
  assertThrows(
    () => dot(zeros([3]), zeros([4])),
    ShapeError,
    "Cannot dot [3] with [4]: inner sizes must match: got 3 and 4",
  );
  assertThrows(
    () => addmm(zeros([3]), zeros([2, 3]), zeros([3, 4])),
    ShapeError,
    "Cannot addmm [3] to a product of shape [2, 4]",
  );
});

Deno.test("linear: what goes wrong is said", () => {
  const { linear } = nn.functional;
  assertThrows(
    () => linear(zeros([8, 3]), zeros([4, 3])),
    ShapeError,
    "Cannot linear [8, 3] with weight [4, 3]: inner sizes must match: got 3 and 4",
  );
  assertThrows(
    () => linear(zeros([8, 3]), zeros([3])),
    ShapeError,
    "the weight must be a matrix [in, out]: got rank 1",
  );
  assertThrows(
    () => linear(zeros([8, 3]), zeros([3, 4]), zeros([3])),
    ShapeError,
    "Cannot linear with weight [3, 4] and bias [3]: the bias must have one element for each column " +
      "of the weight: expected [4]",
  );
});
