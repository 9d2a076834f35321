// Runs plans: allocates, launches, frees. Knows nothing of tensors' gradients or of tracing.
import { type DType, DTYPES } from "../dtype.ts";
import { InternalError, MissingKernelError } from "../errors.ts";
import { countBytes, drainFreed } from "../storage.ts";
import type { HostArray } from "../host.ts";
import type {
  Backend,
  Buffer,
  Compiled,
  Override,
  OverrideCall,
  TensorView,
} from "../../backends/backend.ts";
import type {
  ArgSource,
  CallStep,
  CompilerTarget,
  KernelStep,
  Plan,
  SlotView,
} from "../compiler/plan.ts";
import { convertScalar } from "../compiler/lower.ts";
import type { Graph } from "../ir/graph.ts";
import type { KernelOp, LoweredKernel } from "../op.ts";
import { fuse, type InputGeometry } from "../compiler/fuse.ts";
import { schedule } from "../compiler/schedule.ts";
import { guardAllocation } from "./memory.ts";

/** Bytes of `n` elements. */
export function bytesOf(dtype: DType, n: number): number {
  return n * DTYPES[dtype].bytes;
}

/** A tensor input of a run: its buffer and where it begins. */
export interface RunInput {
  readonly buffer: Buffer;
  /** In elements. */
  readonly offset: number;
}

/** A plan made ready for one backend. */
export class Executable {
  readonly plan: Plan;
  readonly #backend: Backend;
  readonly #compiled: readonly (Compiled | null)[];
  readonly #epilogues: readonly (Compiled | null)[];
  readonly #overrides: readonly (Override | null)[];
  readonly #lowered = new Map<number, Lowered>();
  /** Of each slot. */
  readonly #bytes: readonly number[];

  /** Compiles the kernels. */
  constructor(plan: Plan, backend: Backend) {
    this.plan = plan;
    this.#backend = backend;
    this.#bytes = plan.slots.map((s) => bytesOf(s.dtype, s.size));
    this.#compiled = plan.steps.map((
      s,
    ) => (s.kind === "kernel" && !s.empty ? backend.compile(s.kernel) : null));
    this.#epilogues = plan.steps.map((s) =>
      s.kind === "call" && s.epilogue !== null && !s.epilogue.empty
        ? backend.compile(s.epilogue.kernel)
        : null
    );
    this.#overrides = plan.steps.map((s) => (s.kind === "call" ? overrideFor(backend, s) : null));
  }

  /**
   * Runs it. `inputs` are the tensor inputs in slot order, `scalars` by graph input. Gives the buffers
   * of the outputs; those that are views of inputs give the input's buffer.
   */
  run(
    inputs: readonly RunInput[],
    scalars: readonly (number | bigint | boolean | null)[],
  ): Buffer[] {
    const plan = this.plan;
    const backend = this.#backend;
    const buffers = new Array<Buffer>(plan.slots.length);
    const base = new Array<number>(plan.slots.length).fill(0);
    for (let i = 0; i < inputs.length; i++) {
      buffers[i] = inputs[i].buffer;
      base[i] = inputs[i].offset;
    }
    for (let i = 0; i < plan.outputs.length; i++) {
      if (plan.into[i] >= 0) {
        buffers[plan.outputs[i].slot] = buffers[plan.into[i]];
        base[plan.outputs[i].slot] = base[plan.into[i]];
      }
    }
    let at = 0;
    let held = 0;
    try {
      for (; at < plan.steps.length; at++) {
        const step = plan.steps[at];
        for (const slot of plan.allocate[at]) {
          const bytes = this.#bytes[slot];
          buffers[slot] = allocate(backend, bytes);
          countBytes(bytes);
          held += bytes;
        }
        if (step.kind === "kernel") {
          if (!step.empty) launch(step, this.#compiled[at]!, buffers, base, scalars);
        } else this.#call(step, at, buffers, base, scalars);
        for (const slot of plan.release[at]) {
          backend.free(buffers[slot]);
          countBytes(-this.#bytes[slot]);
          held -= this.#bytes[slot];
        }
      }
    } catch (e) {
      this.#freeAll(at, buffers);
      throw e;
    } finally {
      // What is left are outputs, which their storages count from now on.
      countBytes(-held);
    }
    return plan.outputs.map((o) => buffers[o.slot]);
  }

  #freeAll(until: number, buffers: readonly Buffer[]): void {
    const live = new Set<number>();
    for (let i = 0; i <= until; i++) {
      for (const s of this.plan.allocate[i]) if (buffers[s] !== undefined) live.add(s);
      if (i < until) { for (const s of this.plan.release[i]) live.delete(s); }
    }
    for (const s of live) this.#backend.free(buffers[s]);
  }

  #runLowered(
    step: CallStep,
    at: number,
    lower: NonNullable<KernelOp["lower"]>,
    inputs: OverrideCall["inputs"],
    outputs: readonly TensorView[],
  ): void {
    let lowered = this.#lowered.get(at);
    if (lowered === undefined) {
      const metas = step.inputs.map((x, i) =>
        "slot" in x
          ? { shape: x.shape, dtype: x.dtype }
          : { shape: [], dtype: "float64" as const, scalar: true, value: inputs[i] as number }
      );
      const outs = step.outputs.map((o) => ({ shape: o.shape, dtype: o.dtype }));
      const { kernel, launch, ports } = lower(metas, outs, step.attrs);
      lowered = { compiled: this.#backend.compile(kernel), launch, ports };
      // Numbers that come with the call are part of the launch, so that it is not kept.
      if (!step.inputs.some((x) => "input" in x)) this.#lowered.set(at, lowered);
    }
    const { launch, compiled, ports } = lowered;
    const all = [...inputs.filter((x): x is TensorView => typeof x === "object"), ...outputs];
    const views = ports?.map((port) => all[port]) ?? all;
    const offsets = launch.offsets.map((o, i) => o + views[i].offset);
    compiled.run({ ...launch, offsets }, views.map((v) => v.buffer));
  }

  #call(
    step: CallStep,
    at: number,
    buffers: readonly Buffer[],
    base: readonly number[],
    scalars: readonly (number | bigint | boolean | null)[],
  ): void {
    const backend = this.#backend;
    const view = (v: SlotView): TensorView => ({
      buffer: buffers[v.slot],
      dtype: v.dtype,
      shape: v.shape,
      strides: v.strides,
      offset: v.offset + base[v.slot],
    });
    const inputs = step.inputs.map((x) => ("slot" in x ? view(x) : scalarOf(x, scalars, true)));
    const outputs = step.outputs.map(view);
    const override = this.#overrides[at];
    const epilogue = step.epilogue;
    if (override !== null) {
      const call: OverrideCall = epilogue === null || epilogue.empty
        ? { inputs, outputs, attrs: step.attrs }
        : {
          inputs,
          outputs,
          attrs: step.attrs,
          epilogue: {
            compiled: this.#epilogues[at]!,
            launch: launchOf(epilogue, base, scalars),
            buffers: epilogue.slots.map((s) => buffers[s]),
          },
        };
      override.run(call);
      return;
    }
    const op = step.op;
    if (op.kind === "kernel" && op.lower !== undefined) {
      this.#runLowered(step, at, op.lower, inputs, outputs);
    } else if (op.kind === "kernel" && op.reference !== undefined && backend.host !== undefined) {
      op.reference(
        inputs.map((x) => (typeof x === "object" ? hostArray(backend, x) : x)),
        outputs.map((x) => hostArray(backend, x)),
        step.attrs,
      );
    } else {
      throw new MissingKernelError(
        `Cannot run ${op.name} on ${backend.place}: this place has no kernel for it; move its operands with .to("cpu")`,
      );
    }
    if (epilogue !== null && !epilogue.empty) {
      launch(epilogue, this.#epilogues[at]!, buffers, base, scalars);
    }
  }
}

/** A hand-made kernel, ready to launch. */
interface Lowered {
  readonly compiled: Compiled;
  readonly launch: LoweredKernel["launch"];
  readonly ports: LoweredKernel["ports"];
}

/** A block of memory; collects or complains first if there is too little. */
export function allocate(backend: Backend, bytes: number): Buffer {
  drainFreed();
  return guardAllocation(backend, bytes);
}

/** The elements of a view as the host sees them, from the first of its storage's buffer. */
export function hostArray(backend: Backend, v: TensorView): HostArray {
  let low = 0;
  let high = 0;
  for (let i = 0; i < v.shape.length; i++) {
    if (v.shape[i] === 0) return { ...v, offset: 0, data: backend.host!(v.buffer, v.dtype, 0) };
    const reach = (v.shape[i] - 1) * v.strides[i];
    if (reach < 0) low += reach;
    else high += reach;
  }
  if (v.offset + low < 0) {
    throw new InternalError("Cannot view a tensor that begins before its storage");
  }
  const data = backend.host!(v.buffer, v.dtype, v.offset + high + 1);
  return { dtype: v.dtype, shape: v.shape, strides: v.strides, offset: v.offset, data };
}

function overrideFor(backend: Backend, step: CallStep): Override | null {
  const shapes = step.inputs.flatMap((x) => ("slot" in x ? [x.shape] : []));
  const dtypes = step.inputs.flatMap((x) => ("slot" in x ? [x.dtype] : []));
  return findOverride(backend, step.op.name, shapes, dtypes, step.attrs);
}

function findOverride(
  backend: Backend,
  name: string,
  shapes: readonly (readonly number[])[],
  dtypes: readonly DType[],
  attrs: CallStep["attrs"],
): Override | null {
  const o = backend.overrides.get(name);
  if (o === undefined) return null;
  return o.accepts === undefined || o.accepts({ shapes, dtypes, attrs }) ? o : null;
}

/** What the compiler asks of a backend. */
export function targetOf(backend: Backend): CompilerTarget {
  return {
    override: (op, shapes, dtypes, attrs) => {
      const o = findOverride(backend, op.name, shapes, dtypes, attrs);
      return o === null
        ? null
        : { epilogue: o.epilogue ?? false, contiguous: o.contiguous ?? false };
    },
  };
}

function scalarOf(
  a: ArgSource,
  scalars: readonly (number | bigint | boolean | null)[],
  raw: boolean,
): number | bigint | boolean {
  if ("value" in a) return a.value;
  const v = scalars[a.input]!;
  return raw ? v : convertScalar(v, a.type);
}

function launchOf(
  step: KernelStep,
  base: readonly number[],
  scalars: readonly (number | bigint | boolean | null)[],
): {
  sizes: readonly number[];
  strides: KernelStep["strides"];
  offsets: number[];
  args: (number | bigint)[];
} {
  const n = step.slots.length;
  const offsets = new Array<number>(n);
  for (let i = 0; i < n; i++) offsets[i] = step.offsets[i] + base[step.slots[i]];
  const args = step.args.map((a) => scalarOf(a, scalars, false) as number | bigint);
  return { sizes: step.sizes, strides: step.strides, offsets, args };
}

function launch(
  step: KernelStep,
  compiled: Compiled,
  buffers: readonly Buffer[],
  base: readonly number[],
  scalars: readonly (number | bigint | boolean | null)[],
): void {
  const own = new Array<Buffer>(step.slots.length);
  for (let i = 0; i < own.length; i++) own[i] = buffers[step.slots[i]];
  compiled.run(launchOf(step, base, scalars), own);
}

/** Compiles a graph for a backend. */
export function compileGraph(
  graph: Graph,
  geometry: readonly (InputGeometry | null)[],
  backend: Backend,
  liftNumbers: boolean,
  into: readonly number[] = [],
): Executable {
  const fused = fuse(graph, geometry, targetOf(backend), { liftNumbers });
  const tensors = geometry.reduce((n, g) => n + (g === null ? 0 : 1), 0);
  return new Executable(schedule(fused, tensors, into), backend);
}
