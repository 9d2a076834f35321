// Trains a small convolutional network on real handwritten digits, with no permission at all:
//
//     deno run examples/digits.ts
//
// Options: --epochs N (default 10), --batch N (32), --seed N (1); --save FILE writes the weights, reads them again
// and compares (needs --allow-write and --allow-read).
// Expected: at least 98.0 % of the 2,000 held-out digits right, within a minute.
import { load, nn, noGrad, optim, save, seed, type Tensor, tensor } from "../mod.ts";
import { type Digits, loadDigits, shuffled, SIDE } from "./lib/digits_data.ts";
import { demandFile, options } from "./lib/options.ts";
import { Progress } from "./lib/progress.ts";
import { confusionMatrix, drawDigits } from "./lib/terminal.ts";

const F = nn.functional;

/** Two convolutions with pooling, then a linear layer: [N, 1, 28, 28] to [N, 10]. */
class DigitNet extends nn.Layer {
  conv1 = new nn.Conv2D(1, 16, 5);
  conv2 = new nn.Conv2D(16, 48, 3);
  out = new nn.Linear(48 * 5 * 5, 10);

  override forward(x: Tensor): Tensor {
    let y = F.maxPool2d(F.relu(this.conv1.call(x)), 2);
    y = F.maxPool2d(F.relu(this.conv2.call(y)), 2);
    return this.out.call(y.flatten(1));
  }
}

/** One batch; in training each picture is shifted by up to two pixels. */
function batch(
  data: Digits,
  order: Int32Array,
  from: number,
  size: number,
  shift: number,
): [Tensor, Tensor] {
  const n = Math.min(size, data.count - from);
  const pixels = SIDE * SIDE;
  const images = new Float32Array(n * pixels);
  const labels = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    const source = order[from + i];
    labels[i] = data.labels[source];
    const span = 2 * shift + 1;
    const mixed = Math.imul(source + 1, 0x9e3779b1) ^ Math.imul(from + 7, 0x85ebca6b) ^ order[0];
    const dy = ((mixed >>> 3) % span) - shift;
    const dx = ((mixed >>> 13) % span) - shift;
    for (let y = Math.max(0, dy); y < Math.min(SIDE, SIDE + dy); y++) {
      const row = source * pixels + (y - dy) * SIDE;
      for (let x = Math.max(0, dx); x < Math.min(SIDE, SIDE + dx); x++) {
        images[i * pixels + y * SIDE + x] = data.images[row + x - dx];
      }
    }
  }
  return [tensor(images).reshape([n, 1, SIDE, SIDE]), tensor(labels)];
}

/** Predictions and their probabilities for all pictures. */
async function predict(
  model: DigitNet,
  data: Digits,
): Promise<{ labels: Int32Array; confidence: Float32Array }> {
  const order = Int32Array.from({ length: data.count }, (_, i) => i);
  const labels = new Int32Array(data.count);
  const confidence = new Float32Array(data.count);
  model.eval();
  for (let from = 0; from < data.count; from += 500) {
    const [best, index] = noGrad(() => {
      const [x] = batch(data, order, from, 500, 0);
      return F.softmax(model.call(x)).maxWithIndex(1);
    });
    confidence.set(await best.data() as Float32Array, from);
    labels.set(await index.data() as Int32Array, from);
  }
  model.train();
  return { labels, confidence };
}

const { epochs, batch: size, seed: random, save: path } = options({
  epochs: 10,
  batch: 32,
  seed: 1,
});
if (path !== undefined) demandFile(path);
seed(random);

const { train, test } = loadDigits(8000);
const model = new DigitNet();
const steps = epochs * Math.ceil(train.count / size);
const schedule = new optim.lr.CosineAnnealingDecay(5e-3, steps);
const optimizer = new optim.Adam({ learningRate: schedule, parameters: model.parameters() });
const weights = model.parameters().reduce((n, p) => n + p.numel, 0);
console.log(`${train.count} digits to learn from, ${test.count} held out, ${weights} weights`);

const progress = new Progress(epochs * train.count);
let seen = 0;
for (let epoch = 1; epoch <= epochs; epoch++) {
  const order = shuffled(train.count, random * 1000 + epoch);
  let right = 0;
  let lossSum = 0;
  for (let from = 0; from < train.count; from += size) {
    const [x, y] = batch(train, order, from, size, 2);
    const scores = model.call(x);
    const loss = F.crossEntropy(scores, y);
    loss.backward();
    await optimizer.step();
    optimizer.clearGrad();
    schedule.step();
    const n = x.shape[0];
    seen += n;
    lossSum += Number(await loss.item()) * n;
    right += Number(await scores.argmax(1).equal(y).sum().item());
    const done = Math.min(from + size, train.count);
    const figures = `epoch ${epoch}/${epochs}  loss ${(lossSum / done).toFixed(4)}  accuracy ${
      (100 * right / done).toFixed(2)
    } %`;
    progress.update(seen, figures);
    if (done === train.count) progress.line(seen, figures);
  }
}

const { labels, confidence } = await predict(model, test);
const wrong = [...labels.keys()].filter((i) => labels[i] !== test.labels[i]);
console.log("\nSome held-out digits:");
console.log(drawDigits(test, [0, 1, 2], labels, confidence));
console.log(`\nMistakes (${wrong.length}), some of them:`);
console.log(drawDigits(test, wrong.slice(0, 3), labels, confidence));
console.log("\nRows are what the digits are, columns what they were taken for:");
console.log(confusionMatrix(test.labels, labels, 10));

if (path !== undefined) {
  await save(path, model.stateDict());
  const again = new DigitNet();
  again.setStateDict(await load(path));
  const check = await predict(again, test);
  const same = check.labels.every((l, i) => l === labels[i]) &&
    check.confidence.every((c, i) => c === confidence[i]);
  console.log(
    `saved to ${path}, read back: ${
      same ? "the same predictions to the last bit" : "DIFFERENT predictions"
    }`,
  );
  if (!same) Deno.exit(1);
}
console.log(`held-out accuracy: ${(100 * (test.count - wrong.length) / test.count).toFixed(2)} %`);
