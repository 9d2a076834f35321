/**
 * What a call costs when there is next to nothing to compute: microseconds a call, garbage included, over many
 * calls with an await now and then as a training loop has it.
 *
 *     deno run bench/overhead.ts
 *
 * Deliberately not here: throughput (gemm.ts, conv.ts, kernels.ts).
 *
 * @module
 */
import { memory, nn, noGrad, type Tensor, tensor } from "../mod.ts";

/** Calls between awaits. */
const STRETCH = 2_000;
const CALLS = 200_000;
const ROUNDS = 5;

/** Microseconds of one `fn`, all in: the best and the middle of some rounds. */
async function measure(fn: () => unknown, calls: number): Promise<[number, number]> {
  for (let i = 0; i < 2_000; i++) fn();
  await memory.collect();
  const probe = tensor(0);
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    for (let done = 0; done < calls / ROUNDS; done += STRETCH) {
      for (let i = 0; i < STRETCH; i++) fn();
      // A checkpoint of the library, where garbage is given back.
      await probe.item();
    }
    await memory.collect();
    rounds.push((performance.now() - start) * 1000 / (calls / ROUNDS));
  }
  rounds.sort((x, y) => x - y);
  return [rounds[0], rounds[ROUNDS >> 1]];
}

const a = tensor([1, 2, 3, 4]);
const b = tensor([5, 6, 7, 8]);
const w = tensor([1, 2, 3, 4], { requiresGrad: true });
const m = tensor([[1, 2], [3, 4]]);
const row = tensor([1, 2]);
const wm = tensor([[1, 2], [3, 4]], { requiresGrad: true });
const cases: [string, () => unknown, number][] = [
  ["add, 4 elements", () => a.add(b), CALLS],
  ["add with recording", () => w.add(b), CALLS],
  ["add of a number", () => a.add(1), CALLS],
  ["mul with recording (saves)", () => w.mul(b), CALLS],
  ["add_ in place", () => a.add_(1), CALLS],
  ["add, broadcast", () => m.add(row), CALLS / 2],
  ["reshape (a view)", () => a.reshape([2, 2]), CALLS],
  ["sum", () => a.sum(), CALLS],
  ["sum with recording", () => w.sum(), CALLS],
  ["matmul, 2 x 2", () => m.matmul(m), CALLS / 2],
  ["softmax, a composite", () => nn.functional.softmax(m), CALLS / 2],
  ["softmax with recording", () => nn.functional.softmax(wm), CALLS / 2],
  [
    "forward and backward of mul, add, sum",
    () => {
      w.zeroGrad();
      const y: Tensor = w.mul(b).add(a).sum();
      y.backward();
    },
    CALLS / 5,
  ],
  ["noGrad(() => add)", () => noGrad(() => w.add(b)), CALLS],
];
const cell = (us: number) => us.toFixed(2).padStart(8);
console.log(`${"µs a call".padEnd(40)}     best   middle`);
for (const [name, fn, calls] of cases) {
  const [best, middle] = await measure(fn, calls);
  console.log(`${name.padEnd(40)} ${cell(best)} ${cell(middle)}`);
}
console.log(`peak ${(memory.stats().peak / 2 ** 20).toFixed(1)} MiB`);
