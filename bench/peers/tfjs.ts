/**
 * TensorFlow.js in the benchmarks, on its WebAssembly backend (SIMD; threads only in browsers). Its
 * kernels run at once, so a result exists when a call returns; one element is read all the same.
 *
 * @module
 */

import type { Run } from "../harness.ts";
import { CHAIN, CHECKED_STEPS, LEARNING, oneHot } from "../workloads.ts";
import { importPackage, type Library } from "./library.ts";

const VERSION = "4.22.0";
const PACKAGE = `npm:@tensorflow/tfjs@${VERSION}`;
const BACKEND = `npm:@tensorflow/tfjs-backend-wasm@${VERSION}`;

interface Tensor {
  readonly size: number;
  add(x: Tensor | number): Tensor;
  sub(x: Tensor): Tensor;
  mul(x: Tensor | number): Tensor;
  square(): Tensor;
  tanh(): Tensor;
  rsqrt(): Tensor;
  sum(): Tensor;
  reverse(): Tensor;
  reshape(shape: number[]): Tensor;
  slice(begin: number, size: number): Tensor;
  transpose(permutation: number[]): Tensor;
  data(): Promise<ArrayLike<number>>;
  dataSync(): ArrayLike<number>;
  dispose(): void;
}

interface Model {
  add(layer: unknown): void;
  compile(options: { optimizer: unknown; loss(labels: Tensor, scores: Tensor): Tensor }): void;
  trainOnBatch(x: Tensor, labels: Tensor): Promise<unknown>;
  dispose(): void;
}

/** What is used of it. */
interface TensorFlow {
  setBackend(name: string): Promise<boolean>;
  ready(): Promise<void>;
  tidy<T>(f: () => T): T;
  dispose(tensors: Tensor[]): void;
  tensor(data: Float32Array | Int32Array, shape?: readonly number[], dtype?: "int32"): Tensor;
  zeros(shape: number[]): Tensor;
  matMul(x: Tensor, y: Tensor): Tensor;
  softmax(x: Tensor): Tensor;
  moments(x: Tensor, axis: number, keepDims: boolean): { mean: Tensor; variance: Tensor };
  conv2d(x: Tensor, filter: Tensor, strides: number, padding: "same"): Tensor;
  topk(x: Tensor, k: number, sorted: boolean): { values: Tensor };
  gather(x: Tensor, indices: Tensor): Tensor;
  sequential(): Model;
  readonly layers: { dense(options: Record<string, unknown>): unknown };
  readonly losses: { softmaxCrossEntropy(labels: Tensor, scores: Tensor): Tensor };
  readonly train: { adam(rate: number, beta1: number, beta2: number, epsilon: number): unknown };
}

/** TensorFlow.js. */
export async function load(): Promise<Library> {
  const tf = await importPackage<TensorFlow>(PACKAGE);
  await importPackage(BACKEND);
  // The backend finds its .wasm files in its own package.
  if (!await tf.setBackend("wasm")) throw new Error("the wasm backend does not start");
  await tf.ready();

  /** A function that gives a tensor. */
  const op = (
    compute: () => Tensor,
    inputs: readonly Tensor[],
    read: (y: Tensor) => Tensor = (y) => y,
  ): Run => ({
    once() {
      const y = tf.tidy(compute);
      tf.tidy(() => y.reshape([-1]).slice(0, 1).dataSync());
      y.dispose();
    },
    async result() {
      const y = tf.tidy(() => read(compute()));
      const data = await y.data();
      y.dispose();
      return data;
    },
    dispose: () => tf.dispose([...inputs]),
  });

  return {
    name: "tfjs",
    version: VERSION,
    module: PACKAGE,
    threads: "1 thread",
    rows: {
      matmul({ size, ...input }) {
        const [a, b] = [tf.tensor(input.a, [size, size]), tf.tensor(input.b, [size, size])];
        return op(() => tf.matMul(a, b), [a, b]);
      },
      mlp: {
        Adam({ batch, classes, layers, ...input }) {
          const model = tf.sequential();
          layers.forEach((sizes, i) =>
            model.add(tf.layers.dense({
              inputShape: [sizes.in],
              units: sizes.out,
              activation: i < layers.length - 1 ? "relu" : "linear",
              weights: [tf.tensor(sizes.weight, [sizes.in, sizes.out]), tf.zeros([sizes.out])],
            }))
          );
          const { adam, beta1, beta2, epsilon } = LEARNING;
          model.compile({
            optimizer: tf.train.adam(adam, beta1, beta2, epsilon),
            loss: (labels, scores) => tf.losses.softmaxCrossEntropy(labels, scores),
          });
          const x = tf.tensor(input.x, [batch, input.x.length / batch]);
          const labels = tf.tensor(oneHot(input.labels, classes), [batch, classes]);
          const step = async () => Number(await model.trainOnBatch(x, labels));
          return {
            async once() {
              await step();
            },
            async result() {
              const losses: number[] = [];
              for (let i = 0; i < CHECKED_STEPS; i++) losses.push(await step());
              return losses;
            },
            dispose() {
              model.dispose();
              tf.dispose([x, labels]);
            },
          };
        },
      },
      lenet: "its wasm backend has no gradient of conv2d (no kernel Conv2DBackpropFilter)",
      gelu(input) {
        const x = tf.tensor(input.x);
        const root = Math.sqrt(2 / Math.PI);
        return op(() => {
          const inner = x.square().mul(0.044715 * root).add(root).mul(x);
          return inner.tanh().add(1).mul(x).mul(0.5);
        }, [x]);
      },
      softmax({ rows, columns, ...input }) {
        const x = tf.tensor(input.x, [rows, columns]);
        return op(() => tf.softmax(x), [x]);
      },
      layer_norm({ rows, columns, epsilon, ...input }) {
        const x = tf.tensor(input.x, [rows, columns]);
        const [weight, bias] = [tf.tensor(input.weight), tf.tensor(input.bias)];
        return op(() => {
          const { mean, variance } = tf.moments(x, 1, true);
          return x.sub(mean).mul(variance.add(epsilon).rsqrt()).mul(weight).add(bias);
        }, [x, weight, bias]);
      },
      conv({ shape, filter, ...input }) {
        // This backend has images as [n, h, w, c] and filters as [h, w, in, out] only.
        const { x, weight } = tf.tidy(() => ({
          x: tf.tensor(input.x, shape).transpose([0, 2, 3, 1]),
          weight: tf.tensor(input.weight, filter).transpose([2, 3, 1, 0]),
        }));
        return op(
          () => tf.conv2d(x, weight, 1, "same"),
          [x, weight],
          (y) => y.transpose([0, 3, 1, 2]),
        );
      },
      add(input) {
        const [a, b] = [tf.tensor(input.a), tf.tensor(input.b)];
        return op(() => a.add(b), [a, b]);
      },
      sum(input) {
        const x = tf.tensor(input.x);
        return op(() => x.sum(), [x]);
      },
      sort(input) {
        // There is no sort: the largest of all, largest first.
        const x = tf.tensor(input.x);
        return op(() => tf.topk(x, x.size, true).values, [x], (y) => y.reverse());
      },
      gather({ rows, size, ...input }) {
        const [table, ids] = [
          tf.tensor(input.table, [rows, size]),
          tf.tensor(input.ids, undefined, "int32"),
        ];
        return op(() => tf.gather(table, ids), [table, ids]);
      },
      overhead(input) {
        const [a, b] = [tf.tensor(input.a), tf.tensor(input.b)];
        return op(() => {
          let y: Tensor = a;
          for (let i = 0; i < CHAIN; i++) y = y.add(b);
          return y;
        }, [a, b]);
      },
    },
  };
}
