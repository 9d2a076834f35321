// Reductions, views, indexing and in-place changes inside a composite: traced, fused and differentiated as a
// whole they must give what they give one by one.
import { assertEquals } from "jsr:@std/assert@1";
import { anonymousComposite, engine } from "../core/op.ts";
import * as plesio from "../mod.ts";

type Tensor = plesio.Tensor;

const PROGRAMS: Record<string, (x: Tensor, index: Tensor) => Tensor> = {
  pad: (x) => x.pad([[1, 0], [0, 2]], { value: 3 }).mul(2),
  "pad, reflect": (x) => x.mul(2).pad([[1, 0], [0, 2]], { mode: "reflect" }),
  "at, slices": (x) => x.add(1).at("::-1", "1:").square(),
  "at, index": (x, index) => (x.at(":", index) as Tensor).mul(2),
  gather: (x, index) => x.mul(x).gather(index, 1).add(1),
  sort: (x) => x.neg().sort(1)[0].mul(2),
  topk: (x) => x.topk(2)[0],
  concat: (x) => plesio.concat([x, x.mul(2), x.at(":", "0:1")], 1).sum(0),
  stack: (x) => plesio.stack([x, x.mul(2)], 1),
  split: (x) => x.split(2, 1)[1].mul(3),
  "setAt, slices": (x) => {
    const y = x.mul(2);
    y.setAt([":", 1], x.at(":", 0));
    return y.setAt(0, 5).mul(y);
  },
  "setAt, index": (x, index) => x.mul(1).setAt([":", index], x.mul(3)),
  "setAt, mask": (x) => x.mul(2).setAt(x.greaterThan(0), 7).add(x),
  "in place": (x) => x.mul(1).add_(2).mul_(x).clip_(-1, 3),
  cumsum: (x) => x.mul(x).cumsum(1).add(1),
  cumprod: (x) => x.cumprod(0),
  logCumSumExp: (x) => x.logCumSumExp(1),
  indexAdd: (x, index) => x.indexAdd(index, 1, x.mul(x)),
  scatter: (x, index) => x.scatter(index.slice({ axes: [0], starts: [0], ends: [1] }), 5),
  takeAlongAxis: (x) => x.takeAlongAxis(x.argsort(1), 1),
  putAlongAxis: (x) => x.putAlongAxis(x.argsort(1), x.mul(2), 1, { reduce: "mul" }),
  "variance, std, norm": (x) => x.variance(1).add(x.std(1)).add(x.norm({ axis: 1 })),
  logSumExp: (x) => x.logSumExp(1),
  maxWithIndex: (x) => x.maxWithIndex(1)[0],
  prod: (x) => x.prod(1),
  unfold: (x) => x.unfold(1, { size: 2, step: 1 }).mul(2),
  diagonal: (x) => x.diagonal(),
  roll: (x) => x.roll([1, 1], [0, 1]),
  tile: (x) => x.tile([2, 2]).sum(0),
  maskedFill: (x) => x.maskedFill(x.greaterThan(0), 7),
};

/** Value and gradient as numbers, rounded past the last digits of float32. */
async function results(f: (x: Tensor, index: Tensor) => Tensor): Promise<number[][]> {
  const x = plesio.tensor([[0.5, -1, 2], [1.5, 3, -0.25], [-2, 0.75, 1.25]], {
    requiresGrad: true,
  });
  const y = f(x, plesio.tensor([2, 0, 1], { dtype: "int32" }));
  y.sum().backward();
  const rounded = async (t: Tensor) =>
    Array.from(await t.data() as Float32Array, (v) => Math.round(v * 1e4) / 1e4 + 0);
  return [[...y.shape], await rounded(y), await rounded(x.grad!)];
}

for (const [name, program] of Object.entries(PROGRAMS)) {
  Deno.test(`traced as a whole, like one by one: ${name}`, async () => {
    const traced = anonymousComposite(
      name,
      ([x, index]) => program(x as Tensor, index as Tensor),
    );
    const whole = await results((x, index) => engine.call(traced, [x, index]));
    assertEquals(whole, await results(program));
  });
}
