// Convolution and its gradients against naive loops in float64, over strides, paddings, dilations,
// groups and sizes, empty ones included.

import { assert, assertEquals } from "jsr:@std/assert@1";
import * as fc from "npm:fast-check@4";
import { wasmFeatures } from "../asm/mod.ts";
import { type Conv, convOutputSize, type ConvPass, type ConvShape, createConv } from "./mod.ts";

const features = wasmFeatures();
const PAGES = 96;
/** Bytes after the scratch memory that must stay as they are. */
const GUARD = 256;

interface Bench {
  memory: WebAssembly.Memory;
  conv: Conv;
}

function bench(kind: "plain" | "shared" | "wide", relaxed: boolean): Bench {
  const descriptor = {
    plain: { initial: PAGES },
    shared: { initial: PAGES, maximum: PAGES, shared: true },
    wide: { initial: BigInt(PAGES), address: "i64" },
  }[kind];
  // deno-lint-ignore no-explicit-any -- the 64-bit descriptor is not in the type library yet
  const memory = new WebAssembly.Memory(descriptor as any);
  return { memory, conv: createConv({ memory, ptr: kind === "wide" ? "i64" : "i32", relaxed }) };
}

const plain = bench("plain", features.relaxedSimd);

const DEFAULTS: ConvShape = {
  dtype: "float32",
  ...{ n: 2, c: 3, h: 7, w: 9, oc: 4, kh: 3, kw: 3, strideH: 1, strideW: 1 },
  ...{ padTop: 0, padLeft: 0, padBottom: 0, padRight: 0, dilationH: 1, dilationW: 1, groups: 1 },
};

let state = 1;
function random(): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 31 - 1;
}

/** Calls `visit` for every product of a convolution, with flat indexes into y, x and the filters. */
function visitProducts(
  s: ConvShape,
  visit: (y: number, x: number, weight: number) => void,
): void {
  const [oh, ow] = convOutputSize(s);
  const [cg, og] = [s.c / s.groups, s.oc / s.groups];
  for (let n = 0; n < s.n; n++) {
    for (let o = 0; o < s.oc; o++) {
      const group = Math.floor(o / og);
      for (let c = 0; c < cg; c++) {
        for (let ky = 0; ky < s.kh; ky++) {
          for (let kx = 0; kx < s.kw; kx++) {
            for (let oy = 0; oy < oh; oy++) {
              const iy = oy * s.strideH - s.padTop + ky * s.dilationH;
              if (iy < 0 || iy >= s.h) continue;
              for (let ox = 0; ox < ow; ox++) {
                const ix = ox * s.strideW - s.padLeft + kx * s.dilationW;
                if (ix < 0 || ix >= s.w) continue;
                visit(
                  ((n * s.oc + o) * oh + oy) * ow + ox,
                  ((n * s.c + group * cg + c) * s.h + iy) * s.w + ix,
                  ((o * cg + c) * s.kh + ky) * s.kw + kx,
                );
              }
            }
          }
        }
      }
    }
  }
}

interface Layout {
  view: Float32Array | Float64Array;
  sizes: Record<ConvPass, number>;
  at: { x: number; weight: number; y: number; result: number };
  size: number;
  scratch: number;
}

/** Places random x, weight and y (as gradient), and room for a result, in memory. */
function place(where: Bench, s: ConvShape, fill: () => number): Layout {
  const [oh, ow] = convOutputSize(s);
  const size = s.dtype === "float32" ? 4 : 8;
  const x = s.n * s.c * s.h * s.w;
  const weight = s.oc * (s.c / s.groups) * s.kh * s.kw;
  const y = s.n * s.oc * oh * ow;
  const first = 16;
  const at = { x: first, weight: first + x + 1, y: first + x + weight + 2, result: 0 };
  at.result = at.y + y + 3;
  const result = Math.max(x, weight, y) + 5;
  const buffer = where.memory.buffer as ArrayBuffer;
  const view = new (s.dtype === "float32" ? Float32Array : Float64Array)(buffer);
  for (let i = 0; i < at.result; i++) view[i] = fill();
  view.fill(0.5, at.result, at.result + result);
  return {
    view,
    at,
    size,
    sizes: { forward: y, backwardInput: x, backwardWeight: weight },
    scratch: Math.ceil((at.result + result) * size / 16) * 16,
  };
}

/** Runs a pass and gives its result; checks that nothing else was written and what was reported. */
function run(
  where: Bench,
  pass: ConvPass,
  s: ConvShape,
  { view, at, size, sizes, scratch }: Layout,
  images: [number, number] = [0, s.n],
): Float32Array | Float64Array {
  const buffer = where.memory.buffer as ArrayBuffer;
  const bytes = where.conv.scratchBytes(pass, s);
  assert(scratch + bytes + GUARD <= buffer.byteLength, "the case fits the test's memory");
  new Uint8Array(buffer, scratch, bytes + GUARD).fill(0xff);
  const operands = buffer.slice(0, at.result * size);
  const count = sizes[pass];
  view.fill(0.5, at.result, at.result + count + 5);
  const [x, weight, y, result] = [at.x, at.weight, at.y, at.result].map((index) => index * size);
  const reported = new Map<number, number>();
  const onRows = (start: number, planes: number) => {
    assert(planes > 0);
    for (let p = start; p < start + planes; p++) reported.set(p, (reported.get(p) ?? 0) + 1);
  };
  if (pass === "forward") {
    where.conv.forward({ ...s, x, weight, y: result, scratch, images, onRows });
  } else if (pass === "backwardInput") {
    where.conv.backwardInput({ ...s, dy: y, weight, dx: result, scratch, images, onRows });
  } else {
    where.conv.backwardWeight({ ...s, x, dy: y, dweight: result, scratch });
  }
  const label = JSON.stringify(s);
  const now = new Uint8Array(buffer, 0, at.result * size);
  assert(new Uint8Array(operands).every((byte, i) => byte === now[i]), `operands: ${label}`);
  const guard = new Uint8Array(buffer, scratch + bytes, GUARD);
  assert(guard.every((byte) => byte === 0xff), `past the scratch memory: ${label}`);
  for (let i = 0; i < 5; i++) assertEquals(view[at.result + count + i], 0.5, `past: ${label}`);
  if (pass !== "backwardWeight" && count > 0) {
    const planes = pass === "forward" ? s.oc : s.c;
    const want = Array.from(
      { length: (images[1] - images[0]) * planes },
      (_, i) => images[0] * planes + i,
    );
    assertEquals([...reported.keys()].sort((p, q) => p - q), want, `reported: ${label}`);
    assert([...reported.values()].every((times) => times === 1), `reported once: ${label}`);
  }
  return view.slice(at.result, at.result + count);
}

function check(where: Bench, part: Partial<ConvShape>, seed = 1): void {
  const s = { ...DEFAULTS, ...part };
  state = seed;
  const layout = place(where, s, random);
  const { view, at, sizes } = layout;
  const unit = s.dtype === "float32" ? 2 ** -24 : 2 ** -53;
  for (const pass of ["forward", "backwardInput", "backwardWeight"] as const) {
    const want = new Float64Array(sizes[pass]);
    const scale = new Float64Array(sizes[pass]);
    const terms = new Uint32Array(sizes[pass]);
    visitProducts(s, (y, x, weight) => {
      const [to, p, q] = {
        forward: [y, view[at.x + x], view[at.weight + weight]],
        backwardInput: [x, view[at.y + y], view[at.weight + weight]],
        backwardWeight: [weight, view[at.x + x], view[at.y + y]],
      }[pass];
      want[to] += p * q;
      scale[to] += Math.abs(p * q);
      terms[to]++;
    });
    const got = run(where, pass, s, layout);
    for (let i = 0; i < want.length; i++) {
      // Rounding errors of any order of summation stay below terms · unit · scale; they do not add
      // up that badly, so a bound of √terms shows a lost or doubled product.
      const bound = unit * scale[i] * (3 + Math.sqrt(terms[i]));
      assert(
        Math.abs(got[i] - want[i]) <= bound,
        `${pass} ${JSON.stringify(s)} at ${i}: ${got[i]} is not ${want[i]} ± ${bound}`,
      );
    }
  }
}

Deno.test("output sizes", () => {
  const size = (part: Partial<ConvShape>) => convOutputSize({ ...DEFAULTS, ...part });
  assertEquals(size({}), [5, 7]);
  assertEquals(size({ padTop: 1, padRight: 2 }), [6, 9]);
  assertEquals(size({ strideH: 2, strideW: 3 }), [3, 3]);
  assertEquals(size({ dilationH: 3, dilationW: 4 }), [1, 1]);
  assertEquals(size({ dilationH: 4 }), [0, 7]);
  assertEquals(size({ kh: 9 }), [0, 7]);
});

Deno.test("every line length around whole panels", () => {
  for (let w = 1; w <= 27; w++) {
    for (const padLeft of [0, 1]) check(plain, { w, kw: 1, kh: 2, n: 1, padLeft });
    check(plain, { w: w + 2, n: 1, c: 2, h: 4, dtype: "float64" });
  }
});

Deno.test("every count of channels around whole tiles", () => {
  for (let oc = 1; oc <= 14; oc++) check(plain, { oc, c: 1 + oc % 5, padTop: 1, padLeft: 1 });
});

Deno.test("strides, paddings and dilations, each alone and together", () => {
  for (const strideH of [1, 2, 3]) {
    for (const strideW of [1, 2, 3]) {
      for (
        const [padTop, padLeft, padBottom, padRight] of [[0, 0, 0, 0], [1, 2, 0, 1], [3, 0, 3, 4]]
      ) {
        for (const [dilationH, dilationW] of [[1, 1], [2, 1], [1, 3]]) {
          check(plain, {
            ...{ h: 8, w: 13, n: 1, c: 2, oc: 3, strideH, strideW, dilationH, dilationW },
            ...{ padTop, padLeft, padBottom, padRight },
          });
        }
      }
    }
  }
  check(plain, { strideH: 5, strideW: 5, kh: 2, kw: 2 });
  check(plain, { strideH: 9, strideW: 11, kh: 1, kw: 1 });
  check(plain, { padTop: 9, padLeft: 11, padBottom: 9, padRight: 11, h: 2, w: 2 });
});

Deno.test("groups and depthwise", () => {
  for (const groups of [1, 2, 3, 6]) check(plain, { groups, c: 6, oc: 12, padTop: 1, strideW: 2 });
  check(plain, { groups: 8, c: 8, oc: 8, padTop: 1, padLeft: 1, padBottom: 1, padRight: 1, w: 17 });
  check(plain, { groups: 4, c: 4, oc: 8, kh: 1, kw: 1 });
  check(plain, { groups: 4, c: 8, oc: 4, kh: 1, kw: 1, dtype: "float64" });
});

Deno.test("1×1 filters, filters as large as the image, images one pixel wide", () => {
  check(plain, { kh: 1, kw: 1, c: 7, oc: 9 });
  check(plain, { kh: 1, kw: 1, strideH: 2, strideW: 2 });
  check(plain, { kh: 1, kw: 1, padTop: 1, padRight: 2 });
  check(plain, { kh: 7, kw: 9, n: 5, oc: 10 });
  check(plain, { kh: 1, kw: 9, h: 1, strideH: 3, n: 3 });
  check(plain, { kh: 5, kw: 1, w: 1, h: 40, padTop: 2, padBottom: 1, strideH: 2 });
  check(plain, { kh: 5, kw: 1, w: 1, h: 40, dilationH: 3, groups: 3, oc: 3 });
  check(plain, { kh: 3, kw: 1, w: 1, h: 9, padLeft: 1, padRight: 1 });
});

Deno.test("shapes that need several blocks of channels, lines and images", () => {
  check(plain, { n: 1, c: 70, h: 9, w: 11, oc: 7, padTop: 1, padLeft: 1 });
  check(plain, { n: 1, c: 3, h: 150, w: 160, oc: 2, padTop: 1, padLeft: 1, padBottom: 1 });
  check(plain, { n: 1, c: 40, h: 40, w: 44, oc: 3, padLeft: 1, strideH: 2, strideW: 2 });
  check(plain, { n: 37, c: 2, h: 6, w: 6, oc: 5 });
  check(plain, { n: 2, c: 16, h: 16, w: 16, oc: 4 });
  check(plain, { n: 1, c: 10, h: 25, w: 25, oc: 13, kh: 11, kw: 9, padTop: 5, padLeft: 4 });
});

Deno.test("small networks' layers, both element types, with and without fused multiply-add", () => {
  const benches = [bench("plain", false), ...(features.relaxedSimd ? [plain] : [])];
  for (const where of benches) {
    for (const dtype of ["float32", "float64"] as const) {
      check(where, { dtype, n: 3, c: 1, h: 28, w: 28, oc: 8, kh: 5, kw: 5 });
      check(where, { dtype, n: 3, c: 8, h: 12, w: 12, oc: 16, kh: 5, kw: 5 });
      check(where, { dtype, n: 2, c: 8, h: 14, w: 14, oc: 16 });
    }
  }
});

Deno.test("empty batches, channels and outputs give empty results or zeros", () => {
  const empty: Partial<ConvShape>[] = [
    { n: 0 },
    { c: 0 },
    { oc: 0 },
    { h: 0 },
    { w: 0 },
    { kh: 9, n: 1 },
    { h: 0, padTop: 2, padBottom: 2 },
    { h: 2, w: 2 },
  ];
  for (const part of empty) check(plain, part);
});

Deno.test("random convolutions", () => {
  const small = (max: number) => fc.integer({ min: 1, max });
  const pad = fc.integer({ min: 0, max: 4 });
  fc.assert(
    fc.property(
      fc.record({
        ...{ n: fc.integer({ min: 0, max: 3 }), h: small(12), w: small(20), kh: small(4) },
        ...{ kw: small(4), strideH: small(3), strideW: small(3), dilationH: small(3) },
        ...{ dilationW: small(3), padTop: pad, padLeft: pad, padBottom: pad, padRight: pad },
        groups: small(3),
        dtype: fc.constantFrom("float32" as const, "float64" as const),
      }),
      small(5),
      small(7),
      fc.nat(),
      (shape, inputs, outputs, seed) => {
        const { groups } = shape;
        check(plain, { ...shape, c: inputs * groups, oc: outputs * groups }, seed);
      },
    ),
    { numRuns: 200, seed: 1 },
  );
});

Deno.test("images computed in parts are bit for bit those computed at once", () => {
  const shapes: Partial<ConvShape>[] = [
    { n: 5, padTop: 1, strideW: 2 },
    { n: 5, kh: 1, kw: 1 },
    { n: 5, kh: 7, kw: 9 },
  ];
  for (const part of shapes) {
    const s = { ...DEFAULTS, ...part };
    const layout = place(plain, s, random);
    for (const pass of ["forward", "backwardInput"] as const) {
      const whole = run(plain, pass, s, layout);
      const image = whole.length / s.n;
      const head = run(plain, pass, s, layout, [0, 2]);
      const tail = run(plain, pass, s, layout, [2, 5]);
      assertEquals(head.slice(0, 2 * image), whole.slice(0, 2 * image));
      assertEquals(tail.slice(2 * image), whole.slice(2 * image));
      assert(head.slice(2 * image).every((value) => value === 0.5), "the rest is not touched");
      assert(tail.slice(0, 2 * image).every((value) => value === 0.5), "the rest is not touched");
    }
  }
});

Deno.test("NaN and infinities stay where they belong", () => {
  for (const part of [{}, { padLeft: 1, padTop: 1 }, { w: 11, strideW: 2 }, { w: 4 }, { w: 5 }]) {
    const s = { ...DEFAULTS, ...part, n: 2, h: 5, c: 2 };
    const [oh, ow] = convOutputSize(s);
    for (const bad of [NaN, Infinity]) {
      const layout = place(plain, s, () => 1);
      const { view, at } = layout;
      // The last pixel of image 0 and the first of image 1's second channel.
      const spots = [s.c * s.h * s.w - 1, s.c * s.h * s.w + s.h * s.w];
      for (const spot of spots) view[at.x + spot] = bad;
      const reached = new Set<number>();
      visitProducts(s, (y, x) => spots.includes(x) && reached.add(y));
      run(plain, "forward", s, layout).forEach((value, i) => {
        assertEquals(value === bad || Object.is(value, bad), reached.has(i), `y at ${i}`);
      });
      const taps = new Set<number>();
      visitProducts(s, (_, x, weight) => spots.includes(x) && taps.add(weight));
      run(plain, "backwardWeight", s, layout).forEach((value, i) => {
        assertEquals(value === bad || Object.is(value, bad), taps.has(i), `dweight at ${i}`);
      });
      for (const spot of spots) view[at.x + spot] = 1;
      const spot = s.oc * oh * ow - 1;
      view[at.y + spot] = bad;
      const inputs = new Set<number>();
      visitProducts(s, (y, x) => y === spot && inputs.add(x));
      run(plain, "backwardInput", s, layout).forEach((value, i) => {
        assertEquals(value === bad || Object.is(value, bad), inputs.has(i), `dx at ${i}`);
      });
    }
  }
});

Deno.test("operands and scratch memory at the very end of the memory: nothing is read past it", () => {
  const parts = [{ w: 11 }, { w: 4 }, { w: 12, kw: 5 }, { kh: 1, kw: 1 }, { h: 1, kh: 1 }];
  for (const part of [...parts, { w: 1, padLeft: 1, padRight: 1 }, { n: 1, h: 2, padTop: 1 }]) {
    const s = { ...DEFAULTS, ...part };
    const [oh, ow] = convOutputSize(s);
    const x = s.n * s.c * s.h * s.w;
    const weight = s.oc * s.c * s.kh * s.kw;
    const y = s.n * s.oc * oh * ow;
    const end = plain.memory.buffer.byteLength;
    const view = new Float32Array(plain.memory.buffer);
    view.fill(1);
    const scratch = 1 << 20;
    plain.conv.forward({ ...s, x: end - 4 * x, weight: 0, y: 65536, scratch });
    plain.conv.forward({ ...s, x: 0, weight: end - 4 * weight, y: 65536, scratch });
    plain.conv.forward({ ...s, x: 0, weight: 65536, y: end - 4 * y, scratch });
    plain.conv.backwardInput({ ...s, dy: end - 4 * y, weight: 0, dx: 65536, scratch });
    plain.conv.backwardWeight({ ...s, dy: end - 4 * y, x: 0, dweight: 65536, scratch });
    plain.conv.backwardWeight({ ...s, dy: 0, x: end - 4 * x, dweight: 65536, scratch });
    const last = (pass: ConvPass) => (end - plain.conv.scratchBytes(pass, s)) & -16;
    plain.conv.forward({ ...s, x: 0, weight: 0, y: 65536, scratch: last("forward") });
    plain.conv.backwardInput({
      ...{ ...s, dy: 0, weight: 0, dx: 65536 },
      scratch: last("backwardInput"),
    });
    plain.conv.backwardWeight({
      ...{ ...s, dy: 0, x: 0, dweight: 65536 },
      scratch: last("backwardWeight"),
    });
  }
});

for (const kind of ["shared", "wide"] as const) {
  Deno.test({
    name: `${kind === "shared" ? "shared memory" : "64-bit addresses"}`,
    ignore: kind === "shared" ? !features.threads : !features.memory64,
    fn() {
      const where = bench(kind, features.relaxedSimd);
      for (const dtype of ["float32", "float64"] as const) {
        check(where, { dtype, padTop: 1, padLeft: 2, strideH: 2, strideW: 2, w: 21 });
        check(where, { dtype, kh: 1, kw: 1 });
        check(where, { dtype, kh: 7, kw: 9 });
        check(where, { dtype, groups: 3, oc: 6, kh: 10 });
      }
    },
  });
}
