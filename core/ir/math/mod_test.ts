import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import { InternalError } from "../../errors.ts";
import * as ex from "../expr.ts";
import { type Expr, type ExprOp, type ExtraOp, leaf, walk } from "../expr.ts";
import { scalarProgram } from "../interp.ts";
import { decomposeExtra, legalize } from "./mod.ts";

type Width = "float32" | "float64";
type Fn = (...x: number[]) => number;

const WIDTHS: readonly Width[] = ["float32", "float64"];
const isCore = (op: ExprOp): boolean => !(op in decomposeExtra);
const isCoreOrFma = (op: ExprOp): boolean => isCore(op) || op === "fma";

const EXTRA: readonly ExtraOp[] = (Object.keys(decomposeExtra) as ExtraOp[]).filter((o) =>
  o !== "fma"
);
const TWO: ReadonlySet<ExtraOp> = new Set<ExtraOp>(["pow", "atan2"]);

/** The op itself, as the interpreter computes it: in float64, then rounded. */
function direct(op: ExtraOp, width: Width): Expr {
  const args = [leaf("arg", width, 0), leaf("arg", width, 1)].slice(0, TWO.has(op) ? 2 : 1);
  return { op, dtype: width, args };
}

function run(e: Expr): Fn {
  const program = scalarProgram([e]);
  return (...x) => program(x)[0] as number;
}

const viaCore = (op: ExtraOp, width: Width, supports = isCore): Fn =>
  run(legalize([direct(op, width)], supports)[0]);

const view = new DataView(new ArrayBuffer(8));

/** Floats as integers in their order, so that the difference counts the floats between. */
function order(x: number, width: Width): bigint {
  view.setBigInt64(0, 0n);
  if (width === "float32") view.setFloat32(0, x);
  else view.setFloat64(0, x);
  const bits = width === "float32" ? BigInt(view.getInt32(0)) : view.getBigInt64(0);
  const sign = width === "float32" ? -(1n << 31n) : -(1n << 63n);
  return bits < 0n ? sign - bits : bits;
}

/** Units of the last place between two results; infinite if only one is NaN or a zero's sign differs. */
function ulps(got: number, want: number, width: Width): number {
  if (Object.is(got, want)) return 0;
  if (Number.isNaN(got) || Number.isNaN(want) || (got === 0 && want === 0)) return Infinity;
  const d = order(got, width) - order(want, width);
  return Number(d < 0n ? -d : d);
}

function ofBits(hex: string, width: Width): number {
  if (width === "float32") view.setUint32(0, Number(hex));
  else view.setBigUint64(0, BigInt(hex));
  return width === "float32" ? view.getFloat32(0) : view.getFloat64(0);
}

interface Row {
  readonly width: Width;
  readonly inputs: number[];
  readonly want: number;
}

async function readTable(name: string): Promise<Row[]> {
  const url = new URL(`../../../tests/umath/${name}.csv.gz`, import.meta.url);
  const file = new Response(await Deno.readFile(url)).body!;
  const text = await new Response(file.pipeThrough(new DecompressionStream("gzip"))).text();
  return text.split("\n").filter((l) => l.startsWith("np.")).map((l) => {
    const [dtype, ...cells] = l.split(",");
    const width = dtype.slice(3) as Width;
    const numbers = cells.slice(0, -1).map((c) => ofBits(c, width));
    return { width, inputs: numbers.slice(0, -1), want: numbers[numbers.length - 1] };
  });
}

/** The table of each op and how many rows it has at least. */
const TABLES: readonly [ExtraOp, string, number][] = [
  ["acos", "arccos", 1400],
  ["acosh", "arccosh", 1400],
  ["asin", "arcsin", 1400],
  ["asinh", "arcsinh", 1400],
  ["atan", "arctan", 1400],
  ["atan2", "atan2", 600],
  ["atanh", "arctanh", 1400],
  ["cos", "cos", 1300],
  ["cos", "cos_hard", 300],
  ["cosh", "cosh", 1400],
  ["erf", "erf", 400],
  ["erfc", "erfc", 500],
  ["erfinv", "erfinv", 370],
  ["exp", "exp", 360],
  ["exp2", "exp2", 1400],
  ["expm1", "expm1", 1400],
  ["log", "log", 260],
  ["log10", "log10", 1600],
  ["log1p", "log1p", 1400],
  ["log2", "log2", 1600],
  ["pow", "pow", 680],
  ["sin", "sin", 1300],
  ["sin", "sin_hard", 300],
  ["sinh", "sinh", 1400],
  ["tan", "tan", 1400],
  ["tan", "tan_hard", 300],
  ["tanh", "tanh", 1400],
];

Deno.test("tables of correctly rounded values: within 2 units, with and without real fma", async () => {
  const report: string[] = ["table       rows   f32 (fma) oracle   f64 (fma) oracle"];
  for (const [op, name, atLeast] of TABLES) {
    const rows = await readTable(name);
    assert(rows.length >= atLeast, `${name}: ${rows.length} rows`);
    const worst: string[] = [];
    for (const width of WIDTHS) {
      const ways = [viaCore(op, width), viaCore(op, width, isCoreOrFma), run(direct(op, width))];
      const most = [0, 0, 0];
      rows.filter((r) => r.width === width).forEach((r, i) => {
        ways.forEach((f, w) => {
          // Real fma is slow here; a part of the rows will do.
          if (w === 1 && i % 8 !== 0) return;
          const d = ulps(f(...r.inputs), r.want, width);
          assert(
            d <= 2,
            `${op} ${r.inputs} in ${width} way ${w}: ${f(...r.inputs)}, not ${r.want}`,
          );
          most[w] = Math.max(most[w], d);
        });
      });
      worst.push(`${most[0]}   (${most[1]})   ${most[2]}`.padStart(12));
    }
    report.push(`${name.padEnd(10)} ${String(rows.length).padStart(5)} ${worst.join("      ")}`);
  }
  console.log(report.join("\n"));
});

/** Where an op's interesting float32 inputs are: even in the exponent, and in an interval. */
const RANGE: Partial<Record<ExtraOp, [number, number]>> = {
  exp: [-105, 90],
  exp2: [-151, 129],
  expm1: [-20, 90],
  sinh: [-91, 91],
  cosh: [-91, 91],
  tanh: [-10, 10],
  log: [0, 4],
  log2: [0, 4],
  log10: [0, 4],
  log1p: [-1, 4],
  sin: [-1e5, 1e5],
  cos: [-1e5, 1e5],
  tan: [-1e5, 1e5],
  asin: [-1, 1],
  acos: [-1, 1],
  acosh: [1, 5],
  atanh: [-1, 1],
  erf: [-4, 4],
  erfc: [-4, 11],
  erfinv: [-1, 1],
};

/** A generator of 32-bit words: xorshift (Marsaglia 2003). */
function words(seed: number): () => number {
  let s = seed;
  return () => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return s >>> 0;
  };
}

Deno.test("random float32 inputs of any size: within 2 units of float64", () => {
  const next = words(20240607);
  const any = (): number => {
    view.setUint32(0, next());
    return view.getFloat32(0);
  };
  for (const op of EXTRA) {
    const reference = run(direct(op, "float64"));
    const f = viaCore(op, "float32");
    const [lo, hi] = RANGE[op] ?? [-5, 5];
    const between = (): number => Math.fround(lo + (hi - lo) * next() / 2 ** 32);
    for (let i = 0; i < 1500; i++) {
      const pick = i % 3 === 0 ? any : between;
      const x = TWO.has(op) ? [pick(), pick()] : [pick()];
      const want = Math.fround(reference(...x));
      assert(ulps(f(...x), want, "float32") <= 2, `${op} ${x}: ${f(...x)}, not ${want}`);
    }
  }
});

const SPECIAL = [
  ...[0, 1, 2, 3, 0.5, 1.5, 1e-40, 5e-324, 2 ** -126, 2 ** -1022, 100, 800, 1e30, 1e300],
  ...[2 ** 24, 2 ** 24 - 1, 2 ** 53, 3.4028234663852886e38, Number.MAX_VALUE, Infinity],
].flatMap((x) => [x, -x]).concat(NaN);

Deno.test("NaN, infinities, zeros, subnormals and overflow are as in C99", () => {
  for (const width of WIDTHS) {
    const inputs = SPECIAL.map((x) => width === "float32" ? Math.fround(x) : x);
    for (const op of EXTRA) {
      const reference = run(direct(op, width));
      const f = viaCore(op, width);
      for (const x of inputs) {
        for (const y of TWO.has(op) ? inputs : [0]) {
          const args = TWO.has(op) ? [x, y] : [x];
          const [got, want] = [f(...args), reference(...args)];
          const exact = !Number.isFinite(want) || want === 0 || !Number.isFinite(got) || got === 0;
          const ok = exact ? Object.is(got, want) : ulps(got, want, width) <= 2;
          assert(ok, `${op} ${args} in ${width}: ${got}, not ${want}`);
        }
      }
    }
  }
});

Deno.test("the special cases that JavaScript and C99 see differently", () => {
  for (const width of WIDTHS) {
    for (const f of [viaCore("pow", width), run(direct("pow", width))]) {
      for (const y of [NaN, Infinity, -Infinity, 0, 7]) assertEquals(f(1, y), 1);
      for (const x of [NaN, Infinity, -3, 0]) assertEquals(f(x, -0), 1);
      assertEquals([f(-1, Infinity), f(-1, -Infinity), f(-2, 0.5)], [1, 1, NaN]);
      assertEquals([f(-0, -3), f(-0, -2), f(-0, 3), f(-0, 2)], [-Infinity, Infinity, -0, 0]);
      assertEquals([f(-Infinity, 3), f(-Infinity, -3), f(-Infinity, 0.5)], [
        -Infinity,
        -0,
        Infinity,
      ]);
      assertEquals([f(0.5, -Infinity), f(0.5, Infinity), f(0, NaN)], [Infinity, 0, NaN]);
    }
  }
});

Deno.test("results that are whole come out whole", () => {
  for (const width of WIDTHS) {
    const [exp2, log2, log10, pow] = (["exp2", "log2", "log10", "pow"] as const).map((o) =>
      viaCore(o, width)
    );
    for (let n = -140; n <= 120; n++) {
      assertEquals(exp2(n), 2 ** n);
      assertEquals(log2(2 ** n), n);
    }
    for (let n = 0; n <= 10; n++) assertEquals(log10(10 ** n), n);
    for (let n = 0; n <= 10; n++) assertEquals([pow(3, n), pow(-2, n)], [3 ** n, (-2) ** n]);
  }
});

Deno.test("legalize leaves what is supported and no other extra op", () => {
  for (const width of WIDTHS) {
    for (const op of EXTRA) {
      const e = direct(op, width);
      assertEquals(legalize([e], () => true)[0], e);
      const fused = legalize([e], isCoreOrFma);
      walk(fused, (n) => assert(isCoreOrFma(n.op), n.op));
      walk(legalize(fused, isCore), (n) => assert(isCore(n.op), n.op));
    }
  }
  assertThrows(
    () => legalize([{ op: "exp", dtype: "int32", args: [leaf("arg", "int32", 0)] }], isCore),
    InternalError,
    "only floats",
  );
});

Deno.test("legalize makes equal nodes one", () => {
  const count = (...roots: Expr[]): number => {
    let n = 0;
    walk(legalize(roots, isCore), () => n++);
    return n;
  };
  const x = (): Expr => leaf("load", "float32", 0);
  const sin = count(ex.sin(x()));
  assert(count(ex.sin(x()), ex.cos(x())) < sin + 25);
  assertEquals(count(ex.exp(x()), ex.exp(x())), count(ex.exp(x())));
  const zeros = legalize([ex.constant(0, "float32"), ex.constant(-0, "float32")], isCore);
  assertEquals(zeros.map((e) => Object.is(e.value, -0)), [false, true]);
});
