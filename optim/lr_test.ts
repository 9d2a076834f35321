// The formulas that have goldens are checked there too; here are the others, the bounds and the state.
import { assertAlmostEquals, assertEquals, assertThrows } from "jsr:@std/assert@1";
import { optim, StateError, tensor, ValueError } from "../mod.ts";

const { lr } = optim;

function rates(schedule: optim.lr.LRScheduler, count: number): number[] {
  return Array.from({ length: count }, () => {
    const rate = schedule.lastLr;
    schedule.step();
    return rate;
  });
}

/** Equal within 1e-12 of the expected. */
function assertRates(got: readonly number[], want: readonly number[]): void {
  assertEquals(got.length, want.length);
  got.forEach((rate, t) =>
    assertAlmostEquals(rate, want[t], 1e-12 * Math.abs(want[t]) + 1e-18, `step ${t}`)
  );
}

Deno.test("optim.lr: cosine, by Paddle's recursion too", () => {
  const [base, end, low] = [0.5, 33, 0.01];
  const want = [base];
  for (let t = 1; t < 100; t++) {
    const last = want[t - 1];
    const turn = (t - 1 - end) % (2 * end) === 0;
    want.push(
      turn
        ? last + (base - low) * (1 - Math.cos(Math.PI / end)) / 2
        : (1 + Math.cos(Math.PI * t / end)) / (1 + Math.cos(Math.PI * (t - 1) / end)) *
            (last - low) + low,
    );
  }
  const got = rates(new lr.CosineAnnealingDecay(base, end, { etaMin: low }), 100);
  // The recursion divides by numbers near 0, so that it is the less exact of the two.
  got.forEach((rate, t) => assertAlmostEquals(rate, want[t], 1e-12, `step ${t}`));
});

Deno.test("optim.lr: powers, milestones, polynomials", () => {
  assertRates(rates(new lr.ExponentialDecay(0.3, 0.9), 5), [0.3, 0.27, 0.243, 0.2187, 0.19683]);
  assertRates(
    rates(new lr.MultiStepDecay(1, [2, 3, 6]), 8),
    [1, 1, 0.1, 0.01, 0.01, 0.01, 0.001, 0.001],
  );
  const squared = new lr.PolynomialDecay(1, 4, { endLr: 0.2, power: 2 });
  assertRates(rates(squared, 6), [1, 0.65, 0.4, 0.25, 0.2, 0.2]);
  const cyclic = new lr.PolynomialDecay(1, 2, { endLr: 0, cycle: true });
  // At a multiple of decaySteps the decay ends; the next step is in one that is longer.
  assertRates(rates(cyclic, 6), [1, 0.5, 0, 0.25, 0, 1 / 6]);
});

Deno.test("optim.lr: warm-up before another schedule, whose own counter it leaves alone", () => {
  const after = new lr.ExponentialDecay(1, 0.5);
  const schedule = new lr.LinearWarmup(after, 4, { startLr: 0.2, endLr: 1 });
  assertRates(rates(schedule, 7), [0.2, 0.4, 0.6, 0.8, 1, 0.5, 0.25]);
  assertEquals(after.lastEpoch, 0);
  assertRates(rates(new lr.LinearWarmup(0.3, 0, { startLr: 0, endLr: 1 }), 2), [0.3, 0.3]);
});

Deno.test("optim.lr: state and jumps", () => {
  const make = () => new lr.LinearWarmup(new lr.StepDecay(1, 3), 2, { startLr: 0, endLr: 1 });
  const schedule = make();
  schedule.step(7);
  const saved = JSON.parse(JSON.stringify(schedule.stateDict()));
  assertEquals(saved.lastEpoch, 7);
  assertAlmostEquals(saved.lastLr, 0.1, 1e-12);
  const other = make();
  other.setStateDict(saved);
  assertEquals(rates(other, 5), rates(schedule, 5));
  assertThrows(() => other.setStateDict({ lastEpoch: -1, lastLr: 0 }), StateError, "-1");
  assertThrows(() => schedule.step(0.5), ValueError, "0.5");
});

Deno.test("optim.lr: numbers out of range", () => {
  assertThrows(() => new lr.StepDecay(-0.1, 3), ValueError, "learningRate -0.1");
  assertThrows(() => new lr.StepDecay(0.1, 0), ValueError, "stepSize 0");
  assertThrows(() => new lr.CosineAnnealingDecay(NaN, 3), ValueError, "learningRate NaN");
  assertThrows(() => new lr.MultiStepDecay(0.1, [3, 3]), ValueError, "ascend");
  assertThrows(() => new lr.PolynomialDecay(0.1, 3, { power: 0 }), ValueError, "power 0");
  assertThrows(
    () => new lr.LinearWarmup(0.1, -1, { startLr: 0, endLr: 1 }),
    ValueError,
    "warmupSteps -1",
  );
  const wild = new lr.LambdaDecay(0.1, (t) => 1 - t);
  const parameters = [tensor([1], { requiresGrad: true })];
  const optimizer = new optim.SGD({ parameters, learningRate: wild });
  wild.step(2);
  assertThrows(() => optimizer.getLr(), ValueError, "at step 2");
});
