// GFLOP/s of the embedded convolution and its gradients, medians over repeated runs on one core.
// Run: deno run bench/conv.ts

import { wasmFeatures } from "../backends/cpu/wasm/asm/mod.ts";
import {
  convOutputSize,
  type ConvPass,
  type ConvShape,
  createConv,
} from "../backends/cpu/wasm/conv/mod.ts";
import { times } from "./harness.ts";

const memory = new WebAssembly.Memory({ initial: 2048 });
const conv = createConv({ memory, ptr: "i32", relaxed: wasmFeatures().relaxedSimd });
const filled = new Float32Array(memory.buffer);
for (let i = 0; i < filled.length; i++) filled[i] = (i % 17) / 17 - 0.5;

function shapeOf(
  [n, c, h, w]: number[],
  [oc, cg, kh, kw]: number[],
  stride = 1,
  pad = 0,
): ConvShape {
  return {
    ...{ dtype: "float32", n, c, h, w, oc, kh, kw, strideH: stride, strideW: stride },
    ...{ padTop: pad, padLeft: pad, padBottom: pad, padRight: pad, dilationH: 1, dilationW: 1 },
    groups: c / cg,
  };
}

async function measure(pass: ConvPass, shape: ConvShape, name: string): Promise<void> {
  const [oh, ow] = convOutputSize(shape);
  const align = (elements: number) => Math.ceil(elements / 16) * 64;
  const x = 0;
  const weight = x + align(shape.n * shape.c * shape.h * shape.w);
  const y = weight + align(shape.oc * shape.c / shape.groups * shape.kh * shape.kw);
  const result = y + align(shape.n * shape.oc * oh * ow);
  const scratch = result + align(Math.max(weight - x, y - weight, result - y));
  const run = {
    forward: () => conv.forward({ ...shape, x, weight, y: result, scratch }),
    backwardInput: () => conv.backwardInput({ ...shape, dy: y, weight, dx: result, scratch }),
    backwardWeight: () => conv.backwardWeight({ ...shape, dy: y, x, dweight: result, scratch }),
  }[pass];
  const flops = 2 * shape.n * shape.oc * oh * ow * shape.c / shape.groups * shape.kh * shape.kw;
  const repeats = Math.max(1, Math.round(2e7 / flops));
  const sorted = await times(run, { repeats });
  const rate = (ms: number) => (flops / ms / 1e6).toFixed(1).padStart(6);
  console.log(
    `${name.padEnd(40)} ${pass.padEnd(14)} median ${rate(sorted[5])}  best ${
      rate(sorted[0])
    } GFLOP/s`,
    ` ${(sorted[5] * 1e3).toFixed(0)} µs`,
  );
}

const layers: [number[], number[], number?, number?][] = [
  [[64, 1, 28, 28], [8, 1, 5, 5]],
  [[64, 8, 12, 12], [16, 8, 5, 5]],
  [[64, 8, 14, 14], [16, 8, 3, 3]],
  [[64, 16, 14, 14], [32, 16, 3, 3], 1, 1],
  [[8, 64, 56, 56], [64, 64, 3, 3], 1, 1],
  [[8, 64, 56, 56], [128, 64, 3, 3], 2, 1],
  [[8, 64, 56, 56], [64, 64, 1, 1]],
  [[8, 512, 7, 7], [512, 512, 3, 3], 1, 1],
  [[8, 64, 56, 56], [64, 1, 3, 3], 1, 1],
  [[8, 3, 112, 112], [32, 3, 7, 7], 2, 3],
];
for (const [image, filter, stride = 1, pad = 0] of layers) {
  const name = `[${image}]*[${filter}] stride ${stride} pad ${pad}`;
  for (const pass of ["forward", "backwardInput", "backwardWeight"] as const) {
    await measure(pass, shapeOf(image, filter, stride, pad), name);
  }
}
