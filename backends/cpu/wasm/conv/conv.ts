// Two-dimensional convolution and its two gradients on a WebAssembly memory, as implicit matrix
// products: patches are read from the image (or a small padded copy of a part of it), never written
// out. Chooses the method for a shape; compiles one module per element type when first needed.

import type { SharedCode, Tail } from "../../threads/job.ts";
import type { Fork } from "../../threads/pool.ts";
import { ModuleBuilder, type PtrType } from "../asm/mod.ts";
import { createGemm, type Gemm } from "../gemm/mod.ts";
import { emitCopy } from "../gemm/pack.ts";
import { type ElementSpec, elementSpec } from "../gemm/spec.ts";
import { emitCorrelate, TILE_BYTES } from "./correlate.ts";
import { type Job, JOB_BYTES, writeJob } from "./job.ts";
import {
  type Blocks,
  convOutputSize,
  type ConvShape,
  forwardWindow,
  inputPhases,
  type Phase,
  planBlocks,
} from "./shape.ts";
import {
  denseProduct,
  isDense,
  isPointwise,
  lengthened,
  pointwiseProduct,
  type WithOperands,
} from "./products.ts";
import { convCost, shareCorrelate, type Shared, shareWeights } from "./share.ts";
import { emitStage } from "./stage.ts";
import { emitWeights } from "./weights.ts";

/** What every call takes besides its operands. */
export interface ConvArgs extends ConvShape {
  /** Address, divisible by 16, of at least `scratchBytes(pass, shape)` bytes. */
  scratch: number;
}

/** Called for finished planes; see `ConvForward.onRows`. */
export type PlanesDone = (planeStart: number, planeCount: number) => void;

/** The forward pass: y = x ∗ weight. */
export interface ConvForward extends ConvArgs {
  /** Byte addresses of the operands and the result. */
  x: number;
  weight: number;
  y: number;
  /** Compute only images start ≤ i < end; the addresses stay those of image 0. */
  images?: readonly [start: number, end: number];
  /**
   * Called for each run of whole output planes once they are final, while they are likely in cache:
   * the result seen as a matrix of n·oc rows (plane = image · oc + channel) and oh·ow columns. All
   * planes are reported once; planes of one call are adjacent; the order is not promised.
   */
  onRows?: PlanesDone;
  /** What `onRows` does, as other threads can do it; without it a call with `onRows` stays on one. */
  tail?: Tail;
}

/** The gradient of the input from the gradient of the output. */
export interface ConvBackwardInput extends ConvArgs {
  dy: number;
  weight: number;
  dx: number;
  images?: readonly [start: number, end: number];
  /** As in the forward pass; planes are those of dx: n·c rows of h·w. */
  onRows?: PlanesDone;
  tail?: Tail;
}

/** The gradient of the filters from the input and the gradient of the output. */
export interface ConvBackwardWeight extends ConvArgs {
  x: number;
  dy: number;
  dweight: number;
}

/** One of the three computations. */
export type ConvPass = "forward" | "backwardInput" | "backwardWeight";

/** Where the kernels live and what the engine offers. */
export interface ConvOptions {
  memory: WebAssembly.Memory;
  /** Address width of the memory. */
  ptr: PtrType;
  /** Whether the engine has relaxed vector instructions (fused multiply-add). */
  relaxed: boolean;
  /** Matrix products on the same memory, to share their kernels; made if left out. */
  gemm?: Gemm;
  /** Other threads on the memory, if there are any; addresses are then of 32 bits. */
  fork?: Fork | null;
}

type Kernel = (...args: (number | bigint)[]) => void;

interface Kernels {
  readonly spec: ElementSpec;
  readonly correlate: Kernel;
  readonly weights: Kernel;
  readonly copy: Kernel;
  readonly code: SharedCode | null;
}

/** Bytes of filters that are used line after line before the next ones. */
const FILTER_BYTES = 128 * 1024;
/** Bytes of the result between two reports. */
const REPORT_BYTES = 64 * 1024;
/** Largest page counts that any memory of that address width may have. */
const ANY_MAX = { i32: 65536, i64: 2 ** 37 } as const;

const align16 = (bytes: number) => Math.ceil(bytes / 16) * 16;
const align64 = (bytes: number) => Math.ceil(bytes / 64) * 64;

/** A job that is written, and where. */
interface Prepared {
  readonly at: number;
  readonly job: Job;
}

/** Convolutions on one memory; make it with `createConv`. Keeps no state between calls. */
export class Conv {
  readonly #memory: WebAssembly.Memory;
  readonly #ptr: PtrType;
  readonly #relaxed: boolean;
  readonly #gemm: Gemm;
  readonly #fork: Fork | null;
  readonly #kernels = new Map<ConvShape["dtype"], Kernels>();
  #onRows: PlanesDone | undefined;

  constructor(options: ConvOptions) {
    this.#memory = options.memory;
    this.#ptr = options.ptr;
    this.#relaxed = options.relaxed;
    this.#gemm = options.gemm ?? createGemm(options);
    this.#fork = options.fork ?? null;
  }

  #load(dtype: ConvShape["dtype"]): Kernels {
    const known = this.#kernels.get(dtype);
    if (known !== undefined) return known;
    const spec = elementSpec(dtype, this.#relaxed);
    const module = new ModuleBuilder({ ptr: this.#ptr });
    const shared = !(this.#memory.buffer instanceof ArrayBuffer);
    module.importMemory("env", "memory", {
      shared,
      max: shared ? ANY_MAX[this.#ptr] : undefined,
    });
    const onRows = module.importFunction("env", "onRows", { params: ["i32", "i32"] });
    const stage = emitStage(module, spec);
    emitCopy(module, spec);
    emitCorrelate(module, spec, stage, onRows);
    emitWeights(module, spec, stage);
    const bytes = module.bytes();
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
      env: {
        memory: this.#memory,
        onRows: (start: number, count: number) => this.#onRows?.(start, count),
      },
    });
    const code = this.#fork?.code(bytes, instance) ?? null;
    const kernels = { spec, code, ...instance.exports } as unknown as Kernels;
    this.#kernels.set(dtype, kernels);
    return kernels;
  }

  #call(kernel: Kernel, ...args: number[]): void {
    if (this.#ptr === "i64") kernel(...args.map(BigInt));
    else kernel(...args);
  }

  /** Runs with `onRows` as the callback of the kernels. */
  #reporting(onRows: PlanesDone | undefined, body: () => void): void {
    const previous = this.#onRows;
    this.#onRows = onRows;
    try {
      body();
    } finally {
      this.#onRows = previous;
    }
  }

  #zero(at: number, bytes: number): void {
    new Uint8Array(this.#memory.buffer, at, bytes).fill(0);
  }

  /** Bytes of the threads' own scratch memories, and of room for a job each before them. */
  #threadBytes(stageBytes: number): number {
    const threads = this.#fork?.threads ?? 1;
    return 64 + threads * (JOB_BYTES + align64(TILE_BYTES + stageBytes));
  }

  /** What sharing out jobs needs, or null if they stay on this thread; `free` is the first free address. */
  #shared(
    { spec, code }: Kernels,
    jobs: readonly Prepared[],
    { free, stageBytes }: { free: number; stageBytes: number },
  ): Shared[] | null {
    const fork = this.#fork;
    const cost = jobs.reduce((sum, { job }) => sum + convCost(job, job.images, spec), 0);
    if (fork === null || code === null || !fork.wants(cost)) return null;
    const records = align64(free);
    const base = records + fork.threads * JOB_BYTES;
    const scratch = { base, slot: align64(TILE_BYTES + stageBytes) };
    const common = { fork, code, spec, memory: this.#memory, records, scratch };
    return jobs.map((one) => ({ ...common, ...one }));
  }

  /** Runs `correlate` for one job after the other, each on several threads; false if that cannot be. */
  #shareCorrelate(
    jobs: readonly Shared[] | null,
    images: readonly [number, number],
    { onRows, tail }: { readonly onRows?: PlanesDone; readonly tail?: Tail },
  ): boolean {
    if (jobs === null || (onRows !== undefined && tail === undefined)) return false;
    this.#reporting(tail && jobs[0].fork.report, () => {
      for (const one of jobs) {
        shareCorrelate(one, images, one.job.report === 1 ? tail : undefined);
      }
    });
    return true;
  }

  /** Bytes of scratch memory that a pass needs, on all threads together. */
  scratchBytes(pass: ConvPass, shape: ConvShape): number {
    const spec = elementSpec(shape.dtype, this.#relaxed);
    const [oh, ow] = convOutputSize(shape);
    if (shape.n === 0 || shape.c === 0 || shape.oc === 0 || oh === 0 || ow === 0) return 0;
    const operands = { scratch: 0, x: 0, y: 0, dy: 0, dx: 0, weight: 0, dweight: 0 };
    if (isDense(shape)) {
      return this.#gemm.scratchBytes(denseProduct(pass, { ...shape, ...operands }));
    }
    if (isPointwise(shape) && pass !== "backwardWeight") {
      const product = pointwiseProduct(pass, { ...shape, ...operands }, 0, spec.size);
      return this.#gemm.scratchBytes(product);
    }
    const long = lengthened(shape);
    if (pass === "backwardInput") {
      const { scratch, stageBytes } = inputLayout(long, spec);
      return scratch + this.#threadBytes(stageBytes);
    }
    const kind = pass === "forward" ? "correlate" : "weights";
    const blocks = planBlocks(forwardWindow(long), spec, kind, long.n);
    return JOB_BYTES + align16(4 * blocks.entries) + this.#threadBytes(blocks.stageBytes);
  }

  /** Computes y. */
  forward(args: ConvForward): void {
    const [start, end] = args.images ?? [0, args.n];
    const [oh, ow] = convOutputSize(args);
    if (end <= start || args.oc === 0 || oh === 0 || ow === 0) return;
    const kernels = this.#load(args.dtype);
    const { spec, correlate } = kernels;
    const { size } = spec;
    if (args.c === 0) {
      const image = args.oc * oh * ow * size;
      this.#zero(args.y + start * image, (end - start) * image);
      args.onRows?.(start * args.oc, (end - start) * args.oc);
      return;
    }
    if (isDense(args)) return this.#dense("forward", args, [start, end], args);
    if (isPointwise(args)) return this.#pointwise("forward", args, [start, end], args);
    const shape = lengthened(args);
    const { groups } = shape;
    const blocks = planBlocks(forwardWindow(shape), spec, "correlate", shape.n);
    const depth = shape.c / groups * shape.kh * shape.kw;
    const m = shape.oc / groups;
    const plane = oh * ow * size;
    const job: Job = {
      ...blocks.job,
      groups,
      images: end - start,
      a: args.weight,
      aRow: depth * size,
      aGroup: m * depth * size,
      source: args.x,
      sourceImage: shape.c * shape.h * shape.w * size,
      sourceGroup: shape.c / groups * shape.h * shape.w * size,
      c: args.y,
      cImage: shape.oc * plane,
      cGroup: m * plane,
      cRow: plane,
      cLine: blocks.job.width * size,
      cColumn: size,
      m,
      chunk: chunkOf(m, depth * size, plane, spec, args.onRows !== undefined),
      report: args.onRows === undefined ? 0 : 1,
      planes: shape.oc,
    };
    const { free, ...prepared } = this.#prepare(args.scratch, job, blocks);
    const shared = this.#shared(kernels, [prepared], { free, stageBytes: blocks.stageBytes });
    if (this.#shareCorrelate(shared, [start, end], args)) return;
    this.#reporting(args.onRows, () => this.#call(correlate, args.scratch, free, start, end));
  }

  /** Computes dx. */
  backwardInput(args: ConvBackwardInput): void {
    const [start, end] = args.images ?? [0, args.n];
    if (end <= start || args.c === 0 || args.h === 0 || args.w === 0) return;
    const kernels = this.#load(args.dtype);
    const { spec, correlate, copy } = kernels;
    const { size } = spec;
    const image = args.c * args.h * args.w * size;
    const [oh, ow] = convOutputSize(args);
    const empty = args.oc === 0 || oh === 0 || ow === 0;
    if (!empty && isDense(args)) {
      return this.#dense("backwardInput", args, [start, end], args);
    }
    if (!empty && isPointwise(args)) {
      return this.#pointwise("backwardInput", args, [start, end], args);
    }
    const shape = lengthened(args);
    const { groups } = shape;
    const phases = empty ? [] : inputPhases(shape);
    if (phases.length < Math.min(shape.strideH, shape.h) * Math.min(shape.strideW, shape.w)) {
      this.#zero(args.dx + start * image, (end - start) * image);
    }
    if (phases.length === 0) {
      args.onRows?.(start * args.c, (end - start) * args.c);
      return;
    }
    const layout = inputLayout(shape, spec);
    const m = shape.c / groups;
    const plane = shape.h * shape.w * size;
    const outPlane = oh * ow * size;
    const scratch = args.scratch + layout.scratch;
    const prepared = layout.phases.map(({ phase, blocks, job: jobAt, filters }, index) => {
      const depth = shape.oc / groups * phase.filterTaps.length;
      const block = blocks.job.blockChannels;
      const to = args.scratch + filters;
      this.#repackFilters(copy, shape, phase, block, args.weight, to, size);
      const last = index === phases.length - 1;
      const report = last && args.onRows !== undefined;
      const job: Job = {
        ...blocks.job,
        groups,
        images: end - start,
        a: to,
        aRow: depth * size,
        aGroup: m * depth * size,
        source: args.dy,
        sourceImage: shape.oc * outPlane,
        sourceGroup: shape.oc / groups * outPlane,
        c: args.dx + (phase.y * shape.w + phase.x) * size,
        cImage: image,
        cGroup: m * plane,
        cRow: plane,
        cLine: shape.strideH * shape.w * size,
        cColumn: shape.strideW * size,
        m,
        chunk: chunkOf(m, depth * size, plane, spec, report),
        report: report ? 1 : 0,
        planes: shape.c,
      };
      return this.#prepare(args.scratch + jobAt, job, blocks);
    });
    const place = { free: scratch, stageBytes: layout.stageBytes };
    if (this.#shareCorrelate(this.#shared(kernels, prepared, place), [start, end], args)) return;
    this.#reporting(args.onRows, () => {
      // Image by image, so that all phases of an image find it in cache.
      const step = phases.length === 1 ? end - start : 1;
      for (let item = start; item < end; item += step) {
        for (const { job } of layout.phases) {
          this.#call(correlate, args.scratch + job, scratch, item, item + step);
        }
      }
    });
  }

  /** Copies the filters of a phase to the order of its table: [c][block][row][oc][tap in row]. */
  #repackFilters(
    copy: Kernel,
    shape: ConvShape,
    { filterTaps, window }: Phase,
    blockChannels: number,
    from: number,
    to: number,
    size: number,
  ): void {
    const { groups, kh, kw } = shape;
    const m = shape.c / groups;
    const outputs = shape.oc / groups;
    const taps = filterTaps.length;
    const filter = kh * kw * size;
    const rowLength = taps / (window.tapRows ?? 1);
    const depth = outputs * taps * size;
    for (let first = 0; first < outputs; first += blockChannels) {
      const count = Math.min(blockChannels, outputs - first);
      filterTaps.forEach((tap, index) => {
        const [row, column] = [Math.floor(index / rowLength), index % rowLength];
        const place = first * taps + row * count * rowLength + column;
        // With one row per group the groups' rows are as regular as the rows of a group.
        const [steps, rows, rowBytes] = m === 1
          ? [1, groups, outputs * filter]
          : [groups, m, filter];
        for (let group = 0; group < steps; group++) {
          const source = from + (group * outputs + first) * m * filter + tap * size;
          // deno-fmt-ignore
          this.#call(copy, to + group * m * depth + place * size, depth, rowLength * size,
            source, rowBytes, m * filter, rows, count);
        }
      });
    }
  }

  /** Computes dweight. */
  backwardWeight(args: ConvBackwardWeight): void {
    const { n, groups } = args;
    if (args.c === 0 || args.oc === 0 || args.kh === 0 || args.kw === 0) return;
    const kernels = this.#load(args.dtype);
    const { spec, weights } = kernels;
    const { size } = spec;
    const [oh, ow] = convOutputSize(args);
    if (n === 0 || oh === 0 || ow === 0) {
      this.#zero(args.dweight, args.oc * (args.c / groups) * args.kh * args.kw * size);
      return;
    }
    if (isDense(args)) return this.#dense("backwardWeight", args, [0, n], {});
    const shape = lengthened(args);
    const blocks = planBlocks(forwardWindow(shape), spec, "weights", n);
    const depth = shape.c / groups * shape.kh * shape.kw;
    const m = shape.oc / groups;
    const outPlane = oh * ow * size;
    const plane = shape.h * shape.w * size;
    const job: Job = {
      ...blocks.job,
      groups,
      images: n,
      a: args.dy,
      aRow: outPlane,
      aGroup: m * outPlane,
      aImage: shape.oc * outPlane,
      aLine: blocks.job.width * size,
      source: args.x,
      sourceImage: shape.c * plane,
      sourceGroup: shape.c / groups * plane,
      c: args.dweight,
      cGroup: m * depth * size,
      cRow: depth * size,
      m,
    };
    const { free, ...prepared } = this.#prepare(args.scratch, job, blocks);
    const shared = this.#shared(kernels, [prepared], { free, stageBytes: blocks.stageBytes });
    if (shared !== null) shareWeights(shared[0]);
    else this.#call(weights, args.scratch, free, 0, m);
  }

  /** Writes the record and its table at an address; `free` is the first free one behind them. */
  #prepare(at: number, job: Job, blocks: Blocks): Prepared & { readonly free: number } {
    const table = at + JOB_BYTES;
    const whole = { ...job, table, lastTable: table + 4 * blocks.blockEntries };
    writeJob(this.#memory.buffer, at, this.#ptr, whole);
    blocks.offsets(new Int32Array(this.#memory.buffer, table, blocks.entries));
    return { at, job: whole, free: table + align16(4 * blocks.entries) };
  }

  #dense(
    pass: ConvPass,
    args: WithOperands,
    images: readonly [number, number],
    { onRows, tail }: { readonly onRows?: PlanesDone; readonly tail?: Tail },
  ): void {
    const product = denseProduct(pass, args);
    const planes = pass === "forward" ? args.oc : args.c;
    this.#gemm.run({
      ...product,
      rows: pass === "backwardWeight" ? undefined : images,
      onRows: onRows && ((start, count) => onRows(start * planes, count * planes)),
      tail: tail && { ...tail, base: 0, item: 0, scale: planes, byColumns: false },
    });
  }

  #pointwise(
    pass: "forward" | "backwardInput",
    args: WithOperands,
    [start, end]: readonly [number, number],
    { onRows, tail }: { readonly onRows?: PlanesDone; readonly tail?: Tail },
  ): void {
    const { size } = this.#load(args.dtype).spec;
    const planes = pass === "forward" ? args.oc : args.c;
    for (let group = 0; group < args.groups; group++) {
      const product = pointwiseProduct(pass, args, group, size);
      const pixels = args.h * args.w;
      const [b, c] = pass === "forward" ? [args.c, args.oc] : [args.oc, args.c];
      const first = group * product.m;
      this.#gemm.run({
        ...product,
        b: { ...product.b, ptr: product.b.ptr + start * b * pixels * size },
        c: { ...product.c, ptr: product.c.ptr + start * c * pixels * size },
        batch: { count: end - start, a: 0, b: b * pixels, c: c * pixels },
        onRows: onRows &&
          ((row, count, item) => onRows((start + item) * planes + first + row, count)),
        tail: tail && {
          ...tail,
          base: start * planes + first,
          item: planes,
          scale: 1,
          byColumns: false,
        },
      });
    }
  }
}

/** Rows of the result that are computed line by line before the next ones. */
function chunkOf(
  m: number,
  filterBytes: number,
  planeBytes: number,
  spec: ElementSpec,
  report: boolean,
): number {
  const filters = Math.floor(FILTER_BYTES / filterBytes);
  const planes = report ? Math.floor(REPORT_BYTES / planeBytes) : m;
  const limit = Math.min(filters, planes);
  return Math.min(m, Math.max(1, Math.floor(limit / spec.rows)) * spec.rows);
}

/** Where the parts of the input gradient's scratch memory lie, relative to its start. */
function inputLayout(shape: ConvShape, spec: ElementSpec): {
  phases: { phase: Phase; blocks: Blocks; job: number; filters: number }[];
  scratch: number;
  stageBytes: number;
} {
  let at = 0;
  let stageBytes = 0;
  const phases = inputPhases(shape).map((phase) => {
    const blocks = planBlocks(phase.window, spec, "correlate", shape.n);
    const job = at;
    const filters = job + JOB_BYTES + align16(4 * blocks.entries);
    const taps = phase.filterTaps.length;
    at = filters + align16(shape.c * (shape.oc / shape.groups) * taps * spec.size);
    stageBytes = Math.max(stageBytes, blocks.stageBytes);
    return { phase, blocks, job, filters };
  });
  return { phases, scratch: at, stageBytes };
}

/** Convolutions on a memory. Nothing is compiled before the first call. */
export function createConv(options: ConvOptions): Conv {
  return new Conv(options);
}
