// Choices made before code is written: along which axis four points at a time are taken, and how
// many times four. By counting instructions, from the kernel alone. Not here: sizes, which a
// kernel does not know.
import { DTYPES } from "../../../../core/dtype.ts";
import { type Expr, isLeaf, walk } from "../../../../core/ir/expr.ts";
import {
  type Kernel,
  type Stage,
  stageExprs,
  type StrideClass,
} from "../../../../core/ir/kernel.ts";
import { isLanewise } from "./vector.ts";

/** How a kernel or a stage is walked. */
export interface Plan {
  /** Whether four neighbours along the last outer axis are taken through all stages together. */
  readonly across: boolean;
  /** Groups of four that one round of the main loop takes; 0 where single points do better. */
  readonly copies: number;
}

/** Plan of a kernel whose points are taken one by one. */
const ONE_BY_ONE: Plan = { across: true, copies: 0 };

interface Cost {
  readonly nodes: number;
  /** Instructions for four points, roughly: one by one, and side by side. */
  readonly scalar: number;
  readonly vector: number;
  /** What scattered accesses cost beyond their instructions. */
  readonly scattered: number;
}

/** What a kernel or stage costs if lanes lie along the axis, which the classes speak of. */
function cost(
  kernel: Kernel,
  roots: readonly Expr[],
  outputs: readonly StrideClass[],
  classOf: (input: number) => StrideClass,
  axis: number,
): Cost {
  let nodes = 0;
  let scalar = 0;
  let vector = 0;
  let scattered = 0;
  const varying = new Set<Expr>();
  walk(roots, (e) => {
    switch (e.op) {
      case "load": {
        const kind = classOf(e.index!);
        if (kind === "zero") {
          vector++;
          return;
        }
        scalar += 4;
        if (kind === "any") scattered += 2;
        vector += kind === "any" ? 6 : DTYPES[kernel.inputs[e.index!].dtype].bytes === 8 ? 2 : 1;
        break;
      }
      case "coord":
        if (e.index !== axis) return;
        vector++;
        break;
      case "left":
      case "right":
        break;
      default: {
        if (isLeaf(e.op) || !e.args.some((a) => varying.has(a))) return;
        const wide = e.dtype === "int64" || e.dtype === "float64";
        scalar += 4;
        vector += isLanewise(e) ? 10 : wide ? 2 : 1;
      }
    }
    varying.add(e);
    nodes++;
  });
  for (const kind of outputs) {
    scalar += 4;
    vector += kind === "any" ? 4 : 1;
    if (kind === "any") scattered += 2;
  }
  return { nodes, scalar, vector, scattered };
}

function copiesFor(c: Cost): number {
  if (c.vector >= c.scalar) return 0;
  return c.nodes <= 8 ? 4 : c.nodes <= 20 ? 2 : 1;
}

/** Choices for a whole kernel. */
export function planKernel(kernel: Kernel): Plan {
  const { outerRank, innerRank, stages } = kernel;
  if (outerRank === 0) return innerRank === 0 ? ONE_BY_ONE : { across: false, copies: 0 };
  const roots = stages.flatMap(stageExprs);
  const across = cost(
    kernel,
    roots,
    kernel.outputs.map((o) => o.outer),
    (i) => kernel.inputs[i].outer,
    outerRank - 1,
  );
  if (innerRank === 0) return { across: true, copies: copiesFor(across) };
  const along = cost(
    kernel,
    roots,
    kernel.outputs.filter((o) => isInner(stages[o.stage])).map((o) => o.inner),
    (i) => kernel.inputs[i].inner,
    outerRank + innerRank - 1,
  );
  const scans = stages.some((s) => s.kind === "scan");
  const alongCost = scans ? along.scalar : Math.min(along.scalar, along.vector) + along.scattered;
  const acrossCost = across.vector + across.scattered;
  if (acrossCost < alongCost && across.vector < across.scalar) {
    return { across: true, copies: copiesFor(across) };
  }
  return { across: false, copies: 0 };
}

/** Choices for one stage whose points are walked along the last inner axis. */
export function planStage(kernel: Kernel, index: number): Plan {
  const stage = kernel.stages[index];
  if (!isInner(stage) || stage.kind === "scan" || kernel.innerRank === 0) return ONE_BY_ONE;
  const c = cost(
    kernel,
    stageExprs(stage),
    kernel.outputs.filter((o) => o.stage === index).map((o) => o.inner),
    (i) => kernel.inputs[i].inner,
    kernel.outerRank + kernel.innerRank - 1,
  );
  return { across: false, copies: copiesFor(c) };
}

/** Whether a stage has values at every inner point. */
function isInner(stage: Stage): boolean {
  return stage.kind !== "final";
}
