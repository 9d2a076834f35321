// Matrix products of the embedded backend, and the parts of them that convolution builds on.

export {
  createGemm,
  Gemm,
  type GemmArgs,
  type GemmOperand,
  type GemmOptions,
  type GemmShape,
} from "./gemm.ts";
export type { GemmTail } from "./share.ts";
export { type ElementSpec, elementSpec, type GemmDType } from "./spec.ts";
