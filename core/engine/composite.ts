// Composites in eager mode: traced once per signature, compiled, kept; their gradients derived from the
// trace. What the backward part needs of the forward part is saved if a reduction or a whole kernel made
// it, and computed again if it is elementwise (as Burn's memory-bound ops are).
import { attach, FunctionNode, grad as gradOf, setGradEnabled } from "../autograd.ts";
import { isDifferentiable } from "../dtype.ts";
import { InternalError } from "../errors.ts";
import { type GraphNode, type GraphValue, isValue } from "../ir/graph.ts";
import {
  anonymousComposite,
  type Attrs,
  type CompositeOp,
  engine,
  type Op,
  type Operand,
} from "../op.ts";
import { Tensor } from "../tensor.ts";
import type { Backend } from "../../backends/backend.ts";
import type { InputGeometry } from "../compiler/fuse.ts";
import { compileGraph, type Executable } from "./run.ts";
import { listOf, Tracer, withTracer } from "./trace.ts";

/** What a derived gradient of a composite is made of. */
interface Derived {
  /** The composite that computes it: from what was saved, then the outputs' gradients. */
  readonly op: CompositeOp & { readonly id: number };
  /** What it takes: an operand of the call, an output of the plan, or (for numbers) an operand's value. */
  readonly saved: readonly ({ readonly operand: number } | { readonly output: number })[];
  /** For each operand, which result of `op` is its gradient, or -1. */
  readonly grads: readonly number[];
  /** For each output of the call, whether its gradient is wanted. */
  readonly wants: readonly boolean[];
}

/** A composite compiled for one signature. */
export interface CompiledComposite {
  readonly executable: Executable;
  /** Outputs of the call; the plan's further outputs are saved for the gradient. */
  readonly outputs: number;
  readonly derived: Derived | null;
}

/** Geometry of operands for the compiler; null for numbers. */
export function geometryOf(operands: readonly Operand[]): (InputGeometry | null)[] {
  return operands.map((x) =>
    typeof x === "object" ? { strides: x.impl.strides, span: x.numel } : null
  );
}

/** Traces and compiles `body` for operands like these. With `derive`, its gradient too. */
export function compileComposite(
  op: Op,
  body: CompositeOp["body"],
  operands: readonly Operand[],
  attrs: Attrs,
  backend: Backend,
  derive: boolean,
  into: readonly number[],
): CompiledComposite {
  const tracer = new Tracer(op.name, backend);
  const ins = operands.map((x) => tracer.input(x));
  if (derive) {
    operands.forEach((x, i) => {
      if (typeof x === "object" && x.requiresGrad) ins[i].impl.requiresGrad = true;
    });
  }
  return withTracer(tracer, () => {
    const was = setGradEnabled(derive);
    try {
      const outs = listOf(body(ins, attrs));
      const values = outs.map((t) => valueOf(op, t));
      const graph = tracer.graph;
      const forwardNodes = graph.nodes.length;
      const forwardInputs = graph.inputs.length;
      let derived: Derived | null = null;
      const saved: GraphValue[] = [];
      if (derive && outs.some((t) => t.requiresGrad)) {
        derived = deriveGradient(op, tracer, ins, outs, values, forwardNodes, saved);
      }
      // The forward plan is the graph up to here; what follows belongs to the gradient's own trace.
      graph.nodes.length = forwardNodes;
      graph.inputs.length = forwardInputs;
      graph.outputs = [...values, ...saved];
      const executable = compileGraph(graph, geometryOf(operands), backend, false, into);
      return { executable, outputs: values.length, derived };
    } finally {
      setGradEnabled(was);
    }
  });
}

function valueOf(op: Op, t: Tensor): GraphValue {
  if (!(t instanceof Tensor) || t.impl.traced === null) {
    throw new InternalError(
      `Cannot compile ${op.name}: its body must give tensors made from its inputs`,
    );
  }
  return t.impl.traced;
}

function deriveGradient(
  op: Op,
  tracer: Tracer,
  ins: readonly Tensor[],
  outs: readonly Tensor[],
  values: readonly GraphValue[],
  forwardNodes: number,
  saved: GraphValue[],
): Derived {
  const wants = outs.map((t) => t.requiresGrad && isDifferentiable(t.dtype));
  const roots = outs.filter((_, i) => wants[i]);
  const seeds = roots.map((t) => tracer.input(t));
  const wanted = ins.filter((t) => t.impl.requiresGrad);
  const results = gradOf(roots, wanted, { gradOutputs: seeds, allowUnused: true });
  const resultValues = results.map((t) => valueOf(op, t));
  // Which forward values the gradient needs, and which nodes it runs.
  const nodes = new Set<GraphNode>();
  const taken: GraphValue[] = [];
  const takenSet = new Set<GraphValue>();
  const take = (v: GraphValue): void => {
    if (takenSet.has(v)) return;
    takenSet.add(v);
    taken.push(v);
  };
  const seedSet = new Set(seeds.map((t) => t.impl.traced!));
  const visit = (v: GraphValue): void => {
    const node = v.node;
    if (node === null) {
      if (!seedSet.has(v)) take(v);
      return;
    }
    if (node.index < forwardNodes) {
      const cheap = node.op.kind === "elementwise" || node.op.kind === "view";
      if (values.includes(v) || !cheap) return take(v);
    }
    if (nodes.has(node)) return;
    nodes.add(node);
    for (const x of node.inputs) if (isValue(x)) visit(x);
  };
  for (const v of resultValues) visit(v);
  const order = [...nodes].sort((a, b) => a.index - b.index);
  const from = taken.map((v): { operand: number } | { output: number } => {
    if (v.node === null) return { operand: v.index };
    const i = values.indexOf(v);
    if (i >= 0) return { output: i };
    saved.push(v);
    return { output: values.length + saved.length - 1 };
  });
  const gradOp = anonymousComposite(`${op.name}Grad`, (inputs) => {
    const env = new Map<GraphValue, Operand>();
    taken.forEach((v, i) => env.set(v, inputs[i]));
    seeds.forEach((t, i) => env.set(t.impl.traced!, inputs[taken.length + i]));
    for (const node of order) {
      const args = node.inputs.map((x) => (isValue(x) ? env.get(x)! : x.scalar));
      engine.callMany(node.op, args, node.attrs).forEach((t, i) => env.set(node.outputs[i], t));
    }
    return resultValues.map((v) => env.get(v) as Tensor);
  });
  let next = 0;
  const grads = ins.map((t) => (t.impl.requiresGrad ? next++ : -1));
  return { op: gradOp, saved: from, grads, wants };
}

/** Records the call of a composite whose gradient is derived. `all` are the plan's outputs. */
export function recordDerived(
  op: Op,
  derived: Derived,
  operands: readonly Operand[],
  outs: readonly Tensor[],
  all: readonly Tensor[],
): void {
  // Numbers are remembered as they were; tensors are saved, with their versions.
  const plan = derived.saved.map((s) => ("operand" in s ? operands[s.operand] : all[s.output]));
  const tensors = plan.filter((x): x is Tensor => typeof x === "object");
  const numbers = plan.map((x) => (typeof x === "object" ? null : x));
  const node = new FunctionNode(op.name, operands, outs, tensors, (grads, saved) => {
    let next = 0;
    const args: Operand[] = numbers.map((x) => (x === null ? saved[next++] : x));
    grads.forEach((g, i) => {
      if (derived.wants[i]) args.push(g);
    });
    const results = engine.callMany(derived.op, args, {});
    return derived.grads.map((i) => (i < 0 ? null : results[i]));
  });
  attachWanted(node, outs, derived.wants);
}

function attachWanted(
  node: FunctionNode,
  outs: readonly Tensor[],
  wants: readonly boolean[],
): void {
  attach(node, outs);
  outs.forEach((t, i) => {
    if (wants[i]) return;
    t.impl.node = null;
    t.impl.requiresGrad = false;
  });
}
