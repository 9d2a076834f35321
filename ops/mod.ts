// All ops, by family; loading this file fills the slot through which methods and gradients reach them.
import { op } from "../core/slots.ts";
import * as activation from "./activation.ts";
import * as activationLinear from "./activation_linear.ts";
import * as binary from "./binary.ts";
import * as bitwise from "./bitwise.ts";
import * as cast from "./cast.ts";
import * as compare from "./compare.ts";
import * as creation from "./creation.ts";
import * as einsum from "./einsum.ts";
import * as exponential from "./exponential.ts";
import * as extremes from "./extremes.ts";
import * as matmul from "./matmul.ts";
import * as pattern from "./pattern.ts";
import * as power from "./power.ts";
import * as random from "./random.ts";
import * as reduce from "./reduce.ts";
import * as remainder from "./remainder.ts";
import * as rounding from "./rounding.ts";
import * as trigonometry from "./trigonometry.ts";
import * as unary from "./unary.ts";

export * from "./activation.ts";
export * from "./activation_linear.ts";
export * from "./binary.ts";
export * from "./bitwise.ts";
export * from "./cast.ts";
export * from "./compare.ts";
export * from "./creation.ts";
export * from "./einsum.ts";
export * from "./exponential.ts";
export * from "./extremes.ts";
export * from "./matmul.ts";
export * from "./pattern.ts";
export * from "./power.ts";
export * from "./random.ts";
export * from "./reduce.ts";
export * from "./remainder.ts";
export * from "./rounding.ts";
export * from "./trigonometry.ts";
export * from "./unary.ts";

for (
  const family of [
    activation,
    activationLinear,
    binary,
    bitwise,
    cast,
    compare,
    creation,
    einsum,
    exponential,
    extremes,
    matmul,
    pattern,
    power,
    random,
    reduce,
    remainder,
    rounding,
    trigonometry,
    unary,
  ]
) Object.assign(op, family);
