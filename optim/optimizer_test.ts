// Trajectories against PyTorch are in the goldens; here: each update against its formula, groups, state,
// clipping, errors, and that an update is one kernel that writes in place.
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertRejects,
  assertThrows,
} from "jsr:@std/assert@1";
import { backendOf } from "../backends/registry.ts";
import { compileComposite } from "../core/engine/composite.ts";
import type { CompositeOp, Operand } from "../core/op.ts";
import {
  type DType,
  nn,
  ones,
  optim,
  Place,
  randn,
  seed,
  StateError,
  type Tensor,
  tensor,
  ValueError,
  zeros,
} from "../mod.ts";
import { ADAM_STEP, MOMENTUM_STEP, SGD_STEP } from "./step_ops.ts";

function leaf(values: number[], dtype: DType = "float64"): Tensor {
  return tensor(values, { dtype, requiresGrad: true });
}

const GRADS = [[0.5, -2], [-1, 0.25], [3, 1], [0, -0.125]];

/** Runs the gradients through an optimizer and gives the parameter after each step. */
async function run(
  make: (parameters: Tensor[]) => optim.Optimizer,
  dtype: DType = "float64",
): Promise<number[][]> {
  const p = leaf([1, -3], dtype);
  const optimizer = make([p]);
  const seen: number[][] = [];
  for (const g of GRADS) {
    p.grad = tensor(g, { dtype });
    await optimizer.step();
    seen.push(Array.from(await p.data(), Number));
  }
  return seen;
}

function assertTrajectory(got: number[][], want: number[][], tolerance = 1e-13): void {
  got.forEach((step, t) =>
    step.forEach((v, i) => assertAlmostEquals(v, want[t][i], tolerance, `step ${t}, element ${i}`))
  );
}

/** The same in plain numbers: `update` changes a state and gives the new value. */
function formula(update: (p: number, g: number, state: number[], t: number) => number): number[][] {
  const p = [1, -3];
  const states: number[][] = [[], []];
  return GRADS.map((g, t) => {
    g.forEach((x, i) => p[i] = update(p[i], x, states[i], t + 1));
    return [...p];
  });
}

function adam(t: number, state: number[], g: number, max = false): number {
  const [m, v, most] = [
    0.9 * (state[0] ?? 0) + 0.1 * g,
    0.999 * (state[1] ?? 0) + 0.001 * g * g,
    state[2] ?? 0,
  ];
  state[0] = m;
  state[1] = v;
  state[2] = Math.max(most, v);
  const spread = max ? state[2] : v;
  return m / (1 - 0.9 ** t) / (Math.sqrt(spread / (1 - 0.999 ** t)) + 1e-8);
}

Deno.test("optim: each update is its formula", async () => {
  const learningRate = 0.1;
  const weightDecay = 0.3;
  assertTrajectory(
    await run((parameters) => new optim.SGD({ parameters, learningRate })),
    formula((p, g) => p - 0.1 * g),
  );
  assertTrajectory(
    await run((parameters) =>
      new optim.SGD({ parameters, learningRate, weightDecay: new optim.L1Decay(0.3) })
    ),
    formula((p, g) => p - 0.1 * (g + 0.3 * Math.sign(p))),
  );
  for (const useNesterov of [false, true]) {
    assertTrajectory(
      await run((parameters) =>
        new optim.Momentum({ parameters, learningRate, weightDecay, useNesterov })
      ),
      formula((p, g, s) => {
        const d = g + 0.3 * p;
        s[0] = 0.9 * (s[0] ?? 0) + d;
        return p - 0.1 * (useNesterov ? d + 0.9 * s[0] : s[0]);
      }),
    );
  }
  for (const amsgrad of [false, true]) {
    assertTrajectory(
      await run((parameters) => new optim.Adam({ parameters, learningRate, weightDecay, amsgrad })),
      formula((p, g, s, t) => p - 0.1 * adam(t, s, g + 0.3 * p, amsgrad)),
    );
    assertTrajectory(
      await run((parameters) =>
        new optim.AdamW({ parameters, learningRate, weightDecay, amsgrad })
      ),
      formula((p, g, s, t) => p - 0.1 * 0.3 * p - 0.1 * adam(t, s, g, amsgrad)),
    );
  }
  assertTrajectory(
    await run((parameters) => new optim.AdamW({ parameters, learningRate, weightDecay: 0 })),
    formula((p, g, s, t) => p - 0.1 * adam(t, s, g)),
  );
});

Deno.test("optim: narrow parameters have float32 state", async () => {
  for (const dtype of ["float16", "bfloat16"] as const) {
    const p = leaf([1, -3], dtype);
    const optimizer = new optim.Adam({ parameters: [p], learningRate: 0.1 });
    for (const [t, g] of GRADS.entries()) {
      const [before] = await p.data() as Float32Array;
      p.grad = tensor(g, { dtype });
      await optimizer.step();
      const [after] = await p.data() as Float32Array;
      assert(Math.sign(before - after) === 1 || t > 0);
    }
    const { slots } = optimizer.stateDict();
    assertEquals([p.dtype, slots["0.moment2"].dtype], [dtype, "float32"]);
    // 0.001 · g² summed up: a value that float16 would round away in part.
    const state: number[] = [];
    for (const [t, [g]] of GRADS.entries()) adam(t + 1, state, g);
    assertAlmostEquals((await slots["0.moment2"].data())[0] as number, state[1], 1e-9);
  }
});

Deno.test("optim: an update is one kernel that writes in place", () => {
  const backend = backendOf(Place.of("cpu"));
  const [p, g, m, v, w] = Array.from({ length: 5 }, () => ones([8, 4]));
  const ops: [CompositeOp & { readonly id: number }, Operand[], Record<string, unknown>][] = [
    [SGD_STEP, [p, g, 0.1, 0.2], { decay: "l2" }],
    [MOMENTUM_STEP, [p, g, v, 0.1, 0.9, 0.2], { decay: "l2", nesterov: true }],
    [
      ADAM_STEP,
      [p, g, m, v, 0.1, 0.9, 0.1, 0.99, 0.01, 1e-8, 0.5, 0.2],
      { decay: "decoupled", amsgrad: false },
    ],
    [
      ADAM_STEP,
      [p, g, m, v, w, 0.1, 0.9, 0.1, 0.99, 0.01, 1e-8, 0.5, 0.2],
      { decay: "l2", amsgrad: true },
    ],
  ];
  for (const [op, operands, attrs] of ops) {
    const slots = operands.filter((x) => typeof x === "object").map((_, i) => i);
    const into = slots.filter((i) => i !== 1);
    const { plan } =
      compileComposite(op, op.body, operands, attrs, backend, false, into).executable;
    assertEquals(plan.steps.length, 1, op.name);
    assertEquals(plan.into, into, op.name);
    assertEquals(plan.copyBack, into.map(() => false), op.name);
  }
});

Deno.test("optim: the update is done when step() returns, before it is awaited", async () => {
  const p = leaf([1]);
  p.grad = tensor([1], { dtype: "float64" });
  const done = new optim.SGD({ parameters: [p], learningRate: 0.5 }).step();
  assertEquals(p.dataSync()[0], 0.5);
  await done;
  assert(p.isLeaf && p.requiresGrad);
});

Deno.test("optim: parameters without gradient, and frozen ones, stay", async () => {
  const layer = new nn.Linear(1, 1);
  const unused = leaf([5]);
  const optimizer = new optim.Adam({
    parameters: [...layer.parameters(), unused],
    learningRate: 1,
  });
  layer.call(ones([1, 1])).sum().backward();
  layer.bias!.trainable = false;
  const weight = await layer.weight.toArray();
  await optimizer.step();
  assert(JSON.stringify(await layer.weight.toArray()) !== JSON.stringify(weight));
  assertEquals([await layer.bias!.toArray(), await unused.toArray()], [[0], [5]]);
  assertEquals(optimizer.stateDict().steps, { "0": 1 });
  optimizer.zeroGrad();
  assertEquals(layer.weight.grad, null);
});

Deno.test("optim: groups have their own decay and a factor of the rate; lr can be set", async () => {
  const [a, b] = [leaf([1]), leaf([1])];
  const optimizer = new optim.SGD({
    parameters: [{ params: [a], learningRate: 0.5 }, { params: [b], weightDecay: 1 }],
    learningRate: 0.2,
    weightDecay: 0,
  });
  for (const p of [a, b]) p.grad = tensor([1], { dtype: "float64" });
  await optimizer.step();
  assertAlmostEquals(await a.item() as number, 0.9, 1e-15);
  assertAlmostEquals(await b.item() as number, 0.6, 1e-15);
  optimizer.setLr(0);
  await optimizer.step();
  assertAlmostEquals(await a.item() as number, 0.9, 1e-15);
  assertThrows(() => optimizer.setLr(NaN), ValueError, "NaN");
});

Deno.test("optim: training goes on from a state as if it had not stopped", async () => {
  const make = () => {
    seed(1);
    const model = new nn.Sequential(new nn.Linear(3, 4), new nn.Tanh(), new nn.Linear(4, 1));
    const learningRate = new optim.lr.StepDecay(0.1, 2);
    const parameters = model.namedParameters();
    return {
      model,
      learningRate,
      optimizer: new optim.Adam({ parameters, learningRate, amsgrad: true }),
    };
  };
  const train = async ({ model, learningRate, optimizer }: ReturnType<typeof make>) => {
    seed(2);
    for (let i = 0; i < 3; i++) {
      model.call(randn([5, 3])).square().mean().backward();
      await optimizer.step();
      optimizer.clearGrad();
      learningRate.step();
    }
    return await Promise.all(model.parameters().map((p) => p.toArray()));
  };
  const first = make();
  await train(first);
  const { slots, ...rest } = first.optimizer.stateDict();
  const saved = {
    ...JSON.parse(JSON.stringify(rest)),
    slots: Object.fromEntries(Object.entries(slots).map(([k, v]) => [k, v.clone()])),
  };
  const weights = Object.fromEntries(
    Object.entries(first.model.stateDict()).map(([k, v]) => [k, v.clone()]),
  );
  const second = make();
  second.model.setStateDict(weights);
  second.optimizer.setStateDict(saved);
  assertEquals(await train(second), await train(first));
  assertEquals(second.optimizer.stateDict().steps["0.weight"], 6);
});

Deno.test("optim: states that do not fit change nothing", async () => {
  const p = leaf([1, 2]);
  const optimizer = new optim.Momentum({ parameters: [["w", p]] });
  p.grad = ones([2], { dtype: "float64" });
  await optimizer.step();
  const good = optimizer.stateDict();
  const velocity = good.slots["w.velocity"];
  const bad: [Partial<optim.OptimizerState>, string][] = [
    [{ optimizer: "Adam" }, "the state of Adam"],
    [{ steps: { v: 1 } }, "no parameters v"],
    [{ steps: { w: 0 } }, "steps of w are 0"],
    [{ slots: {} }, "slot w.velocity is missing"],
    [{ slots: { ...good.slots, "w.other": velocity } }, "w.other"],
    [{ slots: { "w.velocity": zeros([3]) } }, "shape [3]"],
    [{ scheduler: { lastEpoch: 1, lastLr: 1 } }, "learningRate is a number here"],
    [{ learningRate: -1 }, "learningRate -1"],
  ];
  for (const [change, text] of bad) {
    assertThrows(() => optimizer.setStateDict({ ...good, ...change }), Error, text);
    assertEquals(optimizer.stateDict().steps, { w: 1 });
    assertEquals(await optimizer.stateDict().slots["w.velocity"].toArray(), [1, 1]);
  }
  optimizer.setStateDict({ ...good, steps: {}, slots: {} });
  assertEquals(optimizer.stateDict().slots, {});
});

Deno.test("optim: clipping leaves the gradients themselves alone", async () => {
  const [a, b] = [leaf([0, 0], "float32"), leaf([0], "float32")];
  a.grad = tensor([6, 0]);
  b.grad = tensor([8]);
  const gradClip = new optim.ClipGradByGlobalNorm(5);
  const optimizer = new optim.SGD({ parameters: [a, b], learningRate: 1, gradClip });
  await optimizer.step();
  assertEquals([await a.toArray(), await b.toArray()], [[-3, 0], [-4]]);
  assertEquals([await a.grad.toArray(), await b.grad.toArray()], [[6, 0], [8]]);
  await optimizer.step();
  assertEquals(await b.toArray(), [-8]);
});

Deno.test("optim: the global norm of many gradients, small ones, and none", async () => {
  const grads = Array.from(
    { length: 20 },
    (_, i) => tensor([[i, -i], [1, 0]], { dtype: "float64" }),
  );
  const norm = Math.sqrt(grads.reduce((sum, _, i) => sum + 2 * i * i + 1, 0));
  const clipped = new optim.ClipGradByGlobalNorm(2).clip(grads);
  for (const [i, g] of clipped.entries()) {
    assertAlmostEquals((await g.data())[0] as number, 2 * i / norm, 1e-14);
  }
  const small = new optim.ClipGradByGlobalNorm(1000).clip(grads);
  assertEquals(await small[7].toArray(), await grads[7].toArray());
  assertEquals(new optim.ClipGradByGlobalNorm(1).clip([]), []);
  // Squares of these would overflow float16.
  const [narrow] = new optim.ClipGradByNorm(1).clip([tensor([30000, 40000], { dtype: "float16" })]);
  assertAlmostEquals((await narrow.data())[0] as number, 0.6, 1e-3);
  const [zero] = new optim.ClipGradByNorm(1).clip([zeros([2])]);
  assertEquals(await zero.toArray(), [0, 0]);
});

Deno.test("optim: what cannot be optimized", async () => {
  const p = leaf([1]);
  const sgd = (parameters: Tensor[], learningRate = 0.1) =>
    new optim.SGD({ parameters, learningRate });
  assertThrows(() => sgd([]), ValueError, "without parameters");
  assertThrows(() => sgd([p, p]), ValueError, "given twice");
  assertThrows(() => sgd([p.mul(2)]), ValueError, "the result of an op");
  assertThrows(() => sgd([tensor([1], { dtype: "int32" })]), ValueError, "int32");
  assertThrows(() => sgd([p], Infinity), ValueError, "Infinity");
  assertThrows(() => sgd([p], -1), ValueError, "-1");
  assertThrows(
    () => new optim.SGD({ parameters: [["a", p], ["a", leaf([1])]] }),
    ValueError,
    "same name",
  );
  assertThrows(() => new optim.Adam({ parameters: [p], beta1: 1 }), ValueError, "beta1 1");
  assertThrows(
    () => new optim.Momentum({ parameters: [p], momentum: NaN }),
    ValueError,
    "momentum NaN",
  );
  assertThrows(() => new optim.SGD({ parameters: [p], weightDecay: -1 }), ValueError, "-1");
  assertThrows(() => new optim.ClipGradByNorm(0), ValueError, "clipNorm 0");
  assertThrows(() => new optim.ClipGradByValue(-1), ValueError, "1 … -1");
  const weightDecay = new optim.L1Decay(0.1);
  assertThrows(() => new optim.AdamW({ parameters: [p], weightDecay }), ValueError, "L1Decay");
  const group = { params: [p], weightDecay };
  assertThrows(() => new optim.AdamW({ parameters: [group] }), ValueError, "L1Decay");
  const learningRate = new optim.lr.StepDecay(0.1, 3);
  const scheduled = new optim.SGD({ parameters: [p], learningRate });
  assertThrows(() => scheduled.setLr(1), ValueError, "StepDecay");
  const layer = new nn.Linear(1, 1);
  const moved = new optim.Momentum({ parameters: layer.parameters() });
  const step = async (dtype: DType) => {
    layer.call(ones([1, 1], { dtype })).sum().backward();
    await moved.step();
  };
  await step("float32");
  layer.to("float64");
  await assertRejects(() => step("float64"), StateError, "make the optimizer after");
});
