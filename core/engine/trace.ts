// Tracing: while it is on, op calls append nodes to a graph and give tensors that have no storage.
import { TraceError } from "../errors.ts";
import { needsGrad, record, setGradEnabled } from "../autograd.ts";
import { Graph, type GraphOperand, type GraphValue } from "../ir/graph.ts";
import type { Attrs, CompositeOp, KernelOp, Meta, Op, Operand } from "../op.ts";
import type { Place } from "../place.ts";
import { contiguousStrides } from "../shape.ts";
import { Tensor } from "../tensor.ts";
import type { Backend } from "../../backends/backend.ts";
import { inferOp, metaOf } from "./infer.ts";
import { targetOf } from "./run.ts";

/** The trace going on. */
export class Tracer {
  readonly graph: Graph = new Graph();
  readonly backend: Backend;
  readonly place: Place;
  /** Name of what is traced, for errors. */
  readonly name: string;
  readonly #values = new Set<GraphValue>();

  /** Starts with an empty graph. */
  constructor(name: string, backend: Backend) {
    this.name = name;
    this.backend = backend;
    this.place = backend.place;
  }

  /** A tensor that stands for a graph value. */
  tensor(value: GraphValue): Tensor {
    this.#values.add(value);
    return new Tensor({
      storage: null,
      shape: value.shape,
      strides: contiguousStrides(value.shape),
      offset: 0,
      dtype: value.dtype,
      place: this.place,
      traced: value,
    });
  }

  /** The graph value that a tensor stands for. Throws if it is none of this trace; `what` says what it is there. */
  valueOf(x: Tensor, what: string): GraphValue {
    const { traced, base, history } = x.impl;
    if (base !== null && base.impl.history !== history) {
      throw new TraceError(
        `Cannot use a view as ${what} while tracing ${this.name}: the tensor that it shows was changed in place ` +
          "afterwards; take the view again",
      );
    }
    if (traced !== null && this.#values.has(traced)) return traced;
    throw new TraceError(
      `Cannot use ${
        traced === null ? "an outside tensor" : "a tensor of another trace"
      } as ${what} while ` +
        `tracing ${this.name}: pass it as an input, so that the trace can be used again with other values`,
    );
  }

  /** The tensors that a body gave, which must be of this trace. */
  results(given: unknown): readonly Tensor[] {
    const list = Array.isArray(given) ? given : [given];
    for (const t of list) {
      if (t instanceof Tensor) this.valueOf(t, "a result");
      else {
        throw new TraceError(
          `Cannot trace ${this.name}: its body must give tensors, at once: got ` +
            (t instanceof Promise ? "a promise" : t === null ? "null" : typeof t),
        );
      }
    }
    return list;
  }

  /** Adds an input like an operand of a call: a tensor, or a number known only when the plan runs. */
  input(x: Operand): Tensor {
    const meta = metaOf(x);
    return this.tensor(this.graph.input(meta.shape, meta.dtype, meta.scalar === true));
  }
}

let current: Tracer | null = null;

/** The trace going on, or null. */
export function tracing(): Tracer | null {
  return current;
}

/** Runs `fn` with the trace on. */
export function withTracer<T>(tracer: Tracer | null, fn: () => T): T {
  const was = current;
  current = tracer;
  try {
    return fn();
  } finally {
    current = was;
  }
}

/** The function that an op is expanded to on this backend, or null if it is a node of its own. */
export function bodyOf(
  op: Op,
  backend: Backend,
  metas: readonly Meta[],
  attrs: Attrs,
): CompositeOp["body"] | null {
  if (op.kind !== "composite" && op.kind !== "kernel") return null;
  const tensors = metas.filter((m) => !m.scalar);
  const how = targetOf(backend).override(
    op,
    tensors.map((m) => m.shape),
    tensors.map((m) => m.dtype),
    attrs,
  );
  if (how !== null) return null;
  if (op.kind === "composite") return op.body;
  return ownWay(op, backend) ? null : op.decompose ?? null;
}

function ownWay(op: KernelOp, backend: Backend): boolean {
  if (op.lower !== undefined) return true;
  return op.reference !== undefined && backend.host !== undefined;
}

function operandOf(tracer: Tracer, op: Op, x: Operand, i: number): GraphOperand {
  return typeof x === "object" ? tracer.valueOf(x, `operand ${i} of ${op.name}`) : { scalar: x };
}

/** An op call while tracing. */
export function callTraced(
  tracer: Tracer,
  op: Op,
  operands: readonly Operand[],
  attrs: Attrs,
): Tensor[] {
  const metas = operands.map(metaOf);
  const body = bodyOf(op, tracer.backend, metas, attrs);
  const derives = op.kind === "composite" && op.autoVjp;
  if (body !== null) {
    if (derives) return [...tracer.results(body(operands, attrs))];
    const was = setGradEnabled(false);
    let outs: Tensor[];
    try {
      outs = tracer.results(body(operands, attrs)).map((t) => tracer.tensor(t.impl.traced!));
    } finally {
      setGradEnabled(was);
    }
    if (needsGrad(operands)) record(op, operands, attrs, outs);
    return outs;
  }
  const outMetas = op.kind === "composite"
    ? inferComposite(tracer, op, operands, attrs)
    : inferOp(op, metas, attrs);
  const node = tracer.graph.add(
    op,
    operands.map((x, i) => operandOf(tracer, op, x, i)),
    attrs,
    outMetas,
  );
  const outs = node.outputs.map((v) => tracer.tensor(v));
  if (op.kind === "view") {
    const x = operands[0] as Tensor;
    outs[0].impl.base = x.impl.base ?? x;
    outs[0].impl.history = x.impl.base === null ? x.impl.history : x.impl.base.impl.history;
  }
  if (needsGrad(operands)) record(op, operands, attrs, outs);
  return outs;
}

/** Shapes and dtypes of a composite that stays whole: its body is traced aside. */
function inferComposite(
  tracer: Tracer,
  op: CompositeOp,
  operands: readonly Operand[],
  attrs: Attrs,
): readonly Meta[] {
  const aside = new Tracer(op.name, tracer.backend);
  const ins = operands.map((x) => aside.input(x));
  return withTracer(aside, () => {
    const was = setGradEnabled(false);
    try {
      return aside.results(op.body(ins, attrs)).map((t) => ({ shape: t.shape, dtype: t.dtype }));
    } finally {
      setGradEnabled(was);
    }
  });
}
