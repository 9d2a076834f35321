// Graph IR: what a trace records and the compiler lowers. Values are immutable and have static
// shapes. Not here: tracing (core/engine/trace.ts), passes and lowering (core/compiler).
import type { DType } from "../dtype.ts";
import type { Shape } from "../shape.ts";
import type { Attrs, Op } from "../op.ts";

/** A value of a graph: an input, or one output of a node. */
export interface GraphValue {
  readonly id: number;
  readonly shape: Shape;
  readonly dtype: DType;
  /** What made it; null for an input. */
  readonly node: GraphNode | null;
  /** Which output of the node, or which input of the graph. */
  readonly index: number;
  /** A number given at run time: it takes the dtype of the tensors it meets. */
  readonly weak: boolean;
}

/** A number known when the graph is made, standing where a tensor could. */
export interface GraphScalar {
  readonly scalar: number | bigint | boolean;
}

/** An argument of a node. */
export type GraphOperand = GraphValue | GraphScalar;

/** One op of a graph. */
export interface GraphNode {
  readonly index: number;
  readonly op: Op;
  readonly inputs: readonly GraphOperand[];
  readonly attrs: Attrs;
  readonly outputs: readonly GraphValue[];
}

/** Whether an operand is a value (and not a known number). */
export function isValue(x: GraphOperand): x is GraphValue {
  return !("scalar" in x);
}

/** A growing list of nodes in the order they were made, which is a topological order. */
export class Graph {
  readonly inputs: GraphValue[] = [];
  readonly nodes: GraphNode[] = [];
  outputs: GraphValue[] = [];
  #nextId = 0;

  /** Adds an input. */
  input(shape: Shape, dtype: DType, weak = false): GraphValue {
    const value: GraphValue = {
      id: this.#nextId++,
      shape,
      dtype,
      node: null,
      index: this.inputs.length,
      weak,
    };
    this.inputs.push(value);
    return value;
  }

  /** Adds a node and makes its output values. */
  add(
    op: Op,
    inputs: readonly GraphOperand[],
    attrs: Attrs,
    metas: readonly { readonly shape: Shape; readonly dtype: DType }[],
  ): GraphNode {
    const outputs: GraphValue[] = [];
    const node: GraphNode = { index: this.nodes.length, op, inputs, attrs, outputs };
    for (let i = 0; i < metas.length; i++) {
      outputs.push({
        id: this.#nextId++,
        shape: metas[i].shape,
        dtype: metas[i].dtype,
        node,
        index: i,
        weak: false,
      });
    }
    this.nodes.push(node);
    return node;
  }
}

/** The graph as text, one node a line. */
export function printGraph(graph: Graph): string {
  const show = (x: GraphOperand): string =>
    isValue(x) ? `%${x.id}` : typeof x.scalar === "bigint" ? `${x.scalar}n` : String(x.scalar);
  const type = (v: GraphValue) => `${v.dtype}[${v.shape.join(",")}]`;
  const lines = [
    `inputs: ${graph.inputs.map((v) => `%${v.id}: ${v.weak ? "scalar" : type(v)}`).join(", ")}`,
  ];
  for (const n of graph.nodes) {
    const attrs = Object.entries(n.attrs).filter(([, v]) => v !== undefined)
      .map(([k, v]) => `${k}=${JSON.stringify(v)}`).join(" ");
    lines.push(
      `${n.outputs.map((v) => `%${v.id}: ${type(v)}`).join(", ")} = ${n.op.name}(${
        n.inputs.map(show).join(", ")
      })${attrs === "" ? "" : ` ${attrs}`}`,
    );
  }
  lines.push(`outputs: ${graph.outputs.map((v) => `%${v.id}`).join(", ")}`);
  return lines.join("\n");
}
