// GFLOP/s of the embedded matrix product, medians over repeated runs on one core.
// Run: deno run bench/gemm.ts

import { wasmFeatures } from "../backends/cpu/wasm/asm/mod.ts";
import { createGemm, type GemmArgs, type GemmDType } from "../backends/cpu/wasm/gemm/mod.ts";
import { times } from "./harness.ts";

const memory = new WebAssembly.Memory({ initial: 1024 });
const gemm = createGemm({ memory, ptr: "i32", relaxed: wasmFeatures().relaxedSimd });
const filled = new Float32Array(memory.buffer);
for (let i = 0; i < filled.length; i++) filled[i] = (i % 17) / 17 - 0.5;

type Kind = "AB" | "AtB" | "ABt";

function args(dtype: GemmDType, m: number, n: number, k: number, kind: Kind): GemmArgs {
  const size = dtype.endsWith("64") ? 8 : 4;
  const align = (bytes: number) => Math.ceil(bytes / 64) * 64;
  const b = align(m * k * size);
  const c = b + align(k * n * size);
  return {
    dtype,
    m,
    n,
    k,
    a: kind === "AtB"
      ? { ptr: 0, rowStride: 1, colStride: m }
      : { ptr: 0, rowStride: k, colStride: 1 },
    b: kind === "ABt"
      ? { ptr: b, rowStride: 1, colStride: k }
      : { ptr: b, rowStride: n, colStride: 1 },
    c: { ptr: c, rowStride: n },
    scratch: c + align(m * n * size),
  };
}

async function measure(dtype: GemmDType, m: number, n: number, k: number, kind: Kind) {
  const product = args(dtype, m, n, k, kind);
  const flops = 2 * m * n * k;
  const repeats = Math.max(1, Math.round(2e7 / flops));
  const sorted = await times(() => gemm.run(product), { repeats });
  const rate = (ms: number) => (flops / ms / 1e6).toFixed(1).padStart(6);
  console.log(
    `${dtype.padEnd(8)} ${kind.padEnd(3)} ${`${m}x${n}x${k}`.padEnd(16)}`,
    `median ${rate(sorted[5])}  best ${rate(sorted[0])} GFLOP/s  ${
      (sorted[5] * 1e3).toFixed(1)
    } µs`,
  );
}

for (const size of [256, 512, 1024]) {
  for (const kind of ["AB", "AtB", "ABt"] as const) {
    await measure("float32", size, size, size, kind);
  }
}
for (const dtype of ["float64", "int32", "int64"] as const) {
  await measure(dtype, 256, 256, 256, "AB");
}
for (
  const [m, n, k] of [
    [128, 512, 784],
    [64, 10, 128],
    [8, 9216, 25],
    [1, 1024, 1024],
    [1024, 1, 1024],
    [2, 1024, 1024],
    [32, 32, 32],
    [4, 4, 4],
    [256, 256, 8],
  ]
) {
  for (const kind of ["AB", "AtB", "ABt"] as const) await measure("float32", m, n, k, kind);
}
