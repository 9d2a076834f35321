/**
 * What is measured with every library: the numbers that all of them get, what one run amounts to, and how
 * far results may be apart. Deliberately not here: how a library does it (`peers/`).
 *
 * @module
 */

import type { Contest } from "./harness.ts";

/** A workload with the numbers of type `I`. */
export interface Workload<I> extends Pick<Contest, "title" | "tolerance" | "amount" | "rounds"> {
  /** The same numbers at every call. */
  input(): I;
}

const workload = <I>(w: Workload<I>): Workload<I> => w;

/** Uniform numbers in -1 … 1 (or low … high), the same for the same seed (a 32-bit mixing generator). */
export function numbers(count: number, seed: number, low = -1, high = 1): Float32Array {
  const values = new Float32Array(count);
  let s = seed >>> 0;
  for (let i = 0; i < count; i++) {
    s = (s + 0x9e3779b9) >>> 0;
    let z = s;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    values[i] = low + (high - low) * (((z ^ (z >>> 15)) >>> 0) / 2 ** 32);
  }
  return values;
}

const whole = (count: number, seed: number, below: number): Int32Array =>
  Int32Array.from(numbers(count, seed, 0, below), (x) => Math.min(below - 1, Math.floor(x)));

/** Weights of a layer with `fanIn` inputs. */
const weights = (count: number, seed: number, fanIn: number): Float32Array =>
  numbers(count, seed, -Math.sqrt(3 / fanIn), Math.sqrt(3 / fanIn));

const M4 = 4 * 2 ** 20;
const [ROWS, COLUMNS] = [4096, 1024];
const SIZE = 1024;
const VOCABULARY = 100_000;
const EMBEDDING = 64;

/** Sizes of the layers of the perceptron. */
export const MLP_SIZES = [784, 512, 512, 10] as const;
const MLP_BATCH = 128;
/** Products of the forward pass, and two for each in the backward pass but for the gradient of the input. */
const MLP_FLOPS = 2 * MLP_BATCH *
  (3 * (784 * 512 + 512 * 512 + 512 * 10) - 784 * 512);

const CNN_BATCH = 64;

/** How the training rows learn. */
export const LEARNING = { adam: 1e-4, sgd: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 } as const;

/** Losses of so many steps are compared. */
export const CHECKED_STEPS = 4;

/** Additions in one run of the overhead row. */
export const CHAIN = 100;

/** All workloads, in the order of the report. */
export const WORKLOADS = {
  matmul: workload({
    title: "float32 matmul of 1024×1024",
    amount: { count: 2 * SIZE ** 3, unit: "FLOP" },
    input: () => ({ size: SIZE, a: numbers(SIZE * SIZE, 1), b: numbers(SIZE * SIZE, 2) }),
  }),
  mlp: workload({
    title: "training step of an MLP 784-512-512-10, batch 128",
    amount: { count: MLP_FLOPS, unit: "FLOP" },
    // Losses of several steps, of which each is a sum of rounded sums.
    tolerance: 1e-4,
    input: () => ({
      batch: MLP_BATCH,
      classes: 10,
      x: numbers(MLP_BATCH * 784, 3),
      labels: whole(MLP_BATCH, 4, 10),
      layers: MLP_SIZES.slice(1).map((out, i) => ({
        in: MLP_SIZES[i] as number,
        out: out as number,
        weight: weights(MLP_SIZES[i] * out, 5 + i, MLP_SIZES[i]),
      })),
    }),
  }),
  lenet: workload({
    title:
      "training step of a CNN: conv 5×5 of 8 and 16 channels with pooling, 256-128-10, batch 64",
    tolerance: 1e-4,
    input: () => ({
      batch: CNN_BATCH,
      side: 28,
      classes: 10,
      x: numbers(CNN_BATCH * 28 * 28, 8, 0, 1),
      labels: whole(CNN_BATCH, 9, 10),
      convs: [[1, 8], [8, 16]].map(([from, to], i) => ({
        shape: [to, from, 5, 5] as [number, number, number, number],
        weight: weights(to * from * 25, 10 + i, from * 25),
      })),
      layers: [[256, 128], [128, 10]].map(([from, to], i) => ({
        in: from,
        out: to,
        weight: weights(from * to, 12 + i, from),
      })),
    }),
  }),
  gelu: workload({
    title: "tanh-GELU of 4M elements",
    amount: { count: 8 * M4, unit: "B" },
    input: () => ({ x: numbers(M4, 14, -4, 4) }),
  }),
  softmax: workload({
    title: "softmax over the rows of 4096×1024",
    amount: { count: 8 * ROWS * COLUMNS, unit: "B" },
    input: () => ({ rows: ROWS, columns: COLUMNS, x: numbers(ROWS * COLUMNS, 15, -4, 4) }),
  }),
  layer_norm: workload({
    title: "layerNorm over the rows of 4096×1024, with weight and bias",
    amount: { count: 8 * ROWS * COLUMNS, unit: "B" },
    input: () => ({
      rows: ROWS,
      columns: COLUMNS,
      epsilon: 1e-5,
      x: numbers(ROWS * COLUMNS, 16, -4, 4),
      weight: numbers(COLUMNS, 17, 0.5, 1.5),
      bias: numbers(COLUMNS, 18),
    }),
  }),
  conv: workload({
    title: "conv 3×3, 64 to 64 channels, 56×56, batch 8",
    amount: { count: 2 * 8 * 64 * 56 * 56 * 64 * 9, unit: "FLOP" },
    input: () => ({
      shape: [8, 64, 56, 56] as [number, number, number, number],
      filter: [64, 64, 3, 3] as [number, number, number, number],
      x: numbers(8 * 64 * 56 * 56, 19),
      weight: numbers(64 * 64 * 9, 20),
    }),
  }),
  add: workload({
    title: "add of 4M elements",
    amount: { count: 12 * M4, unit: "B" },
    tolerance: 0,
    input: () => ({ a: numbers(M4, 21), b: numbers(M4, 22) }),
  }),
  sum: workload({
    title: "sum of 4M elements",
    amount: { count: 4 * M4, unit: "B" },
    // One after another in float32, as tfjs adds, 4M numbers lose about the last three digits.
    tolerance: 1e-4,
    input: () => ({ x: numbers(M4, 23, 0, 1) }),
  }),
  sort: workload({
    title: "sort of 1M elements",
    amount: { count: 1_000_000, unit: "op" },
    tolerance: 0,
    input: () => ({ x: numbers(1_000_000, 24) }),
  }),
  gather: workload({
    title: "gather of 100k rows of 64 from 100k",
    amount: { count: 8 * VOCABULARY * EMBEDDING, unit: "B" },
    tolerance: 0,
    input: () => ({
      rows: VOCABULARY,
      size: EMBEDDING,
      table: numbers(VOCABULARY * EMBEDDING, 25),
      ids: whole(VOCABULARY, 26, VOCABULARY),
    }),
  }),
  overhead: workload({
    title: `${CHAIN} additions of 4 elements, one after another`,
    amount: { count: CHAIN, unit: "op" },
    input: () => ({ a: numbers(4, 27), b: numbers(4, 28) }),
  }),
} as const;

/** The name of a workload. */
export type WorkloadName = keyof typeof WORKLOADS;

/** The numbers of a workload. */
export type InputOf<W extends WorkloadName> = ReturnType<typeof WORKLOADS[W]["input"]>;

/** Labels as rows of zeros with a one. */
export function oneHot(labels: Int32Array, classes: number): Float32Array {
  const rows = new Float32Array(labels.length * classes);
  labels.forEach((label, i) => rows[i * classes + label] = 1);
  return rows;
}
