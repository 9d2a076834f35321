// The one function through which every op call passes: place, tracing, plan (cached), run, record.
// Not here: what is in a plan (core/compiler), how it runs (run.ts), gradients (autograd).
import { attachInPlace, checkInPlace, edgeOf, needsGrad, record } from "../autograd.ts";
import { type DType, DTYPES, getDefaultDtype } from "../dtype.ts";
import {
  DTypeError,
  InternalError,
  PlaceError,
  ShapeError,
  TraceError,
  ValueError,
} from "../errors.ts";
import { Graph, type GraphOperand } from "../ir/graph.ts";
import type { Attrs, ElementwiseOp, Op, Operand, ViewOp } from "../op.ts";
import { expectScalar } from "../operands.ts";
import { Place } from "../place.ts";
import { contiguousStrides, sameShape, sharesElements, showShape, sizeOf } from "../shape.ts";
import { Storage } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import type { Backend, Compiled } from "../../backends/backend.ts";
import { backendOf, currentBackendOf } from "../../backends/registry.ts";
import { convertScalar } from "../compiler/lower.ts";
import type { ArgSource } from "../compiler/plan.ts";
import {
  compileComposite,
  type CompiledComposite,
  geometryOf,
  recordDerived,
} from "./composite.ts";
import { copyInto, makeContiguous } from "./copy.ts";
import { inferOp, metaOf } from "./infer.ts";
import { attrsKey, operandsKey, scalarKind } from "./keys.ts";
import { allocate, bytesOf, compileGraph, type RunInput } from "./run.ts";
import { bodyOf, callTraced, tracing } from "./trace.ts";

const NO_ATTRS: Attrs = {};

function isEmpty(attrs: Attrs): boolean {
  return attrs === NO_ATTRS || Object.keys(attrs).length === 0;
}

const NO_TARGETS: readonly Tensor[] = [];

/** Plans by signature, for one backend. Cleared when it has grown large: shapes may vary without end. */
const MAX_PLANS = 8192;
const plans = new WeakMap<Backend, Map<string, CompiledComposite>>();

function plansOf(backend: Backend): Map<string, CompiledComposite> {
  let map = plans.get(backend);
  if (map === undefined) plans.set(backend, map = new Map());
  if (map.size > MAX_PLANS) map.clear();
  return map;
}

/** The backend of the operands, which must be on one place. */
function placeOf(op: Op, operands: readonly Operand[], attrs: Attrs): Backend {
  let found: Tensor | null = null;
  for (let i = 0; i < operands.length; i++) {
    const x = operands[i];
    if (!(x instanceof Tensor)) expectScalar(op.name, x);
    else if (found === null) found = x;
    else if (x.place !== found.place) {
      throw new PlaceError(
        `Cannot ${op.name} tensors on ${found.place} and ${x.place}: operands must be on one place; ` +
          `move one with .to("${found.place}")`,
      );
    }
  }
  if (found !== null) return found.storageOrThrow().backend;
  return attrs.place === undefined
    ? currentBackendOf()
    : backendOf(Place.of(attrs.place as string));
}

function newTensor(
  backend: Backend,
  buffer: ReturnType<Backend["alloc"]>,
  shape: readonly number[],
  dtype: DType,
): Tensor {
  return new Tensor({
    storage: new Storage(backend, buffer, bytesOf(dtype, sizeOf(shape))),
    shape,
    strides: contiguousStrides(shape),
    offset: 0,
    dtype,
    place: backend.place,
  });
}

// --- the short way: elementwise ops on dense operands of one shape ------------------------------------

interface Fast {
  readonly compiled: Compiled;
  readonly dtype: DType;
  readonly args: readonly ArgSource[];
  readonly strides: readonly (readonly number[])[];
}

const fastTables = new WeakMap<Backend, Map<number, Fast | null>>();
const zeros: number[][] = [[], [0], [0, 0], [0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0, 0]];

/** The signature of such a call as a number, or -1 if it is no such call. */
function fastCode(
  op: ElementwiseOp & { readonly id: number },
  operands: readonly Operand[],
): number {
  if (operands.length > 3) return -1;
  let code = op.id * 16 + DTYPES[getDefaultDtype()].code;
  let first: Tensor | null = null;
  for (let i = 0; i < operands.length; i++) {
    const x = operands[i];
    if (typeof x === "object") {
      if (first === null) {
        first = x;
        if (!x.isContiguous) return -1;
      } else if (x.shape !== first.shape && !sameShape(x.shape, first.shape)) return -1;
      else if (!x.isContiguous) return -1;
      code = code * 16 + DTYPES[x.dtype].code;
    } else {
      const kind = "ifbn".indexOf(scalarKind(x));
      if (kind < 0) return -1;
      code = code * 16 + 12 + kind;
    }
  }
  return first === null ? -1 : code * 4 + operands.length;
}

function makeFast(
  op: ElementwiseOp & { readonly id: number },
  operands: readonly Operand[],
  backend: Backend,
): Fast | null {
  const graph = new Graph();
  const args = operands.map((x): GraphOperand => {
    const m = metaOf(x);
    return graph.input(typeof x === "object" ? [64] : [], m.dtype, typeof x !== "object");
  });
  const [out] = inferOp(
    op,
    args.map((a, i) => ({
      ...metaOf(operands[i]),
      shape: (a as { shape: readonly number[] }).shape,
    })),
    NO_ATTRS,
  );
  const node = graph.add(op, args, NO_ATTRS, [out]);
  graph.outputs = [node.outputs[0]];
  const geometry = operands.map((x) => (typeof x === "object" ? { strides: [1], span: 64 } : null));
  const { plan } = compileGraph(graph, geometry, backend, true);
  const step = plan.steps[0];
  const tensors = operands.filter((x) => typeof x === "object").length;
  if (plan.steps.length !== 1 || step.kind !== "kernel" || step.sizes.length !== 1) return null;
  if (step.kernel.inputs.length !== tensors || step.slots.some((s, i) => i < tensors && s !== i)) {
    return null;
  }
  return {
    compiled: backend.compile(step.kernel),
    dtype: out.dtype,
    args: step.args,
    strides: step.strides,
  };
}

function callFast(
  op: ElementwiseOp & { readonly id: number },
  operands: readonly Operand[],
  backend: Backend,
  into: Tensor | null,
): Tensor | null {
  const code = fastCode(op, operands);
  if (code < 0) return null;
  let table = fastTables.get(backend);
  if (table === undefined) fastTables.set(backend, table = new Map());
  let fast = table.get(code);
  if (fast === undefined) table.set(code, fast = makeFast(op, operands, backend));
  if (fast === null) return null;
  const buffers = [];
  let offsets: number[] | null = null;
  let shape: readonly number[] = [];
  for (let i = 0; i < operands.length; i++) {
    const x = operands[i];
    if (typeof x !== "object") continue;
    buffers.push(x.storageOrThrow().buffer);
    shape = x.shape;
    if (x.impl.offset !== 0) {
      offsets ??= new Array<number>(fast.strides.length).fill(0);
      offsets[buffers.length - 1] = x.impl.offset;
    }
  }
  if (
    into !== null &&
    (into.dtype !== fast.dtype || !into.isContiguous || !sameShape(into.shape, shape))
  ) return null;
  const n = sizeOf(shape);
  const args = fast.args.map((a) =>
    "value" in a ? a.value : convertScalar(operands[a.input] as number, a.type)
  );
  let out = into;
  if (out === null) {
    out = newTensor(backend, allocate(backend, bytesOf(fast.dtype, n)), shape, fast.dtype);
  } else if (out.impl.offset !== 0) {
    offsets ??= new Array<number>(fast.strides.length).fill(0);
    offsets[fast.strides.length - 1] = out.impl.offset;
  }
  buffers.push(out.storageOrThrow().buffer);
  if (n > 0) {
    fast.compiled.run(
      { sizes: [n], strides: fast.strides, offsets: offsets ?? zeros[fast.strides.length], args },
      buffers,
    );
  }
  return out;
}

// --- views -----------------------------------------------------------------------------------------

function callView(op: ViewOp, x: Tensor, attrs: Attrs): Tensor {
  const shape = op.shape({ shape: x.shape, dtype: x.dtype }, attrs);
  let source = x;
  let geometry = op.view(
    { shape: x.shape, strides: x.impl.strides, offset: x.impl.offset },
    shape,
    attrs,
  );
  if (geometry === null) {
    source = makeContiguous(x);
    geometry = op.view(
      { shape: x.shape, strides: source.impl.strides, offset: source.impl.offset },
      shape,
      attrs,
    );
    if (geometry === null) throw new InternalError(`Cannot view a dense tensor by ${op.name}`);
  }
  const out = new Tensor({
    storage: source.storageOrThrow(),
    shape: geometry.shape,
    strides: geometry.strides,
    offset: geometry.offset,
    dtype: x.dtype,
    place: x.place,
  });
  if (source === x) {
    out.impl.base = x.impl.base ?? x;
    out.impl.history = x.impl.history;
  } else source.dispose(); // the copy lives as long as the view of it
  return out;
}

// --- everything else -------------------------------------------------------------------------------

function planOf(
  op: Op,
  operands: readonly Operand[],
  attrs: Attrs,
  backend: Backend,
  derive: boolean,
  into: readonly number[],
): CompiledComposite {
  const map = plansOf(backend);
  const key = `${op.id},${DTYPES[getDefaultDtype()].code}${operandsKey(operands, derive)}|${
    attrsKey(attrs)
  }|${into.join(",")}`;
  const known = map.get(key);
  if (known !== undefined) return known;
  const metas = operands.map(metaOf);
  const body = bodyOf(op, backend, metas, attrs);
  let made: CompiledComposite;
  if (body !== null) {
    made = compileComposite(op, body, operands, attrs, backend, derive, into);
  } else if (op.kind === "composite") {
    throw new InternalError(`Cannot run the composite ${op.name} whole outside a trace`);
  } else {
    const graph = new Graph();
    const args = operands.map((x, i) =>
      graph.input(metas[i].shape, metas[i].dtype, typeof x !== "object")
    );
    const node = graph.add(op, args, attrs, inferOp(op, metas, attrs));
    graph.outputs = [...node.outputs];
    made = {
      executable: compileGraph(graph, geometryOf(operands), backend, true, into),
      outputs: node.outputs.length,
      derived: null,
    };
  }
  map.set(key, made);
  return made;
}

/** Runs a plan; all outputs of the plan as tensors (or the targets, where they were written into). */
function runPlanned(
  planned: CompiledComposite,
  operands: readonly Operand[],
  backend: Backend,
  targets: readonly Tensor[],
): Tensor[] {
  const inputs: RunInput[] = [];
  const storages: Storage[] = [];
  const scalars: (number | bigint | boolean | null)[] = [];
  for (const x of operands) {
    if (typeof x === "object") {
      const storage = x.storageOrThrow();
      inputs.push({ buffer: storage.buffer, offset: x.impl.offset });
      storages.push(storage);
      scalars.push(null);
    } else scalars.push(x);
  }
  const { executable } = planned;
  const { plan } = executable;
  const buffers = executable.run(inputs, scalars);
  const owners = new Map<number, Storage>();
  return plan.outputs.map((o, i): Tensor => {
    if (plan.into[i] >= 0) return targets[i];
    let storage: Storage;
    let offset = o.offset;
    if (o.slot < plan.inputs) {
      storage = storages[o.slot];
      offset += inputs[o.slot].offset;
    } else {
      const known = owners.get(o.slot);
      const slot = plan.slots[o.slot];
      storage = known ?? new Storage(backend, buffers[i], bytesOf(slot.dtype, slot.size));
      owners.set(o.slot, storage);
    }
    const t = new Tensor({
      storage,
      shape: o.shape,
      strides: o.strides,
      offset,
      dtype: o.dtype,
      place: backend.place,
    });
    if (i < targets.length && plan.copyBack[i]) {
      copyInto(targets[i], t);
      t.dispose();
      return targets[i];
    }
    return t;
  });
}

/** Calls an op; see core/op.ts. */
export function callMany(op: Op, operands: readonly Operand[], attrs: Attrs = NO_ATTRS): Tensor[] {
  const tracer = tracing();
  if (tracer !== null) return callTraced(tracer, op, operands, attrs);
  const backend = placeOf(op, operands, attrs);
  const recording = needsGrad(operands);
  let outs: Tensor[] | null = null;
  if (op.kind === "view") outs = [callView(op, operands[0] as Tensor, attrs)];
  else if (op.kind === "elementwise" && op.shape === undefined && isEmpty(attrs)) {
    const out = callFast(op, operands, backend, null);
    if (out !== null) outs = [out];
  }
  if (outs === null) {
    const derive = recording && op.kind === "composite" && op.autoVjp;
    const planned = planOf(op, operands, attrs, backend, derive, []);
    const all = runPlanned(planned, operands, backend, NO_TARGETS);
    outs = all.length === planned.outputs ? all : all.slice(0, planned.outputs);
    if (planned.derived !== null) {
      recordDerived(op, planned.derived, operands, outs, all);
      // What only the gradient needs is now kept by it alone, and goes when it has been read.
      for (let i = planned.outputs; i < all.length; i++) all[i].dispose();
      return outs;
    }
  }
  if (recording) record(op, operands, attrs, outs);
  return outs;
}

/** Calls an op with one output. */
export function call(op: Op, operands: readonly Operand[], attrs: Attrs = NO_ATTRS): Tensor {
  return callMany(op, operands, attrs)[0];
}

/** Calls an op and writes its outputs into existing tensors. */
export function callInto(
  op: Op,
  operands: readonly Operand[],
  attrs: Attrs,
  targets: readonly Tensor[],
): readonly Tensor[] {
  const tracer = tracing();
  if (tracer !== null) {
    // In a trace the tensor becomes another value; nothing is overwritten.
    for (const t of targets) {
      if (t.impl.traced !== null && t.impl.base === null) continue;
      throw new TraceError(
        `Cannot change ${
          t.impl.traced === null ? "an outside tensor" : "a view"
        } in place by ${op.name} while tracing ${tracer.name}: ` +
          "pass it as an input and return its new value, or use setAt on the whole tensor",
      );
    }
    const outs = callTraced(tracer, op, operands, attrs);
    targets.forEach((t, i) => {
      checkFits(op, t, outs[i]);
      t.impl.traced = outs[i].impl.traced;
      t.impl.history++;
      t.impl.node = outs[i].impl.node;
      t.impl.nodeIndex = outs[i].impl.nodeIndex;
      t.impl.requiresGrad = outs[i].impl.requiresGrad;
    });
    return targets;
  }
  const backend = placeOf(op, [...operands, ...targets], attrs);
  const recording = needsGrad([...operands, ...targets]);
  for (const t of targets) {
    checkInPlace(op.name, t, recording);
    if (!t.isContiguous && sharesElements(t.shape, t.impl.strides)) {
      throw new ValueError(
        `Cannot ${op.name} in place on ${
          showShape(t.shape)
        }: several elements share one place in ` +
          "memory, as after expand(); clone() it first",
      );
    }
  }
  const safe = operands.map((x, i) => {
    if (typeof x !== "object" || !targets.some((t) => t.impl.storage === x.impl.storage)) return x;
    const may = mayOverwrite(op, operands, i, targets) && !(recording && isRead(op, operands, i));
    return may ? x : copyBefore(x);
  });
  const derive = recording && op.kind === "composite" && op.autoVjp;
  let done = false;
  let planned: CompiledComposite | null = null;
  let all: readonly Tensor[] = targets;
  if (
    op.kind === "elementwise" && op.shape === undefined && isEmpty(attrs) &&
    targets.length === 1
  ) {
    done = callFast(op, safe, backend, targets[0]) !== null;
  }
  if (!done) {
    const into = targets.map((t) => (t.isContiguous ? slotOf(safe, t) : -1));
    planned = planOf(op, safe, attrs, backend, derive, into);
    const { outputs } = planned.executable.plan;
    targets.forEach((t, i) => checkFits(op, t, outputs[i]));
    all = runPlanned(planned, safe, backend, targets);
    targets.forEach((t, i) => {
      if (all[i] !== t) {
        copyInto(t, all[i]);
        all[i].dispose();
      }
    });
  }
  for (const t of targets) t.storageOrThrow().version++;
  if (recording) {
    // The new history is made on fresh tensors and then moved, since the operands may be the targets.
    const fresh = targets.map((t) => t.detach());
    if (planned !== null && planned.derived !== null) {
      recordDerived(op, planned.derived, safe, fresh, fresh.concat(all.slice(fresh.length)));
    } else record(op, safe, attrs, fresh);
    attachInPlace(targets, fresh);
    for (const t of fresh) t.dispose();
    for (let i = targets.length; i < all.length; i++) all[i].dispose();
  }
  return targets;
}

/** Refuses a result that the target cannot take. */
function checkFits(
  op: Op,
  target: Tensor,
  result: { readonly shape: readonly number[]; readonly dtype: DType },
): void {
  if (result.dtype !== target.dtype) {
    throw new DTypeError(
      `Cannot ${op.name} in place on ${target.dtype}: the result is ${result.dtype}; cast the operands, or use the form that is not in place`,
    );
  }
  if (!sameShape(result.shape, target.shape)) {
    throw new ShapeError(
      `Cannot ${op.name} in place on ${showShape(target.shape)}: the result has shape ${
        showShape(result.shape)
      }; use the form that is not in place`,
    );
  }
}

/** Whether operand `i`, which shares memory with a target, may be overwritten while the op runs. */
function mayOverwrite(
  op: Op,
  operands: readonly Operand[],
  i: number,
  targets: readonly Tensor[],
): boolean {
  const x = operands[i] as Tensor;
  if (targets.some((t) => t.impl.storage === x.impl.storage && !sameElements(x, t))) return false;
  if (op.kind === "elementwise" && op.shape === undefined && op.indexed === undefined) return true;
  // The plan looks after one operand that is the target; another one in the same memory it cannot see.
  return !operands.some((y, k) => k < i && typeof y === "object" && sameElements(x, y));
}

/** Whether a gradient that will be needed reads operand `i`. */
function isRead(op: Op, operands: readonly Operand[], i: number): boolean {
  if (op.kind === "composite" && op.autoVjp) return true;
  const saves = op.saves ?? "in";
  if (saves !== "in" && saves !== "both") return false;
  const { reads } = op;
  return reads === undefined ||
    operands.some((y, k) => typeof y === "object" && y.requiresGrad && reads[k]?.includes(i));
}

/** A copy of an operand that is about to change, with the history that it has now. */
function copyBefore(x: Tensor): Tensor {
  const edge = edgeOf(x);
  const copy = makeContiguous(x, true);
  if (edge !== null) {
    copy.impl.requiresGrad = true;
    copy.impl.node = edge.node;
    copy.impl.nodeIndex = edge.index;
  }
  return copy;
}

/** The slot (index among tensor operands) whose operand is exactly the target, or -1. */
function slotOf(operands: readonly Operand[], target: Tensor): number {
  let slot = 0;
  for (const x of operands) {
    if (typeof x !== "object") continue;
    if (sameElements(x, target)) return slot;
    slot++;
  }
  return -1;
}

function sameElements(a: Tensor, b: Tensor): boolean {
  return a.impl.storage === b.impl.storage && a.impl.offset === b.impl.offset &&
    a.dtype === b.dtype &&
    sameShape(a.shape, b.shape) && sameShape(a.impl.strides, b.impl.strides);
}
