// Ops that the embedded place runs by routines of its own. The routines are made on first use.
import type { Override } from "../../backend.ts";
import { type Conv, createConv } from "../wasm/conv/mod.ts";
import { createGemm, type Gemm } from "../wasm/gemm/mod.ts";
import type { CpuContext } from "./context.ts";
import { convOverrides } from "./conv.ts";
import { matmulOverride } from "./matmul.ts";
import { poolOverrides } from "./pool.ts";

/** The table of overrides. */
export function cpuOverrides(ctx: CpuContext): Map<string, Override> {
  const { memory, relaxed, fork } = ctx;
  const options = { memory, ptr: "i32" as const, relaxed, fork };
  let gemm: Gemm | undefined;
  let conv: Conv | undefined;
  const useGemm = () => gemm ??= createGemm(options);
  const useConv = () => conv ??= createConv({ ...options, gemm: useGemm() });
  return new Map([
    ["matmul", matmulOverride(ctx, useGemm)],
    ...convOverrides(ctx, useConv),
    ...poolOverrides(ctx),
  ]);
}
