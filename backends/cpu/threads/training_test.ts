// Training gives the same losses and weights to the last bit with any number of threads.
import { assertEquals } from "jsr:@std/assert@1";
import { nn, optim, seed, type Tensor, tensor } from "../../../mod.ts";
import { getNumThreads, setNumThreads } from "./count.ts";
import { tuning } from "./pool.ts";
import { bits, startAll, values } from "./support_test.ts";

const F = nn.functional;

/** A network for small pictures, with every kind of layer that such networks have. */
class Net extends nn.Layer {
  conv1 = new nn.Conv2D(1, 8, 5);
  norm = new nn.BatchNorm2D(8);
  conv2 = new nn.Conv2D(8, 16, 3);
  hidden = new nn.Linear(400, 64);
  out = new nn.Linear(64, 10);

  override forward(x: Tensor): Tensor {
    let y = F.maxPool2d(F.relu(this.norm.call(this.conv1.call(x))), 2);
    y = F.avgPool2d(F.gelu(this.conv2.call(y)), 2);
    y = F.dropout(F.relu(this.hidden.call(y.flatten(1))), { p: 0.2 });
    return this.out.call(y);
  }
}

async function train(steps: number): Promise<Uint8Array[]> {
  seed(3);
  const model = new Net();
  const optimizer = new optim.Adam({ learningRate: 2e-3, parameters: model.parameters() });
  const losses: Tensor[] = [];
  for (let step = 0; step < steps; step++) {
    // The last batch is smaller.
    const n = step === steps - 1 ? 19 : 32;
    const x = tensor(values(n * 784, step)).reshape([n, 1, 28, 28]);
    const label = tensor(Int32Array.from({ length: n }, (_, i) => (i * 7 + step) % 10));
    const loss = F.crossEntropy(model.call(x), label);
    loss.backward();
    await optimizer.step();
    optimizer.clearGrad();
    losses.push(loss.detach());
  }
  return bits([...losses, ...model.parameters()]);
}

Deno.test("thirty steps of training give the same bits with 1, 2, 3 and 8 threads", async () => {
  const before = getNumThreads();
  const usual = { ...tuning };
  try {
    setNumThreads(1);
    const alone = await train(30);
    for (const n of [2, 3, 8]) {
      setNumThreads(n);
      startAll();
      // As it is usually shared out, and with all that can be.
      Object.assign(tuning, n === 2 ? usual : { enough: 0, enoughToWake: 0, part: 2000 });
      assertEquals(await train(30), alone);
    }
  } finally {
    Object.assign(tuning, usual);
    setNumThreads(before);
  }
});
