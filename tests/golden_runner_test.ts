// The runner on a library of a few lines, right and wrong, so that it is known to fail when it should.
import { assertEquals, assertRejects, assertThrows } from "jsr:@std/assert@1";
import { type GoldenCase, GoldenFormatError } from "./golden_format.ts";
import { GoldenMismatch, GoldenRunner, isMethod, type LayerCase } from "./golden_runner.ts";
import type { OptimizerCase } from "./golden_runner.ts";

/** A tensor whose gradient is known only for `scale`: d(k·x) = k. */
class Fake {
  constructor(
    readonly values: number[],
    public shape: readonly number[],
    readonly dtype: string,
    readonly requiresGrad = false,
    readonly slope = 1,
  ) {}
  data(): Promise<Float64Array> {
    return Promise.resolve(Float64Array.from(this.values));
  }
  clone(): Fake {
    return new Fake([...this.values], this.shape, this.dtype, this.requiresGrad);
  }
  copy_(other: Fake): this {
    this.values.splice(0, Infinity, ...other.values);
    return this;
  }
  triple(): Fake {
    return triple(this);
  }
  double_(): void {
    this.values.forEach((v, i) => this.values[i] = 2 * v);
  }
}

const triple = (x: Fake) =>
  new Fake(x.values.map((v) => 3 * v), x.shape, x.dtype, x.requiresGrad, 3);

class Scale {
  weight = new Fake([0], [1], "float64");
  mode = "train";
  eval(): void {
    this.mode = "eval";
  }
  call(x: Fake): Fake {
    const k = this.mode === "eval" ? this.weight.values[0] : 0;
    return new Fake(x.values.map((v) => k * v), x.shape, x.dtype);
  }
}

class Halving {
  constructor(public lastLr: number) {}
  step(): void {
    this.lastLr /= 2;
  }
}

const library = {
  tensor: (data: Iterable<number> | number[][], o: { dtype: string; requiresGrad: boolean }) => {
    const nested = Array.isArray(data) && Array.isArray(data[0]);
    const shape = nested ? [data.length, (data[0] as number[]).length] : [[...data].length];
    return new Fake(
      [data].flat(2).flatMap((d) => [d].flat()).flatMap((d) =>
        typeof d === "number" ? [d] : [...d]
      ),
      shape,
      o.dtype,
      o.requiresGrad,
    );
  },
  reshape: (x: Fake, shape: readonly number[]) => new Fake(x.values, shape, x.dtype),
  permute: (x: Fake, _perm: number[]) =>
    new Fake([x.values[0], x.values[2], x.values[1], x.values[3]], x.shape, x.dtype),
  triple,
  wrong: (x: Fake) => new Fake(x.values.map((v) => 3.001 * v), x.shape, x.dtype),
  later: (x: Fake) => Promise.resolve([triple(x), x]),
  noGrad: (fn: () => unknown) => fn(),
  grad: (outs: Fake[], ins: Fake[], { gradOutputs }: { gradOutputs: Fake[] }) =>
    ins.map((x) => new Fake(gradOutputs[0].values.map((g) => g * outs[0].slope), x.shape, x.dtype)),
  nn: { functional: { triple }, Scale },
  optim: { lr: { Halving } },
};

const f64 = (...values: number[]) => {
  const bytes = new Uint8Array(new Float64Array(values).buffer);
  return `float64[${values.length}]:${btoa(String.fromCharCode(...bytes))}`;
};

const runner = new GoldenRunner(library, "unary");
const golden = (fn: string, more: Partial<GoldenCase> = {}): GoldenCase => ({
  fn,
  name: "a case",
  args: [{ t: 0 }],
  in: [f64(1, -2)],
  out: [f64(3, -6)],
  ...more,
});

Deno.test("golden runner: right values pass, by every kind of name", async () => {
  for (const fn of ["triple", "F.triple", "Tensor.triple"]) await runner.check(golden(fn));
  await runner.checkMethod(golden("triple"));
  await runner.check(golden("later", { out: [f64(3, -6), f64(1, -2)] }));
});

Deno.test("golden runner: wrong values, outputs and names fail", async () => {
  const fails = (c: GoldenCase, says: string) =>
    assertRejects(() => runner.check(c), GoldenMismatch, says);
  await fails(golden("wrong"), "output 0: at [0]: got 3.001, expected 3");
  await fails(golden("triple", { out: [f64(3, -6), f64(0)] }), "got 1 outputs, expected 2");
  await fails(golden("quadruple"), "Cannot find quadruple");
  await fails(golden("F.quadruple"), "Cannot find nn.functional.quadruple");
  await fails(golden("Tensor.quadruple"), "Cannot find the method quadruple");
  await assertRejects(() => runner.checkMethod(golden("wrong")), GoldenMismatch, "method wrong");
  assertThrows(() => runner.find("no.where"), GoldenMismatch, "Cannot find no.where");
  await assertRejects(
    () => runner.check(golden("triple", { args: [{ t: 1 }] })),
    GoldenFormatError,
  );
});

Deno.test("golden runner: gradients are of the weighted outputs", async () => {
  const grad = { wrt: [0], g: [f64(0.5, 2)], d: [f64(1.5, 6)] };
  await runner.check(golden("triple", { grad }));
  const wrong = golden("triple", { grad: { ...grad, d: [f64(1.5, 6.1)] } });
  await assertRejects(() => runner.check(wrong), GoldenMismatch, "gradient 0: at [1]");
});

Deno.test("golden runner: views are taken of the base", async () => {
  const base = f64(1, 2, 3, 4).replace("[4]", "[2,2]");
  const out = [f64(3, 9, 6, 12).replace("[4]", "[2,2]")];
  await runner.check(golden("triple", { in: [[base, ["permute", [1, 0]]]], out }));
});

Deno.test("golden runner: in-place methods work on a clone, and changed inputs are compared", async () => {
  await runner.check(golden("Tensor.double_", { out: [f64(2, -4)], after: { 0: f64(1, -2) } }));
  const wrong = golden("Tensor.double_", { out: [f64(2, -4)], after: { 0: f64(2, -4) } });
  await assertRejects(() => runner.check(wrong), GoldenMismatch, "input 0 afterwards");
});

Deno.test("golden runner: layers get their parameters and their mode", async () => {
  const layer: LayerCase = {
    ...golden("nn.Scale", { args: [], in: [f64(1, -2), f64(5)], out: [f64(5, -10)] }),
    call: [{ t: 0 }],
    params: { weight: { t: 1 } },
    mode: "eval",
  };
  await runner.check(layer);
  const train = { ...layer, mode: undefined };
  await assertRejects(() => runner.check(train), GoldenMismatch, "output 0");
  const unknown = { ...layer, params: { bias: { t: 1 } } };
  await assertRejects(() => runner.check(unknown), GoldenMismatch, "Cannot find the field bias");
});

Deno.test("golden runner: schedules are read before each step", async () => {
  const schedule = golden("optim.lr.Halving", { args: [8], in: [], out: [f64(8, 4, 2)] });
  await runner.check(schedule);
  const wrong = { ...schedule, out: [f64(8, 4, 1)] };
  await assertRejects(() => runner.check(wrong), GoldenMismatch, "learning rates: at [2]");
});

Deno.test("golden runner: an optimizer that the library lacks fails by name", async () => {
  const none: OptimizerCase = {
    ...golden("optim.None", { args: [{}], in: [f64(1), f64(1), f64(1), f64(1)] }),
    seen: [1],
    params: [0],
    curve: [1],
    slope: [2],
    sway: 3,
  };
  await assertRejects(() => runner.check(none), GoldenMismatch, "Cannot find optim.None");
});

Deno.test("golden runner: which functions must be methods", () => {
  const methods = ["exp", "where", "zerosLike", "F.softmax", "sort"].filter(isMethod);
  assertEquals(methods, ["exp", "sort"]);
});
