// Fits a network to noisy points of a function and draws points and curve in the terminal.
//
//     deno run examples/curve.ts
//
// Options: --steps N (default 1500), --seed N (1).
// Expected: the curve follows the points, at most 0.05 from the true function on average.
import { linspace, nn, noGrad, optim, randn, seed, type Tensor } from "../mod.ts";
import { options } from "./lib/options.ts";
import { plot } from "./lib/plot.ts";

const { steps, seed: start } = options({ steps: 1500, seed: 1 });
seed(start);

/** What is to be found again from the points. */
const f = (x: Tensor): Tensor => x.mul(2).sin().add(x.mul(0.5).cos());

const x = linspace(-3, 3, 120).reshape([120, 1]);
const truth = f(x);
const y = truth.add(randn([120, 1]).mul(0.15));
const model = new nn.Sequential(
  new nn.Linear(1, 32),
  new nn.Tanh(),
  new nn.Linear(32, 32),
  new nn.Tanh(),
  new nn.Linear(32, 1),
);
const schedule = new optim.lr.CosineAnnealingDecay(0.01, steps);
const optimizer = new optim.Adam({ learningRate: schedule, parameters: model.parameters() });
for (let step = 1; step <= steps; step++) {
  const loss = nn.functional.mseLoss(model.call(x), y);
  loss.backward();
  await optimizer.step();
  optimizer.clearGrad();
  schedule.step();
  if (step % Math.ceil(steps / 5) === 0) {
    console.log(`step ${step}  loss ${Number(await loss.item()).toFixed(4)}`);
  }
}

const fine = linspace(-3, 3, 288).reshape([288, 1]);
const curve = noGrad(() => model.call(fine));
const numbers = async (t: Tensor) => await t.data() as Float32Array;
console.log(plot([
  { x: await numbers(x), y: await numbers(y), mark: "·" },
  { x: await numbers(fine), y: await numbers(curve), mark: "█" },
]));
const distance = noGrad(() => model.call(x)).sub(truth).abs().mean();
console.log(`mean distance from the function: ${Number(await distance.item()).toFixed(3)}`);
