// Composites in eager mode: traced once per signature, compiled, kept; their gradients derived from the
// trace. What the backward part needs of the forward part is saved if a reduction or a whole kernel made
// it, and computed again if it is elementwise (as Burn's memory-bound ops are).
import { attach, FunctionNode, grad as gradOf, setGradEnabled } from "../autograd.ts";
import type { KeptGradient } from "../autograd/node.ts";
import { isDifferentiable } from "../dtype.ts";

import { type GraphNode, type GraphValue, isValue } from "../ir/graph.ts";
import {
  anonymousComposite,
  type Attrs,
  type CompositeOp,
  engine,
  type Op,
  type Operand,
} from "../op.ts";
import type { Tensor } from "../tensor.ts";
import type { Backend } from "../../backends/backend.ts";
import type { InputGeometry } from "../compiler/fuse.ts";
import { compileGraph, type Executable } from "./run.ts";
import { Tracer, withTracer } from "./trace.ts";

/** What a derived gradient of a composite is made of. */
interface Derived {
  /** The composite that computes it: from what was saved, then the outputs' gradients. */
  readonly op: CompositeOp & { readonly id: number };
  /** The same from the operands alone, then the outputs' gradients: what can be differentiated again. */
  readonly again: CompositeOp & { readonly id: number };
  /** What `op` takes: an operand of the call, an output of the plan, or (for numbers) an operand's value. */
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
      const outs = tracer.results(body(ins, attrs));
      const values = outs.map((t) => t.impl.traced!);
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
  const resultValues = results.map((t) => tracer.valueOf(t, "a gradient"));
  const seedValues = seeds.map((t) => t.impl.traced!);
  // Which forward values the gradient needs, and which nodes it runs.
  const { taken, nodes } = behind(resultValues, seedValues, (v) => {
    if (v.node!.index >= forwardNodes) return false;
    const cheap = v.node!.op.kind === "elementwise" || v.node!.op.kind === "view";
    return values.includes(v) || !cheap;
  });
  const from = taken.map((v): { operand: number } | { output: number } => {
    if (v.node === null) return { operand: v.index };
    const i = values.indexOf(v);
    if (i >= 0) return { output: i };
    saved.push(v);
    return { output: values.length + saved.length - 1 };
  });
  const gradOp = anonymousComposite(
    `${op.name}Grad`,
    (inputs) => replay(nodes, [...taken, ...seedValues], inputs, resultValues),
  );
  const all = behind(resultValues, seedValues, () => false);
  const inputValues = ins.map((t) => t.impl.traced!);
  const again = anonymousComposite(
    `${op.name}Grad`,
    (inputs) => replay(all.nodes, [...inputValues, ...seedValues], inputs, resultValues),
  );
  let next = 0;
  const grads = ins.map((t) => (t.impl.requiresGrad ? next++ : -1));
  return { op: gradOp, again, saved: from, grads, wants };
}

/** The nodes that lead from known values to `results`, and those values; `known` says where to stop. */
function behind(
  results: readonly GraphValue[],
  seeds: readonly GraphValue[],
  known: (v: GraphValue) => boolean,
): { taken: readonly GraphValue[]; nodes: readonly GraphNode[] } {
  const nodes = new Set<GraphNode>();
  const taken = new Set<GraphValue>();
  // A stack of its own: traces may be long.
  const todo = [...results].reverse();
  while (todo.length > 0) {
    const v = todo.pop()!;
    if (v.node === null || known(v)) {
      if (!seeds.includes(v)) taken.add(v);
      continue;
    }
    if (nodes.has(v.node)) continue;
    nodes.add(v.node);
    for (const x of v.node.inputs.toReversed()) if (isValue(x)) todo.push(x);
  }
  return { taken: [...taken], nodes: [...nodes].sort((a, b) => a.index - b.index) };
}

/** Calls the nodes' ops again, on `inputs` in the place of `values`. */
function replay(
  nodes: readonly GraphNode[],
  values: readonly GraphValue[],
  inputs: readonly Operand[],
  results: readonly GraphValue[],
): Tensor[] {
  const env = new Map<GraphValue, Operand>(values.map((v, i) => [v, inputs[i]]));
  for (const node of nodes) {
    const args = node.inputs.map((x) => (isValue(x) ? env.get(x)! : x.scalar));
    engine.callMany(node.op, args, node.attrs).forEach((t, i) => env.set(node.outputs[i], t));
  }
  return results.map((v) => env.get(v) as Tensor);
}

/** Records the call of a composite whose gradient is derived. `all` are the plan's outputs. */
export function recordDerived(
  op: Op,
  derived: Derived,
  operands: readonly Operand[],
  outs: readonly Tensor[],
  all: readonly Tensor[],
): void {
  const own = derived.saved.map((x) => ("operand" in x ? operands[x.operand] : all[x.output]));
  const gradient = (gradOp: Op, from: readonly Operand[]): KeptGradient => {
    // Numbers are remembered as they were; tensors are saved, with their versions.
    const isTensor = from.map((x) => typeof x === "object");
    return {
      saved: from.filter((x): x is Tensor => typeof x === "object"),
      apply: (grads, saved) => {
        let next = 0;
        const args: Operand[] = from.map((x, i) => (isTensor[i] ? saved[next++] : x));
        grads.forEach((g, i) => {
          if (derived.wants[i]) args.push(g);
        });
        const results = engine.callMany(gradOp, args, {});
        return derived.grads.map((i) => (i < 0 ? null : results[i]));
      },
    };
  };
  const { saved, apply } = gradient(derived.op, own);
  const again = gradient(derived.again, operands);
  const node = new FunctionNode(op.name, operands, outs, saved, apply, again);
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
