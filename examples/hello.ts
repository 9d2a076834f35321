// The smallest training script: a network learns exclusive or.
//
//     deno run examples/hello.ts
//
// Expected: four outputs that round to 0, 1, 1, 0.
import { nn, optim, seed, tensor } from "../mod.ts";

seed(1);
const [x, y] = [tensor([[0, 0], [0, 1], [1, 0], [1, 1]]), tensor([[0], [1], [1], [0]])];
const model = new nn.Sequential(new nn.Linear(2, 8), new nn.Tanh(), new nn.Linear(8, 1));
const optimizer = new optim.Adam({ learningRate: 0.05, parameters: model.parameters() });
for (let step = 0; step < 200; step++) {
  nn.functional.mseLoss(model.call(x), y).backward();
  await optimizer.step();
  optimizer.clearGrad();
}
console.log(model.call(x));
