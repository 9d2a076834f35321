// The late-bound slot through which tensor methods and gradient rules reach the ops without importing them.
// Filled by ops/mod.ts.

/** Every op function by name. */
export type OpTable = typeof import("../ops/mod.ts");

/** Late-bound: see {@linkcode OpTable}. */
export const op: OpTable = {} as OpTable;
