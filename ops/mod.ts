// All ops, by family; loading this file fills the slot through which methods and gradients reach them.
import { op } from "../core/slots.ts";
import * as activation from "./activation.ts";
import * as activationLinear from "./activation_linear.ts";
import * as alongAxis from "./along_axis.ts";
import * as argReduce from "./arg_reduce.ts";
import * as binary from "./binary.ts";
import * as bitwise from "./bitwise.ts";
import * as cast from "./cast.ts";
import * as clone from "./clone.ts";
import * as compare from "./compare.ts";
import * as creation from "./creation.ts";
import * as cumulative from "./cumulative.ts";
import * as einsum from "./einsum.ts";
import * as exponential from "./exponential.ts";
import * as extremes from "./extremes.ts";
import * as gather from "./gather.ts";
import * as indexing from "./indexing.ts";
import * as inplace from "./inplace.ts";
import * as join from "./join.ts";
import * as matmul from "./matmul.ts";
import * as pattern from "./pattern.ts";
import * as power from "./power.ts";
import * as random from "./random.ts";
import * as reduce from "./reduce.ts";
import * as remainder from "./remainder.ts";
import * as rounding from "./rounding.ts";
import * as scatter from "./scatter.ts";
import * as select from "./select.ts";
import * as slicing from "./slicing.ts";
import * as sort from "./sort.ts";
import * as statistics from "./statistics.ts";
import * as trigonometry from "./trigonometry.ts";
import * as unary from "./unary.ts";
import * as views from "./views.ts";

export * from "./activation.ts";
export * from "./activation_linear.ts";
export * from "./along_axis.ts";
export * from "./arg_reduce.ts";
export * from "./binary.ts";
export * from "./bitwise.ts";
export * from "./cast.ts";
export * from "./clone.ts";
export * from "./compare.ts";
export * from "./creation.ts";
export * from "./cumulative.ts";
export * from "./einsum.ts";
export * from "./exponential.ts";
export * from "./extremes.ts";
export * from "./gather.ts";
export * from "./indexing.ts";
export * from "./inplace.ts";
export * from "./join.ts";
export * from "./matmul.ts";
export * from "./pattern.ts";
export * from "./power.ts";
export * from "./random.ts";
export * from "./reduce.ts";
export * from "./remainder.ts";
export * from "./rounding.ts";
export * from "./scatter.ts";
export * from "./select.ts";
export * from "./slicing.ts";
export * from "./sort.ts";
export * from "./statistics.ts";
export * from "./trigonometry.ts";
export * from "./unary.ts";
export * from "./views.ts";

for (
  const family of [
    activation,
    activationLinear,
    alongAxis,
    argReduce,
    binary,
    bitwise,
    cast,
    clone,
    compare,
    creation,
    cumulative,
    einsum,
    exponential,
    extremes,
    gather,
    indexing,
    inplace,
    join,
    matmul,
    pattern,
    power,
    random,
    reduce,
    remainder,
    rounding,
    scatter,
    select,
    slicing,
    sort,
    statistics,
    trigonometry,
    unary,
    views,
  ]
) Object.assign(op, family);
