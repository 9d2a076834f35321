// From a Kernel to the bytes of a WebAssembly module with one function, `run`. Not here: compiling
// and caching modules, memory, threads (the backend does that).
import type { Kernel, Stage } from "../../../../core/ir/kernel.ts";
import { legalize } from "../../../../core/ir/math/mod.ts";
import { ModuleBuilder, type PtrType } from "../asm/mod.ts";
import { Code, type Node } from "./code.ts";
import { Frame } from "./frame.ts";
import { launchLayout } from "./layout.ts";
import { writeOuter } from "./outer.ts";
import { isRendered } from "./scalar.ts";

/** What the code is made for. */
export interface RenderTarget {
  /** Width of addresses. */
  readonly ptr: PtrType;
  /** Whether the engine has relaxed SIMD, which fuses `fma`. */
  readonly relaxed: boolean;
  /** Whether the memory is shared; then `maxPages` is needed. */
  readonly shared?: boolean;
  /** The memory's largest size in pages of 64 KiB, or more. */
  readonly maxPages?: number;
}

/** The function that a rendered module exports as `run`. */
export type RunKernel = (params: number, begin: number, end: number) => void;

/**
 * The module of a kernel. It imports `env.memory` and exports `run(params, begin, end)`, a
 * {@linkcode RunKernel}: computes the points with coordinates `begin` to `end` (exclusive) along
 * outer axis 0, or everything if there is no outer axis and `begin < end`. `params` is the address
 * of what `writeLaunch` has written. Results do not depend on how an axis is split into calls.
 */
export function renderKernel(source: Kernel, target: RenderTarget): Uint8Array<ArrayBuffer> {
  const kernel = legalized(source, target.relaxed);
  const module = new ModuleBuilder({ ptr: target.ptr });
  module.importMemory("env", "memory", { shared: target.shared, max: target.maxPages });
  // Numbers from JavaScript: a 64-bit address as a float64, which spares a BigInt.
  const number = target.ptr === "i64" ? "f64" : "i32";
  const f = module.func({ params: [number, number, number], export: "run" });
  const code = new Code(f, target.relaxed);
  const param = (i: number): Node =>
    target.ptr === "i64" ? code.op("i64.trunc_sat_f64_u", code.param(i)) : code.param(i);
  const frame = new Frame(code, kernel, launchLayout(kernel, target.ptr), param(0));
  writeOuter(frame, param(1), param(2));
  code.emit();
  return module.bytes();
}

/** The kernel with the extra ops that this renderer lacks rewritten to core ops. */
function legalized(kernel: Kernel, relaxed: boolean): Kernel {
  const rewritten = (es: Parameters<typeof legalize>[0]) =>
    legalize(es, (op) => isRendered(op, relaxed));
  const stages = kernel.stages.map((s): Stage => {
    switch (s.kind) {
      case "map":
      case "final":
        return { kind: s.kind, values: rewritten(s.values) };
      case "reduce":
        return { ...s, lift: rewritten(s.lift), combine: rewritten(s.combine) };
      case "scan":
        return {
          ...s,
          lift: rewritten(s.lift),
          combine: rewritten(s.combine),
          values: rewritten(s.values),
        };
    }
  });
  return { ...kernel, stages };
}
