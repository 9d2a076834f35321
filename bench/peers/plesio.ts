/**
 * Plesio in the benchmarks: eager, as a user writes it.
 *
 * @module
 */

import * as p from "../../mod.ts";
import config from "../../deno.json" with { type: "json" };
import type { Run } from "../harness.ts";
import { CHAIN, CHECKED_STEPS, type InputOf, LEARNING } from "../workloads.ts";
import type { Library } from "./library.ts";

const F = p.nn.functional;

/** Waits until there is a value: one element is read. */
async function ready(x: p.Tensor): Promise<void> {
  using flat = x.flatten();
  using one = flat.slice({ axes: [0], starts: [0], ends: [1] });
  await one.data();
}

/** A function that gives a tensor. */
function op(compute: () => p.Tensor): Run {
  return {
    async once() {
      const y = compute();
      await ready(y);
      y.dispose();
    },
    async result() {
      const y = compute();
      const elements = await y.data();
      y.dispose();
      return elements as ArrayLike<number>;
    },
  };
}

/** Steps of an optimizer; their result is the first losses. */
function training(
  model: p.nn.Layer,
  optimizer: p.optim.Optimizer,
  x: p.Tensor,
  labels: p.Tensor,
): Run {
  const step = async (): Promise<number> => {
    const loss = F.crossEntropy(model.call(x), labels);
    loss.backward();
    await optimizer.step();
    optimizer.clearGrad();
    return Number(await loss.item());
  };
  return {
    async once() {
      await step();
    },
    async result() {
      const losses: number[] = [];
      for (let i = 0; i < CHECKED_STEPS; i++) losses.push(await step());
      return losses;
    },
  };
}

type Parameters = readonly p.nn.Parameter[];
const OPTIMIZERS = {
  Adam: (parameters: Parameters) =>
    new p.optim.Adam({
      parameters,
      learningRate: LEARNING.adam,
      beta1: LEARNING.beta1,
      beta2: LEARNING.beta2,
      epsilon: LEARNING.epsilon,
    }),
  SGD: (parameters: Parameters) => new p.optim.SGD({ parameters, learningRate: LEARNING.sgd }),
};

/** The same training with each optimizer. */
function trainings<I extends { readonly x: Float32Array; readonly labels: Int32Array }>(
  shape: (input: I) => number[],
  build: (input: I) => p.nn.Layer,
): Record<keyof typeof OPTIMIZERS, (input: I) => Run> {
  const way = (optimizer: (parameters: Parameters) => p.optim.Optimizer) => (input: I): Run => {
    const model = build(input);
    const x = p.tensor(input.x).reshape(shape(input));
    return training(model, optimizer(model.parameters()), x, p.tensor(input.labels));
  };
  return { Adam: way(OPTIMIZERS.Adam), SGD: way(OPTIMIZERS.SGD) };
}

function linear(sizes: { in: number; out: number; weight: Float32Array }): p.nn.Linear {
  const layer = new p.nn.Linear(sizes.in, sizes.out);
  p.noGrad(() => layer.weight.copy_(p.tensor(sizes.weight).reshape([sizes.in, sizes.out])));
  return layer;
}

function conv(sizes: { shape: readonly number[]; weight: Float32Array }): p.nn.Conv2D {
  const [to, from, kernel] = sizes.shape;
  const layer = new p.nn.Conv2D(from, to, kernel);
  p.noGrad(() => layer.weight.copy_(p.tensor(sizes.weight).reshape([...sizes.shape])));
  p.noGrad(() => layer.bias!.zero_());
  return layer;
}

/** Plesio. */
export function load(): Promise<Library> {
  return Promise.resolve<Library>({
    name: "plesio",
    version: config.version,
    module: new URL("../../mod.ts", import.meta.url).href,
    threads: "1 thread",
    tensorPeak: () => p.memory.stats().peak,
    rows: {
      matmul({ size, a, b }) {
        const [x, y] = [a, b].map((each) => p.tensor(each).reshape([size, size]));
        return op(() => p.matmul(x, y));
      },
      mlp: trainings<InputOf<"mlp">>(
        ({ batch, x }) => [batch, x.length / batch],
        ({ layers }) =>
          new p.nn.Sequential(
            ...layers.flatMap((sizes, i) =>
              i === 0 ? [linear(sizes)] : [new p.nn.ReLU(), linear(sizes)]
            ),
          ),
      ),
      lenet: trainings<InputOf<"lenet">>(
        ({ batch, side }) => [batch, 1, side, side],
        ({ convs, layers }) =>
          new p.nn.Sequential(
            ...convs.flatMap((each) => [conv(each), new p.nn.ReLU(), new p.nn.MaxPool2D(2)]),
            new p.nn.Flatten(),
            linear(layers[0]),
            new p.nn.ReLU(),
            linear(layers[1]),
          ),
      ),
      gelu({ x }) {
        const t = p.tensor(x);
        return op(() => p.gelu(t, { approximate: true }));
      },
      softmax({ rows, columns, x }) {
        const t = p.tensor(x).reshape([rows, columns]);
        return op(() => F.softmax(t));
      },
      layer_norm({ rows, columns, epsilon, ...input }) {
        const x = p.tensor(input.x).reshape([rows, columns]);
        const [weight, bias] = [p.tensor(input.weight), p.tensor(input.bias)];
        return op(() => F.layerNorm(x, columns, { weight, bias, epsilon }));
      },
      conv({ shape, filter, ...input }) {
        const x = p.tensor(input.x).reshape(shape);
        const weight = p.tensor(input.weight).reshape(filter);
        return op(() => F.conv2d(x, weight, undefined, { padding: 1 }));
      },
      add({ a, b }) {
        const [x, y] = [p.tensor(a), p.tensor(b)];
        return op(() => p.add(x, y));
      },
      sum({ x }) {
        const t = p.tensor(x);
        return op(() => p.sum(t));
      },
      sort({ x }) {
        const t = p.tensor(x);
        return op(() => p.sort(t)[0]);
      },
      gather({ rows, size, ...input }) {
        const table = p.tensor(input.table).reshape([rows, size]);
        const ids = p.tensor(input.ids);
        return op(() => F.embedding(ids, table));
      },
      overhead(input) {
        const [a, b] = [p.tensor(input.a), p.tensor(input.b)];
        return op(() => {
          let y = a;
          for (let i = 0; i < CHAIN; i++) y = p.add(y, b);
          return y;
        });
      },
    },
  });
}
