// A line through points by gradient descent, with the gradient worked out by hand and by autograd.
//
//     deno run examples/linear_regression.ts
//
// Expected: the two gradients agree in every line, and the weights end within 0.001 of least squares.
import { noGrad, randn, seed, tensor, uniform } from "../mod.ts";

seed(1);
const N = 100;
const x = uniform([N], { min: -1, max: 1 });
const y = x.mul(3).sub(2).add(randn([N]).mul(0.1));
const [xs, ys] = [await x.toArray() as number[], await y.toArray() as number[]];

/** The derivatives of mean((w x + b - y)²): 2 mean((w x + b - y) x) and 2 mean(w x + b - y). */
function gradientByHand(w: number, b: number): [number, number] {
  let [dw, db] = [0, 0];
  for (let i = 0; i < N; i++) {
    const error = w * xs[i] + b - ys[i];
    dw += 2 * error * xs[i] / N;
    db += 2 * error / N;
  }
  return [dw, db];
}

/** The weights that no others beat, from the normal equations. */
function leastSquares(): [number, number] {
  const mean = (v: readonly number[]) => v.reduce((a, b) => a + b, 0) / N;
  const [mx, my] = [mean(xs), mean(ys)];
  const w = mean(xs.map((v, i) => (v - mx) * (ys[i] - my))) / mean(xs.map((v) => (v - mx) ** 2));
  return [w, my - w * mx];
}

const w = tensor(0, { requiresGrad: true });
const b = tensor(0, { requiresGrad: true });
const show = (v: number) => v.toFixed(5).padStart(9);
let farthest = 0;
console.log("step       loss  dw by hand  autograd  db by hand  autograd");
for (let step = 0; step <= 100; step++) {
  const loss = x.mul(w).add(b).sub(y).square().mean();
  loss.backward();
  const hand = gradientByHand(Number(await w.item()), Number(await b.item()));
  const auto = [Number(await w.grad!.item()), Number(await b.grad!.item())];
  farthest = Math.max(farthest, ...hand.map((h, i) => Math.abs(h - auto[i])));
  if (step % 20 === 0) {
    const [dw, db] = hand.map(show);
    const figures = [show(Number(await loss.item())), `  ${dw}`, show(auto[0]), `  ${db}`];
    console.log(`${String(step).padStart(4)}  ${figures.join(" ")} ${show(auto[1])}`);
  }
  noGrad(() => {
    for (const weight of [w, b]) {
      weight.sub_(weight.grad!.mul(0.3));
      weight.grad = null;
    }
  });
}
const [bestW, bestB] = leastSquares();
const ended = [Number(await w.item()), Number(await b.item())];
const line = (w: number, b: number) =>
  `y = ${w.toFixed(3)} x ${b < 0 ? "-" : "+"} ${Math.abs(b).toFixed(3)}`;
console.log(`descent:       ${line(ended[0], ended[1])}`);
console.log(`least squares: ${line(bestW, bestB)}`);
console.log(`farthest apart the two gradients were: ${farthest.toExponential(1)}`);
