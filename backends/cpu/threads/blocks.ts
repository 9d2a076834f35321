// Long reductions to a few values, cut into blocks: a kernel becomes one that folds every block, one that folds the
// blocks' results in order, and one for each map. How it is cut depends on sizes alone, never on threads, so
// results do not either. Kernels and launches only: nothing is rendered or run here.
import type { ComputeType, DType } from "../../../core/dtype.ts";
import { InternalError } from "../../../core/errors.ts";
import * as k from "../../../core/ir/expr.ts";
import type { Expr } from "../../../core/ir/expr.ts";
import {
  type Kernel,
  type KernelInput,
  type KernelOutput,
  type Launch,
  makeKernel,
  type Stage,
} from "../../../core/ir/kernel.ts";
import { contiguousStrides, sizeOf } from "../../../core/shape.ts";

/** Points that a block has at least. */
const BLOCK_POINTS = 32768;
/** Inner points from which on they are cut. */
const LONG = 2 * BLOCK_POINTS;
/** Most outer points for which they are: with more there is enough to share out. */
const FEW = 16;
/** Blocks of the last axis end at multiples of this, whole rounds of the loops. */
const ROUND = 1024;

/** Which inner axis is cut, and into blocks of what length. */
export interface Cut {
  readonly axis: number;
  readonly length: number;
}

/** Whether launches of a kernel may be cut. */
export function canBeCut({ innerRank, stages }: Kernel): boolean {
  return innerRank > 0 && stages.some((s) => s.kind === "reduce") &&
    !stages.some((s) => s.kind === "scan");
}

/** How a launch with such sizes is cut; null if it is not. */
export function cutOf(outerRank: number, sizes: readonly number[]): Cut | null {
  let [outer, inner, axis] = [1, 1, outerRank];
  for (let i = 0; i < sizes.length; i++) {
    if (i < outerRank) outer *= sizes[i];
    else {
      inner *= sizes[i];
      if (sizes[i] > sizes[axis]) axis = i;
    }
  }
  if (outer === 0 || outer > FEW || inner < LONG) return null;
  const grain = axis === sizes.length - 1 ? ROUND : 1;
  const length = Math.ceil(BLOCK_POINTS * sizes[axis] / inner / grain) * grain;
  return length < sizes[axis] ? { axis, length } : null;
}

/** What a kernel's buffer is: input or output of the whole, a block's result, or a result of all. */
type Source =
  | { readonly kind: "given"; readonly index: number }
  | { readonly kind: "partial"; readonly stage: number; readonly state: number }
  | { readonly kind: "total"; readonly stage: number; readonly state: number };

interface Part {
  readonly kind: "blocks" | "fold" | "map" | "final";
  readonly kernel: Kernel;
  readonly buffers: readonly Source[];
}

/** A kernel of which one inner axis is cut. */
export class BlockedKernel {
  readonly #source: Kernel;
  readonly #axis: number;
  readonly #parts: readonly Part[];

  constructor(source: Kernel, axis: number) {
    this.#source = source;
    this.#axis = axis;
    const parts: Part[] = [];
    const { stages } = source;
    stages.forEach((stage, s) => {
      if (stage.kind === "reduce") parts.push(this.#blocks(stage, s), this.#fold(s));
      else if (stage.kind === "map") parts.push(this.#map(stage, s));
      else if (stage.kind === "final" && !this.#isFolded(s)) parts.push(this.#map(stage, s));
    });
    this.#parts = parts;
  }

  /** The kernels it consists of. */
  get kernels(): Kernel[] {
    return this.#parts.map((p) => p.kernel);
  }

  /** Whether a final is computed together with the fold before it. */
  #isFolded(s: number): boolean {
    const { stages } = this.#source;
    let before = s - 1;
    while (stages[before]?.kind === "final") before--;
    return stages[before]?.kind === "reduce";
  }

  #stateTypes(stage: number): ComputeType[] {
    const s = this.#source.stages[stage];
    if (s.kind !== "reduce") throw new InternalError(`Cannot read results of a ${s.kind} stage`);
    return s.combine.map((e) => e.dtype);
  }

  /** Inputs of a part: the given ones, then results of earlier stages, found by stage and state. */
  #inputs(
    stage: number,
    given: (b: KernelInput) => KernelInput,
    total: Pick<KernelInput, "outer" | "inner">,
  ): { inputs: KernelInput[]; buffers: Source[]; at: (stage: number, state: number) => number } {
    const inputs = this.#source.inputs.map((b) => b.gatherRank === undefined ? given(b) : b);
    const buffers: Source[] = inputs.map((_, index) => ({ kind: "given", index }));
    const first = new Map<number, number>();
    for (let s = 0; s < stage; s++) {
      if (this.#source.stages[s].kind !== "reduce") continue;
      first.set(s, inputs.length);
      this.#stateTypes(s).forEach((dtype, state) => {
        inputs.push({ dtype, ...total });
        buffers.push({ kind: "total", stage: s, state });
      });
    }
    return { inputs, buffers, at: (s, state) => first.get(s)! + state };
  }

  /** Arguments after the given ones: length of a block, first coordinate of the launch, inner sizes. */
  get #args(): ComputeType[] {
    const { args, innerRank } = this.#source;
    return [...args, ...new Array<ComputeType>(2 + innerRank).fill("int32")];
  }

  #extra(i: number): Expr {
    return k.leaf("arg", "int32", this.#source.args.length + i);
  }

  /** Folds every block: the blocks are outer axis 0. */
  #blocks(stage: Extract<Stage, { kind: "reduce" }>, s: number): Part {
    const { outerRank, innerRank, index32 } = this.#source;
    const single = outerRank === 0;
    const { inputs, buffers, at } = this.#inputs(
      s,
      (b) => ({ ...b, outer: single ? "any" : b.outer }),
      { outer: single ? "zero" : "any", inner: "zero" },
    );
    const [lift, combine] = [stage.lift, stage.combine].map((es) =>
      k.rewrite(es, (e) => {
        if (e.op === "result") return k.leaf("load", e.dtype, at(e.stage!, e.index!));
        if (e.op === "size") return this.#size(e, 1);
        if (e.op !== "coord") return e;
        const moved = k.leaf("coord", "int32", e.index! + 1);
        if (e.index !== this.#axis) return moved;
        const first = k.mul(k.leaf("coord", "int32", 0), this.#extra(0));
        return k.add(k.add(first, this.#extra(1)), moved);
      })
    );
    const states = this.#stateTypes(s);
    const kernel = makeKernel({
      outerRank: outerRank + 1,
      innerRank,
      inputs,
      args: this.#args,
      stages: [{ kind: "reduce", init: stage.init, lift, combine }],
      outputs: states.map((dtype, value): KernelOutput => ({
        dtype,
        outer: single ? "unit" : "any",
        inner: "zero",
        stage: 0,
        value,
      })),
      index32,
    });
    const own = states.map((_, state): Source => ({ kind: "partial", stage: s, state }));
    return { kind: "blocks", kernel, buffers: [...buffers, ...own] };
  }

  /** The size of an axis that may be cut, else of one that is `shift` further than in the whole. */
  #size(e: Expr, shift: number): Expr {
    const inner = e.index! - this.#source.outerRank;
    return inner >= 0 ? this.#extra(2 + inner) : k.leaf("size", "int32", e.index! + shift);
  }

  /** Folds the results of the blocks, and computes the finals that follow. */
  #fold(s: number): Part {
    const { outerRank, stages, outputs, index32, inputs: given } = this.#source;
    const { inputs, buffers, at } = this.#inputs(
      s,
      (b) => ({ ...b, inner: "zero" }),
      { outer: outerRank === 0 ? "zero" : "any", inner: "zero" },
    );
    const reduce = stages[s] as Extract<Stage, { kind: "reduce" }>;
    const states = this.#stateTypes(s);
    const firstPartial = inputs.length;
    states.forEach((dtype, state) => {
      inputs.push({ dtype, outer: outerRank === 0 ? "zero" : "any", inner: "unit" });
      buffers.push({ kind: "partial", stage: s, state });
    });
    const own: Stage[] = [{
      ...reduce,
      lift: states.map((dtype, state) => k.leaf("load", dtype, firstPartial + state)),
    }];
    const outs: KernelOutput[] = [];
    const take = (stage: number, to: number) =>
      outputs.forEach((o, i) => {
        if (o.stage !== stage) return;
        outs.push({ ...o, stage: to, inner: "zero" });
        buffers.push({ kind: "given", index: given.length + i });
      });
    take(s, 0);
    let next = s + 1;
    for (; next < stages.length; next++) {
      const stage = stages[next];
      if (stage.kind !== "final") break;
      const values = k.rewrite(stage.values, (e) => {
        if (e.op === "size") return this.#size(e, 0);
        if (e.op !== "result") return e;
        return e.stage === s
          ? k.leaf("result", e.dtype, e.index!, 0)
          : k.leaf("load", e.dtype, at(e.stage!, e.index!));
      });
      take(next, own.length);
      own.push({ kind: "final", values });
    }
    if (next < stages.length) {
      states.forEach((dtype, value) => {
        const outer = outerRank === 0 ? "zero" : "any";
        outs.push({ dtype, outer, inner: "zero", stage: 0, value });
        buffers.push({ kind: "total", stage: s, state: value });
      });
    }
    const kernel = makeKernel({
      outerRank,
      innerRank: 1,
      inputs,
      args: this.#args,
      stages: own,
      outputs: outs,
      index32,
    });
    return { kind: "fold", kernel, buffers };
  }

  /** A map, whose axes are all outer ones, or a final by itself, which has the outer ones alone. */
  #map(stage: Extract<Stage, { kind: "map" | "final" }>, s: number): Part {
    const { outerRank, innerRank, outputs, index32, inputs: given } = this.#source;
    const final = stage.kind === "final";
    const single = outerRank === 0 || !final;
    const { inputs, buffers, at } = this.#inputs(
      s,
      (b) => ({ ...b, outer: final ? b.outer : b.inner, inner: "zero" }),
      { outer: single ? "zero" : "any", inner: "zero" },
    );
    const values = k.rewrite(stage.values, (e) => {
      if (e.op === "size") return this.#size(e, 0);
      return e.op === "result" ? k.leaf("load", e.dtype, at(e.stage!, e.index!)) : e;
    });
    const outs: KernelOutput[] = [];
    outputs.forEach((o, i) => {
      if (o.stage !== s) return;
      outs.push({ ...o, stage: 0, outer: final ? o.outer : o.inner, inner: "zero" });
      buffers.push({ kind: "given", index: given.length + i });
    });
    const kernel = makeKernel({
      outerRank: final ? outerRank : outerRank + innerRank,
      innerRank: 0,
      inputs,
      args: this.#args,
      stages: [{ kind: "map", values }],
      outputs: outs,
      index32,
    });
    return { kind: stage.kind, kernel, buffers };
  }

  /**
   * Runs a launch. `temporary` gives room for so many elements; `run` runs one of the kernels. Inputs and outputs
   * are those of the whole kernel.
   */
  run<B>(
    launch: Launch,
    buffers: readonly B[],
    length: number,
    temporary: (dtype: DType, elements: number) => B,
    run: (kernel: Kernel, launch: Launch, buffers: readonly B[]) => void,
  ): void {
    const { outerRank, innerRank } = this.#source;
    const { sizes } = launch;
    const outer = sizes.slice(0, outerRank);
    const points = sizeOf(outer);
    const whole = Math.floor(sizes[this.#axis] / length);
    const rest = sizes[this.#axis] - whole * length;
    const blocks = whole + (rest > 0 ? 1 : 0);
    const dense = contiguousStrides(outer);
    const made = new Map<string, B>();
    const bufferOf = (x: Source): B => {
      if (x.kind === "given") return buffers[x.index];
      const key = `${x.kind} ${x.stage} ${x.state}`;
      let buffer = made.get(key);
      if (buffer === undefined) {
        const dtype = this.#stateTypes(x.stage)[x.state];
        buffer = temporary(dtype, x.kind === "partial" ? points * blocks : points);
        made.set(key, buffer);
      }
      return buffer;
    };
    const zeros = new Array<number>(innerRank).fill(0);
    const isGather = (x: Source) =>
      x.kind === "given" && this.#source.inputs[x.index]?.gatherRank !== undefined;

    for (const part of this.#parts) {
      const own = part.buffers.map(bufferOf);
      if (part.kind === "blocks") {
        const strides = part.buffers.map((x) => {
          if (x.kind === "partial") return [1, ...dense.map((d) => d * blocks), ...zeros];
          if (x.kind === "total") return [0, ...dense, ...zeros];
          const given = launch.strides[x.index];
          return isGather(x) ? given : [given[this.#axis] * length, ...given];
        });
        const at = (first: number, count: number, size: number) => {
          const own = [count, ...sizes];
          own[this.#axis + 1] = size;
          return {
            sizes: own,
            strides,
            offsets: part.buffers.map((x, i) => {
              if (x.kind === "partial") return first;
              if (x.kind === "total") return 0;
              const offset = launch.offsets[x.index];
              return isGather(x) ? offset : offset + first * strides[i][0];
            }),
            args: [...launch.args, length, first * length, ...sizes.slice(outerRank)],
          };
        };
        if (whole > 0) run(part.kernel, at(0, whole, length), own);
        if (rest > 0) run(part.kernel, at(whole, 1, rest), own);
        continue;
      }
      const inner = part.kind === "fold"
        ? [blocks]
        : part.kind === "map"
        ? sizes.slice(outerRank)
        : [];
      const none = inner.map(() => 0);
      const strides = part.buffers.map((x) => {
        if (x.kind === "partial") return [...dense.map((d) => d * blocks), 1];
        if (x.kind === "total") return [...dense, ...none];
        const given = launch.strides[x.index];
        if (part.kind === "map" || isGather(x)) return given;
        return [...given.slice(0, outerRank), ...none];
      });
      run(part.kernel, {
        sizes: [...outer, ...inner],
        strides,
        offsets: part.buffers.map((x) => x.kind === "given" ? launch.offsets[x.index] : 0),
        args: [...launch.args, length, 0, ...sizes.slice(outerRank)],
      }, own);
    }
  }
}

/** Bytes of all temporaries of a launch, at most, if each begins at a multiple of 64. */
export function temporaryBytes(kernel: Kernel, sizes: readonly number[], cut: Cut): number {
  const points = sizeOf(sizes.slice(0, kernel.outerRank));
  const blocks = Math.ceil(sizes[cut.axis] / cut.length);
  let states = 0;
  for (const s of kernel.stages) if (s.kind === "reduce") states += s.combine.length;
  return states * (8 * points * (blocks + 1) + 128);
}
