// All ops, by family; loading this file fills the slot through which methods and gradients reach them.
import { op } from "../core/slots.ts";
import * as unary from "./unary.ts";
import * as binary from "./binary.ts";
import * as reduce from "./reduce.ts";

export * from "./unary.ts";
export * from "./binary.ts";
export * from "./reduce.ts";

Object.assign(op, unary, binary, reduce);
