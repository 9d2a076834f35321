// Matrix products against a naive float64 (or BigInt) reference: shapes, strides, row ranges, special
// values, all element types, with and without fused multiply-add, shared and 64-bit memories.

import { assert, assertEquals } from "jsr:@std/assert@1";
import * as fc from "npm:fast-check@4";
import { wasmFeatures } from "../asm/mod.ts";
import { createGemm, type Gemm, type GemmArgs, type GemmDType } from "./mod.ts";

type Values = Float32Array | Float64Array | Int32Array | BigInt64Array;

const features = wasmFeatures();
const SIZE = { float32: 4, float64: 8, int32: 4, int64: 8 } as const;
const VIEW = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  int64: BigInt64Array,
} as const;

/** Byte where the room for operands begins, and their room's size. */
const BASE = 1024;
const PAGES = 96;
/** Bytes after the scratch memory that must stay as they are. */
const GUARD = 1024;

function makeMemory(kind: "plain" | "shared" | "wide"): WebAssembly.Memory {
  if (kind === "shared") {
    return new WebAssembly.Memory({ initial: PAGES, maximum: PAGES, shared: true });
  }
  if (kind === "plain") return new WebAssembly.Memory({ initial: PAGES });
  // deno-lint-ignore no-explicit-any -- the 64-bit descriptor is not in the type library yet
  return new WebAssembly.Memory({ initial: BigInt(PAGES), address: "i64" } as any);
}

interface Bench {
  memory: WebAssembly.Memory;
  gemm: Gemm;
}

function bench(kind: "plain" | "shared" | "wide", relaxed: boolean): Bench {
  const memory = makeMemory(kind);
  return { memory, gemm: createGemm({ memory, ptr: kind === "wide" ? "i64" : "i32", relaxed }) };
}

const plain = bench("plain", features.relaxedSimd);

/** Storage layouts of an operand: strides in elements from its sizes, and where element 0 lies. */
type Layout = (rows: number, cols: number) => [rowStride: number, colStride: number, first: number];
const LAYOUTS: Record<string, Layout> = {
  rows: (_, cols) => [cols, 1, 0],
  transposed: (rows) => [1, rows, 0],
  padded: (_, cols) => [cols + 3, 1, 0],
  strided: (_, cols) => [cols * 2 + 1, 2, 0],
  backwards: (rows, cols) => [-cols, 1, Math.max(0, rows - 1) * cols],
  mirrored: (rows, cols) => [cols, -1, rows > 0 ? Math.max(0, cols - 1) : 0],
  sameRow: () => [0, 1, 0],
  sameColumn: () => [1, 0, 0],
  sameElement: () => [0, 0, 0],
};

interface Case {
  dtype?: GemmDType;
  m: number;
  n: number;
  k: number;
  a?: string;
  b?: string;
  cPad?: number;
  accumulate?: boolean;
  rows?: [number, number];
  seed?: number;
  fill?: (index: number) => number;
}

let state = 1;
function random(): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
}

/** Runs one case; returns what C holds, its strides and the reference with its error scale. */
function run(where: Bench, test: Case) {
  const { m, n, k, cPad = 0 } = test;
  const dtype = test.dtype ?? "float32";
  state = test.seed ?? 1;
  const size = SIZE[dtype];
  const whole = dtype.startsWith("int");
  const make = test.fill ?? (() => whole ? Math.floor((random() - 0.5) * 2000) : random() * 2 - 1);
  const buffer = where.memory.buffer as ArrayBuffer;
  const [ars, acs, a0] = LAYOUTS[test.a ?? "rows"](m, k);
  const [brs, bcs, b0] = LAYOUTS[test.b ?? "rows"](k, n);
  const extent = (rows: number, cols: number, rs: number, cs: number) =>
    Math.max(0, rows - 1) * Math.abs(rs) + Math.max(0, cols - 1) * Math.abs(cs) + 1;
  const aCount = extent(m, k, ars, acs);
  const bCount = extent(k, n, brs, bcs);
  const cRow = n + cPad;
  const view = new VIEW[dtype](buffer, BASE) as Values;
  const aStart = 0;
  const bStart = aStart + aCount + 5;
  const cStart = bStart + bCount + 5;
  const cCount = m * cRow + 5;
  const put = (at: number, value: number) => {
    if (dtype === "int64") (view as BigInt64Array)[at] = BigInt(value);
    else (view as Float64Array)[at] = value;
  };
  for (let i = 0; i < aCount; i++) put(aStart + i, make(i));
  for (let i = 0; i < bCount; i++) put(bStart + i, make(i + aCount));
  for (let i = 0; i < cCount; i++) put(cStart + i, whole ? 7 : 0.5);
  const scratch = Math.ceil((BASE + (cStart + cCount) * size) / 16) * 16;
  const args: GemmArgs = {
    dtype,
    m,
    n,
    k,
    a: { ptr: BASE + (aStart + a0) * size, rowStride: ars, colStride: acs },
    b: { ptr: BASE + (bStart + b0) * size, rowStride: brs, colStride: bcs },
    c: { ptr: BASE + cStart * size, rowStride: cRow },
    scratch,
    accumulate: test.accumulate,
    rows: test.rows,
  };
  const scratchBytes = where.gemm.scratchBytes(args);
  assert(scratch + scratchBytes + GUARD <= buffer.byteLength, "the case fits the test's memory");
  const guard = new Uint8Array(buffer, scratch + scratchBytes, GUARD).fill(0xff);
  // Old contents of the scratch memory must not matter: NaN in either float type.
  new Uint8Array(buffer, scratch, scratchBytes).fill(0xff);
  const operands = new Uint8Array(buffer.slice(BASE, BASE + cStart * size));
  const seen: [number, number][] = [];
  where.gemm.run({ ...args, onRows: (start, count) => seen.push([start, count]) });
  const now = new Uint8Array(buffer, BASE, cStart * size);
  assert(operands.every((byte, at) => byte === now[at]), "operands unchanged");
  assert(guard.every((byte) => byte === 0xff), "nothing written past the scratch memory");

  const [from, to] = test.rows ?? [0, m];
  let next = from;
  for (const [start, count] of seen) {
    assertEquals(start, next);
    assert(count > 0);
    next += count;
  }
  assertEquals(next, n > 0 && to > from ? to : from, "every row reported once, in order");
  return { view, args, aStart: aStart + a0, bStart: bStart + b0, cStart, cCount, cRow, from, to };
}

function check(where: Bench, test: Case): void {
  const { m, n, k } = test;
  const dtype = test.dtype ?? "float32";
  const got = run(where, test);
  const { view, args } = got;
  const label = JSON.stringify(test);
  const inside = new Set<number>();
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      const at = got.cStart + i * got.cRow + j;
      if (i < got.from || i >= got.to) continue;
      inside.add(at);
      if (dtype === "int32" || dtype === "int64") {
        let sum = test.accumulate ? 7n : 0n;
        for (let p = 0; p < k; p++) {
          sum += BigInt(view[got.aStart + i * args.a.rowStride + p * args.a.colStride]) *
            BigInt(view[got.bStart + p * args.b.rowStride + j * args.b.colStride]);
        }
        assert(BigInt(view[at]) === BigInt.asIntN(dtype === "int32" ? 32 : 64, sum), label);
        continue;
      }
      let sum = test.accumulate ? 0.5 : 0;
      let scale = Math.abs(sum);
      for (let p = 0; p < k; p++) {
        const term = Number(view[got.aStart + i * args.a.rowStride + p * args.a.colStride]) *
          Number(view[got.bStart + p * args.b.rowStride + j * args.b.colStride]);
        sum += term;
        scale += Math.abs(term);
      }
      // The bound of any order of summation: equal terms round the same way each time, so no less will do.
      // Source: Higham, "Accuracy and Stability of Numerical Algorithms", 2002, §4.2.
      const unit = dtype === "float32" ? 2 ** -24 : 2 ** -53;
      const bound = unit * scale * (k + 2);
      const error = Math.abs(Number(view[at]) - sum);
      assert(error <= bound, `${label} at ${i}, ${j}: ${view[at]} is not ${sum} ± ${bound}`);
    }
  }
  for (let at = got.cStart; at < got.cStart + got.cCount; at++) {
    if (inside.has(at)) continue;
    assert(Number(view[at]) === (dtype.startsWith("int") ? 7 : 0.5), `${label}: outside C`);
  }
}

Deno.test("every small size, all remainders of tiles and panels", () => {
  for (let m = 0; m <= 14; m++) {
    for (let n = 0; n <= 19; n++) {
      for (const k of [0, 1, 2, 3, 4, 5, 9]) check(plain, { m, n, k });
    }
  }
});

Deno.test("every layout of A with every layout of B", () => {
  const sizes: [number, number, number][] = [[1, 1, 1], [7, 5, 3], [13, 17, 11], [1, 19, 23], [
    23,
    1,
    29,
  ], [19, 29, 8]];
  for (const a of Object.keys(LAYOUTS)) {
    for (const b of Object.keys(LAYOUTS)) {
      for (const [m, n, k] of sizes) {
        check(plain, { m, n, k, a, b });
        check(plain, { m, n, k, a, b, cPad: 2, accumulate: true });
      }
    }
  }
});

Deno.test("every element type, with and without fused multiply-add", () => {
  const benches = [bench("plain", false), ...(features.relaxedSimd ? [plain] : [])];
  for (const where of benches) {
    for (const dtype of ["float32", "float64", "int32", "int64"] as const) {
      for (const [a, b] of [["rows", "rows"], ["transposed", "rows"], ["rows", "transposed"]]) {
        for (
          const [m, n, k] of [[3, 2, 5], [17, 23, 31], [1, 33, 40], [40, 1, 33], [64, 10, 128]]
        ) {
          check(where, { dtype, m, n, k, a, b });
          check(where, { dtype, m, n, k, a, b, accumulate: true, cPad: 1 });
        }
      }
    }
  }
});

Deno.test("sizes beyond one block of columns and of the reduction", () => {
  check(plain, { m: 13, n: 700, k: 801 });
  check(plain, { m: 5, n: 1030, k: 385, b: "transposed" });
  check(plain, { m: 31, n: 419, k: 401, a: "transposed", accumulate: true });
  check(plain, { dtype: "float64", m: 9, n: 300, k: 400 });
  check(plain, { m: 1, n: 3, k: 5000, a: "strided", b: "strided" });
});

Deno.test("int32 and int64 wrap around", () => {
  const fill = (i: number) => 2 ** 31 - 1 - i * 7;
  check(plain, { dtype: "int32", m: 9, n: 9, k: 9, fill });
  check(plain, { dtype: "int64", m: 9, n: 9, k: 9, fill: (i) => 2 ** 52 + i });
});

Deno.test("random shapes, layouts, paddings and row ranges", () => {
  const layout = fc.constantFrom(...Object.keys(LAYOUTS));
  const sizes = fc.integer({ min: 0, max: 40 });
  fc.assert(
    fc.property(
      sizes,
      sizes,
      fc.integer({ min: 0, max: 60 }),
      layout,
      layout,
      fc.boolean(),
      fc.nat(3),
      fc.nat(),
      fc.nat(),
      (m, n, k, a, b, accumulate, cPad, from, seed) => {
        const start = from % (m + 1);
        const rows: [number, number] = [start, start + seed % (m - start + 1)];
        check(plain, { m, n, k, a, b, accumulate, cPad, rows, seed });
      },
    ),
    { numRuns: 150, seed: 1 },
  );
});

Deno.test("rows computed in parts are bit for bit the rows computed at once", () => {
  const shapes = [[37, 45, 50], [37, 1, 50], [2, 45, 50]];
  for (const [m, n, k] of shapes) {
    for (const a of ["rows", "transposed"]) {
      for (const b of ["rows", "transposed"]) {
        const one = run(plain, { m, n, k, a, b });
        const want = one.view.slice(one.cStart, one.cStart + one.cCount);
        for (const cut of [1, 5, 20].filter((cut) => cut < m)) {
          const parts = run(plain, { m, n, k, a, b, rows: [0, cut] });
          plain.gemm.run({ ...parts.args, rows: [cut, m] });
          const got = parts.view.slice(parts.cStart, parts.cStart + parts.cCount);
          assertEquals(got, want);
        }
      }
    }
  }
});

Deno.test("NaN and infinities propagate, zeros are not skipped, padding stays inside", () => {
  for (const [m, n, k] of [[5, 11, 7], [1, 11, 7], [11, 1, 7], [6, 8, 4], [3, 2, 1]]) {
    for (const b of ["rows", "transposed"]) {
      // A is all zero but for its last row; B's last column is infinite.
      const zeros = run(plain, { m, n, k, b, fill: (i) => i < m * k ? 0 : Infinity });
      for (let i = 0; i < m * n; i++) {
        assert(Number.isNaN(zeros.view[zeros.cStart + i] as number), "0 · ∞ is NaN");
      }
      const infinite = run(plain, { m, n, k, b, fill: (i) => i < m * k ? Infinity : 2 });
      for (let i = 0; i < m * n; i++) {
        assertEquals(infinite.view[infinite.cStart + i], Infinity);
      }
      const bad = run(plain, {
        m,
        n,
        k,
        b,
        fill: (i) => i < m * k ? 1 : i === m * k + k * n - 1 ? NaN : 1,
      });
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          const got = bad.view[bad.cStart + i * bad.cRow + j];
          assertEquals(got, j === n - 1 ? NaN : k, `${m} ${n} ${k} ${b} at ${i}, ${j}`);
        }
      }
    }
  }
});

Deno.test("a long sum of ones is exact in float32", () => {
  const k = 3_000_000;
  const memory = new WebAssembly.Memory({ initial: 300 });
  const gemm = createGemm({ memory, ptr: "i32", relaxed: features.relaxedSimd });
  new Float32Array(memory.buffer)[0] = 1;
  for (const [m, n] of [[1, 1], [2, 3]]) {
    const args: GemmArgs = {
      dtype: "float32",
      m,
      n,
      k,
      a: { ptr: 0, rowStride: 0, colStride: 0 },
      b: { ptr: 0, rowStride: 0, colStride: 0 },
      c: { ptr: 16, rowStride: n },
      scratch: 64,
    };
    assert(gemm.scratchBytes(args) < memory.buffer.byteLength - 64);
    gemm.run(args);
    assertEquals([...new Float32Array(memory.buffer, 16, m * n)], Array(m * n).fill(k));
  }
});

Deno.test("a batch moves its operands, and tells which item is done", () => {
  const memory = makeMemory("plain");
  const gemm = createGemm({ memory, ptr: "i32", relaxed: features.relaxedSimd });
  const all = new Float32Array(memory.buffer);
  const [count, m, n, k] = [3, 4, 5, 6];
  for (let i = 0; i < count * m * k; i++) all[i] = i % 7;
  for (let i = 0; i < k * n; i++) all[100 + i] = i % 5;
  const seen: number[] = [];
  gemm.run({
    dtype: "float32",
    m,
    n,
    k,
    a: { ptr: 0, rowStride: k, colStride: 1 },
    b: { ptr: 400, rowStride: n, colStride: 1 },
    c: { ptr: 800, rowStride: n },
    scratch: 1600,
    batch: { count, a: m * k, b: 0, c: m * n },
    onRows: (start, rows, item) => seen.push(start, rows, item),
  });
  assertEquals(seen, [0, 4, 0, 0, 4, 1, 0, 4, 2]);
  for (let item = 0; item < count; item++) {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let want = 0;
        for (let p = 0; p < k; p++) want += all[(item * m + i) * k + p] * all[100 + p * n + j];
        assertEquals(all[200 + (item * m + i) * n + j], want);
      }
    }
  }
});

Deno.test("onRows sees final values", () => {
  const where = bench("plain", features.relaxedSimd);
  const [m, n, k] = [300, 900, 500];
  const all = new Float32Array(where.memory.buffer);
  all.fill(1, 0, m * k + k * n);
  const c = m * k + k * n;
  let rows = 0;
  let calls = 0;
  where.gemm.run({
    dtype: "float32",
    m,
    n,
    k,
    a: { ptr: 0, rowStride: k, colStride: 1 },
    b: { ptr: 4 * m * k, rowStride: n, colStride: 1 },
    c: { ptr: 4 * c, rowStride: n },
    scratch: Math.ceil((c + m * n) / 4) * 16,
    onRows(start, count) {
      calls++;
      rows += count;
      for (let i = c + start * n; i < c + (start + count) * n; i++) {
        assertEquals(all[i], k);
        all[i] = -1;
      }
    },
  });
  assertEquals(rows, m);
  assert(calls > 5, "in blocks small enough for a cache");
  assert(all.subarray(c, c + m * n).every((value) => value === -1), "not touched afterwards");
});

for (const kind of ["shared", "wide"] as const) {
  Deno.test({
    name: `${kind === "shared" ? "shared memory" : "64-bit addresses"}`,
    ignore: kind === "shared" ? !features.threads : !features.memory64,
    fn() {
      const where = bench(kind, features.relaxedSimd);
      for (const dtype of ["float32", "int64"] as const) {
        for (const a of ["rows", "transposed", "backwards"]) {
          check(where, { dtype, m: 15, n: 21, k: 18, a, b: "mirrored" });
          check(where, { dtype, m: 15, n: 1, k: 18, a });
          check(where, { dtype, m: 1, n: 21, k: 18, a, b: "transposed" });
          check(where, { dtype, m: 3, n: 4, k: 0 });
        }
      }
    },
  });
}
