// The routines of the embedded place against the reference place: products and convolutions of many shapes, strides
// and batches, alone and with a fused tail.
import { assertEquals } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { nn, noGrad, type Tensor, tensor } from "../../../mod.ts";
import { composite, engine, type Operand } from "../../../core/op.ts";
import { runEpilogue } from "./epilogue.ts";

const F = nn.functional;

function filled(
  shape: readonly number[],
  place: string,
  seed: number,
  dtype: "float32" | "float64" | "int32" = "float64",
): Tensor {
  let s = seed;
  const n = shape.reduce((a, b) => a * b, 1);
  const values = Float64Array.from({ length: n }, () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return Math.round((s / 2 ** 32 - 0.5) * 64) / 8;
  });
  return tensor(values, { dtype, place }).reshape([...shape]);
}

/** Small eighths multiply and add without rounding, so both places must agree exactly. */
function same(make: (place: string) => Tensor): void {
  const [cpu, ref] = ["cpu", "ref"].map((place) => noGrad(() => make(place)));
  assertEquals(cpu.shape, ref.shape);
  assertEquals(cpu.dataSync(), ref.dataSync());
}

const size = fc.constantFrom(1, 2, 3, 5, 8, 17, 33);
const batch = fc.constantFrom<readonly (readonly number[])[]>(
  [[], []],
  [[3], [3]],
  [[3], []],
  [[], [3]],
  [[2, 3], [3]],
  [[2, 1], [1, 3]],
  [[2, 3], [2, 1]],
  [[0], [0]],
);

Deno.test("products of any shape, stride and batch", () => {
  fc.assert(
    fc.property(
      size,
      size,
      size,
      batch,
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom("float32", "float64", "int32"),
      (m, n, k, [ba, bb], ta, tb, dtype) => {
        same((place) => {
          const a = ta
            ? filled([...ba, k, m], place, 1, dtype).transpose(-1, -2)
            : filled([...ba, m, k], place, 1, dtype);
          const b = tb
            ? filled([...bb, n, k], place, 2, dtype).transpose(-1, -2)
            : filled([...bb, k, n], place, 2, dtype);
          return a.matmul(b);
        });
      },
    ),
    { numRuns: 80, seed: 5 },
  );
});

Deno.test("products of permuted batches and stepped rows", () => {
  same((place) =>
    filled([3, 4, 2, 5], place, 1).permute([2, 0, 1, 3]).matmul(filled([2, 3, 5, 4], place, 2))
  );
  same((place) =>
    filled([8, 6], place, 1).slice({ axes: [0], starts: [0], ends: [8], steps: [2] }).matmul(
      filled([6, 3], place, 2),
    )
  );
  same((place) => filled([4, 6], place, 1).flip(1).matmul(filled([6, 3], place, 2).flip(0)));
});

const linear = composite({
  name: "testLinear",
  body: ([x, w, b]: readonly Operand[]) => (x as Tensor).matmul(w as Tensor).add(b).relu(),
});

Deno.test("a fused tail of a product sees every element once", () => {
  for (
    const [xs, ws, bs] of [
      [[5, 7], [7, 3], [3]],
      [[200, 70], [70, 130], [130]],
      [[2, 3, 5, 7], [7, 3], [5, 3]],
      [[2, 3, 5, 7], [2, 1, 7, 3], [3, 1, 3]],
      [[6, 1, 7], [6, 7, 3], [6, 1, 1]],
      [[1, 7], [7, 1], [1]],
    ]
  ) {
    same((place) =>
      engine.call(linear, [filled(xs, place, 1), filled(ws, place, 2), filled(bs, place, 3)])
    );
  }
});

const convolve = composite({
  name: "testConvolve",
  body: ([x, w, b]: readonly Operand[]) =>
    F.conv2d(x as Tensor, w as Tensor, undefined, { padding: 1 }).add(b).relu(),
});

Deno.test("a fused tail of a convolution sees every element once", () => {
  for (
    const [xs, ws, bs] of [
      [[2, 3, 6, 5], [4, 3, 3, 3], [4, 1, 1]],
      [[7, 1, 28, 28], [8, 1, 5, 5], [8, 1, 1]],
      [[3, 4, 5, 5], [2, 4, 1, 1], [3, 2, 1, 1]],
      [[3, 4, 5, 5], [2, 4, 3, 3], [1, 2, 5, 5]],
    ]
  ) {
    same((place) =>
      engine.call(convolve, [filled(xs, place, 1), filled(ws, place, 2), filled(bs, place, 3)])
    );
  }
});

Deno.test("convolutions and their gradients", () => {
  fc.assert(
    fc.property(
      fc.record({
        n: fc.constantFrom(0, 1, 3),
        groups: fc.constantFrom(1, 2),
        c: fc.constantFrom(1, 2, 5),
        o: fc.constantFrom(1, 3, 4),
        h: fc.integer({ min: 3, max: 9 }),
        w: fc.integer({ min: 3, max: 9 }),
        kernel: fc.constantFrom<[number, number]>([1, 1], [3, 3], [2, 3], [3, 1]),
        stride: fc.constantFrom(1, 2, 3),
        pad: fc.constantFrom<[[number, number], [number, number]]>([[0, 0], [0, 0]], [[1, 1], [
          1,
          1,
        ]], [[1, 2], [0, 1]]),
        dilation: fc.constantFrom(1, 2),
      }),
      (p) => {
        const reach = (k: number) => (k - 1) * p.dilation + 1;
        fc.pre(
          p.h + p.pad[0][0] + p.pad[0][1] >= reach(p.kernel[0]) &&
            p.w + p.pad[1][0] + p.pad[1][1] >= reach(p.kernel[1]),
        );
        const options = {
          stride: p.stride,
          padding: p.pad,
          dilation: p.dilation,
          groups: p.groups,
        };
        const run = (place: string) => {
          const x = filled([p.n, p.c * p.groups, p.h, p.w], place, 1).detach();
          const w = filled([p.o * p.groups, p.c, ...p.kernel], place, 2).detach();
          for (const t of [x, w]) t.impl.requiresGrad = true;
          const y = F.conv2d(x, w, undefined, options);
          y.backward(filled(y.shape, place, 3));
          return [y.detach(), x.grad!, w.grad!].map((t) => t.dataSync());
        };
        assertEquals(run("cpu"), run("ref"));
      },
    ),
    { numRuns: 60, seed: 6 },
  );
});

Deno.test("an epilogue is launched on exactly the finished part", () => {
  const seen: number[] = [];
  const compiled = {
    run: (launch: { sizes: readonly number[]; offsets: readonly number[] }) => {
      const [a, b, c] = launch.sizes;
      for (let i = 0; i < a; i++) {
        for (let j = 0; j < b; j++) {
          for (let l = 0; l < c; l++) seen.push(launch.offsets[0] + i * 12 + j * 4 + l);
        }
      }
    },
  };
  const launch = { sizes: [2, 3, 4], strides: [[12, 4, 1]], offsets: [0], args: [] };
  const epilogue = { compiled, launch, buffers: [0] };
  for (const [start, count] of [[0, 2], [2, 3], [5, 1]]) runEpilogue(epilogue, 2, start, count);
  assertEquals(seen, Array.from({ length: 24 }, (_, i) => i));
});

Deno.test("largest-element pooling, its places and its gradients", () => {
  fc.assert(
    fc.property(
      fc.record({
        n: fc.constantFrom(0, 1, 3),
        h: fc.integer({ min: 3, max: 9 }),
        w: fc.integer({ min: 3, max: 9 }),
        kernel: fc.constantFrom<[number, number]>([1, 1], [2, 2], [3, 3], [2, 3]),
        stride: fc.constantFrom(1, 2, 3),
        padding: fc.constantFrom(0, 1),
        ceilMode: fc.boolean(),
        special: fc.constantFrom(NaN, -Infinity, Infinity, 0),
        dtype: fc.constantFrom("float32", "float64"),
      }),
      (p) => {
        fc.pre(p.kernel.every((k) => p.padding * 2 <= k));
        const run = (place: string) => {
          const x = filled([p.n, 2, p.h, p.w], place, 1, p.dtype as "float32");
          // Ties are many already (values are eighths); one row is special.
          const y = noGrad(() => x.mul(x.greaterThan(-3.5).cast(p.dtype as "float32")).add(0));
          if (p.n > 0) noGrad(() => y.setAt([0, 0, 1], p.special));
          y.requiresGrad = true;
          const [out, mask] = F.maxPool2d(y, p.kernel, {
            stride: p.stride,
            padding: p.padding,
            ceilMode: p.ceilMode,
            returnMask: true,
          });
          out.backward(filled(out.shape, place, 3, p.dtype as "float32"));
          return [out.detach(), mask, y.grad!].map((t) => t.dataSync());
        };
        assertEquals(run("cpu"), run("ref"));
      },
    ),
    { numRuns: 60, seed: 7 },
  );
});
