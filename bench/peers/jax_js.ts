/**
 * jax-js in the benchmarks, on its WebAssembly device. Functions are jitted, except where the eager form
 * is faster. Its functions consume their arguments; `.ref` keeps one.
 *
 * @module
 */

import type { Run } from "../harness.ts";
import { CHAIN, CHECKED_STEPS, type InputOf, LEARNING, oneHot } from "../workloads.ts";
import { importPackage, type Library, type LoadOptions } from "./library.ts";

const VERSION = "0.1.25";
const PACKAGE = `npm:@jax-js/jax@${VERSION}`;

interface Arr {
  readonly ref: Arr;
  readonly shape: number[];
  add(x: Arr | number): Arr;
  sub(x: Arr | number): Arr;
  mul(x: Arr | number): Arr;
  reshape(shape: number[]): Arr;
  data(): Promise<ArrayLike<number>>;
  dispose(): void;
}

type Loss = (parameters: Arr[], x: Arr, labels: Arr) => Arr;
type Pair = [number, number];

/** What is used of it. */
interface JaxJs {
  blockUntilReady(x: Arr | Arr[]): Promise<unknown>;
  init(device: string): Promise<unknown>;
  defaultDevice(device: string): string;
  jit<F extends (...args: never[]) => unknown>(f: F): F & { dispose(): void };
  valueAndGrad(f: Loss): (...args: Parameters<Loss>) => [Arr, Arr[]];
  readonly lax: {
    conv(x: Arr, filter: Arr, strides: Pair, padding: "VALID" | Pair[]): Arr;
  };
  readonly nn: {
    gelu(x: Arr, options: { approximate: boolean }): Arr;
    logSoftmax(x: Arr, axis: number): Arr;
    relu(x: Arr): Arr;
    softmax(x: Arr, axis: number): Arr;
    standardize(x: Arr, axis: number, options: { epsilon: number }): Arr;
  };
  readonly numpy: {
    add(x: Arr, y: Arr): Arr;
    array(data: Float32Array | Int32Array): Arr;
    matmul(x: Arr, y: Arr): Arr;
    max(x: Arr, axes: number[]): Arr;
    sort(x: Arr): Arr;
    sum(x: Arr): Arr;
    take(x: Arr, indices: Arr, axis: number): Arr;
  };
}

/** jax-js. */
export async function load({ oneThread }: LoadOptions): Promise<Library> {
  // It starts a pool of Web Workers wherever there are any.
  if (oneThread) delete (globalThis as { Worker?: unknown }).Worker;
  const { blockUntilReady, init, defaultDevice, jit, lax, nn, numpy: np, valueAndGrad } =
    await importPackage<JaxJs>(PACKAGE);
  await init("wasm");
  defaultDevice("wasm");

  const array = (data: Float32Array | Int32Array, shape?: readonly number[]): Arr => {
    const flat = np.array(data);
    return shape === undefined ? flat : flat.reshape([...shape]);
  };

  /** A function that gives an array, which is waited for. */
  const op = (compute: () => Arr, inputs: readonly Arr[]): Run => ({
    async once() {
      const y = compute();
      await blockUntilReady(y);
      y.dispose();
    },
    result: () => compute().data(),
    dispose() {
      for (const each of inputs) each.dispose();
    },
  });

  /** Steps of plain gradient descent, jitted as a whole or not; their result is the first losses. */
  const sgd = (
    jitted: boolean,
    loss: Loss,
    initial: Arr[],
    x: Arr,
    labels: Arr,
  ): Run => {
    const eager = (parameters: Arr[], x: Arr, labels: Arr): [Arr, Arr[]] => {
      const [value, gradients] = valueAndGrad(loss)(parameters.map((w) => w.ref), x, labels);
      return [value, parameters.map((w, i) => w.sub(gradients[i].mul(LEARNING.sgd)))];
    };
    const compiled = jitted ? jit(eager) : undefined;
    const step = compiled ?? eager;
    let parameters = initial;
    const next = async (): Promise<number> => {
      const [value, updated] = step(parameters, x.ref, labels.ref);
      parameters = updated;
      await blockUntilReady(parameters);
      return (await value.data())[0];
    };
    return {
      async once() {
        await next();
      },
      async result() {
        const losses: number[] = [];
        for (let i = 0; i < CHECKED_STEPS; i++) losses.push(await next());
        return losses;
      },
      dispose() {
        for (const each of [...parameters, x, labels]) each.dispose();
        compiled?.dispose();
      },
    };
  };
  const crossEntropy = (scores: Arr, labels: Arr): Arr => {
    const [batch] = scores.shape;
    return np.sum(nn.logSoftmax(scores, -1).mul(labels)).mul(-1 / batch);
  };
  const dense = (x: Arr, weight: Arr, bias: Arr): Arr => np.matmul(x, weight).add(bias);
  const layer = (sizes: { in: number; out: number; weight: Float32Array }): Arr[] => [
    array(sizes.weight, [sizes.in, sizes.out]),
    array(new Float32Array(sizes.out)),
  ];

  const mlp = (jitted: boolean, { batch, classes, x, labels, layers }: InputOf<"mlp">): Run => {
    const loss: Loss = (parameters, x, labels) => {
      let y = x;
      for (let i = 0; i < parameters.length; i += 2) {
        y = dense(i === 0 ? y : nn.relu(y), parameters[i], parameters[i + 1]);
      }
      return crossEntropy(y, labels);
    };
    return sgd(
      jitted,
      loss,
      layers.flatMap(layer),
      array(x, [batch, x.length / batch]),
      array(oneHot(labels, classes), [batch, classes]),
    );
  };
  const lenet = (
    jitted: boolean,
    { batch, side, classes, x, labels, convs, layers }: InputOf<"lenet">,
  ): Run => {
    const loss: Loss = (parameters, x, labels) => {
      const [w1, b1, w2, b2, w3, b3, w4, b4] = parameters;
      let y = x;
      for (const [w, b] of [[w1, b1], [w2, b2]]) {
        const [channels] = b.shape;
        y = nn.relu(lax.conv(y, w, [1, 1], "VALID").add(b.reshape([1, channels, 1, 1])));
        const [n, c, h, wide] = y.shape;
        y = np.max(y.reshape([n, c, h / 2, 2, wide / 2, 2]), [3, 5]);
      }
      y = nn.relu(dense(y.reshape([batch, -1]), w3, b3));
      return crossEntropy(dense(y, w4, b4), labels);
    };
    const filters = convs.flatMap(({ shape, weight }) => [
      array(weight, shape),
      array(new Float32Array(shape[0])),
    ]);
    return sgd(
      jitted,
      loss,
      [...filters, ...layers.flatMap(layer)],
      array(x, [batch, 1, side, side]),
      array(oneHot(labels, classes), [batch, classes]),
    );
  };

  return {
    name: "jax-js",
    version: VERSION,
    module: PACKAGE,
    threads: oneThread ? "1 thread" : `${navigator.hardwareConcurrency} workers of its own`,
    rows: {
      matmul({ size, ...input }) {
        const [a, b] = [array(input.a, [size, size]), array(input.b, [size, size])];
        return op(() => np.matmul(a.ref, b.ref), [a, b]);
      },
      mlp: { SGD: (input) => mlp(true, input) },
      // Jitted, this version takes several times as long.
      lenet: { SGD: (input) => lenet(true, input), "SGD, eager": (input) => lenet(false, input) },
      gelu(input) {
        const x = array(input.x);
        const f = jit((x: Arr) => nn.gelu(x, { approximate: true }));
        return op(() => f(x.ref), [x]);
      },
      softmax({ rows, columns, ...input }) {
        const x = array(input.x, [rows, columns]);
        const f = jit((x: Arr) => nn.softmax(x, -1));
        return op(() => f(x.ref), [x]);
      },
      layer_norm({ rows, columns, epsilon, ...input }) {
        const x = array(input.x, [rows, columns]);
        const [weight, bias] = [array(input.weight), array(input.bias)];
        const f = jit((x: Arr, weight: Arr, bias: Arr) =>
          nn.standardize(x, -1, { epsilon }).mul(weight).add(bias)
        );
        return op(() => f(x.ref, weight.ref, bias.ref), [x, weight, bias]);
      },
      conv({ shape, filter, ...input }) {
        // Jitted, this version takes several times as long.
        const [x, weight] = [array(input.x, shape), array(input.weight, filter)];
        return op(() => lax.conv(x.ref, weight.ref, [1, 1], [[1, 1], [1, 1]]), [x, weight]);
      },
      add(input) {
        const [a, b] = [array(input.a), array(input.b)];
        return op(() => np.add(a.ref, b.ref), [a, b]);
      },
      sum(input) {
        const x = array(input.x);
        return op(() => np.sum(x.ref), [x]);
      },
      sort(input) {
        const x = array(input.x);
        return op(() => np.sort(x.ref), [x]);
      },
      gather({ rows, size, ...input }) {
        const [table, ids] = [array(input.table, [rows, size]), array(input.ids)];
        return op(() => np.take(table.ref, ids.ref, 0), [table, ids]);
      },
      overhead: {
        "": (input) => {
          const [a, b] = [array(input.a), array(input.b)];
          return op(() => {
            let y = a.ref;
            for (let i = 0; i < CHAIN; i++) y = np.add(y, b.ref);
            return y;
          }, [a, b]);
        },
      },
    },
  };
}
