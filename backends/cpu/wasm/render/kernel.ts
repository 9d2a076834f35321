// From a Kernel to the bytes of a WebAssembly module with one function, `run`. Not here: compiling
// and caching modules, memory, threads (the backend does that).
import type { Kernel, Stage } from "../../../../core/ir/kernel.ts";
import { legalize } from "../../../../core/ir/math/mod.ts";
import { ModuleBuilder, type PtrType } from "../asm/mod.ts";
import { Code, type Node } from "./code.ts";
import { Frame, type Place } from "./frame.ts";
import { launchLayout } from "./layout.ts";
import { planKernel } from "./plan.ts";
import { type Lanes, SINGLE } from "./point.ts";
import { isRendered } from "./scalar.ts";
import { writeStages } from "./stages.ts";

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
  writeKernel(frame, param(1), param(2));
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

function writeKernel(frame: Frame, begin: Node, end: Node): void {
  const { code, kernel } = frame;
  let some = code.op(`${code.ptr}.lt_s`, begin, end);
  for (let axis = 1; axis < kernel.outerRank; axis++) {
    some = code.op("i32.and", some, code.ptrOp("lt_s", code.ptrConst(0), frame.size(axis)));
  }
  // Inside the condition, so that nothing is loaded where there is nothing to do.
  code.when(some, () => {
    const pointers = [...kernel.inputs, ...kernel.outputs].map((_, b) => {
      const base = code.variable(code.ptr);
      code.set([base], [frame.base(b)]);
      return code.read(base);
    });
    writeOuter(frame, { pointers, coords: [] }, begin, end);
  });
}

/** The loops over outer points, with the stages inside. */
function writeOuter(frame: Frame, start: Place, begin: Node, end: Node): void {
  const { kernel } = frame;
  const { outerRank } = kernel;
  if (outerRank === 0) return writeStages(frame, start, [SINGLE], kernel.innerRank > 0);
  const buffers = [...kernel.inputs, ...kernel.outputs].flatMap((b, i) =>
    "gatherRank" in b && b.gatherRank !== undefined ? [] : [i]
  );
  const { across, copies } = planKernel(kernel);
  const last = outerRank - 1;
  const groups = (count: number): Lanes[] =>
    Array.from({ length: count }, (_, copy) => ({ axis: last, copy }));
  const stages = (step: number, lanes: Lanes[]) => ({
    step,
    body: (place: Place) => writeStages(frame, place, lanes, !across),
  });
  const walks = [stages(1, [SINGLE])];
  if (across && copies > 0) walks.unshift(stages(4, groups(1)));
  if (across && copies > 1) walks.unshift(stages(4 * copies, groups(copies)));
  const level = (axis: number, place: Place): void => {
    const range = axis === 0 ? { from: begin, to: end } : {};
    if (axis === last) return frame.walk(place, axis, buffers, walks, range);
    frame.walk(place, axis, buffers, [{ step: 1, body: (p) => level(axis + 1, p) }], range);
  };
  level(0, start);
}
