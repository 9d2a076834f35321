// Two-dimensional convolution and its two gradients on a WebAssembly memory, as implicit matrix
// products: patches are read from the image (or a small padded copy of a part of it), never written
// out. Chooses the method for a shape; compiles one module per element type when first needed.

import { ModuleBuilder, type PtrType } from "../asm/mod.ts";
import { createGemm, type Gemm, type GemmArgs } from "../gemm/mod.ts";
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
}

/** The gradient of the input from the gradient of the output. */
export interface ConvBackwardInput extends ConvArgs {
  dy: number;
  weight: number;
  dx: number;
  images?: readonly [start: number, end: number];
  /** As in the forward pass; planes are those of dx: n·c rows of h·w. */
  onRows?: PlanesDone;
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
}

type Kernel = (...args: (number | bigint)[]) => void;

interface Kernels {
  readonly spec: ElementSpec;
  readonly correlate: Kernel;
  readonly weights: Kernel;
  readonly copy: Kernel;
}

/** Bytes of filters that are used line after line before the next ones. */
const FILTER_BYTES = 128 * 1024;
/** Bytes of the result between two reports. */
const REPORT_BYTES = 64 * 1024;
/** Largest page counts that any memory of that address width may have. */
const ANY_MAX = { i32: 65536, i64: 2 ** 37 } as const;

const align16 = (bytes: number) => Math.ceil(bytes / 16) * 16;

/** 1×1 filters that touch every pixel once: a matrix product per image. */
function isPointwise(shape: ConvShape): boolean {
  return shape.kh === 1 && shape.kw === 1 && shape.strideH === 1 && shape.strideW === 1 &&
    isUnpadded(shape);
}

/** Filters as large as the image: a fully connected layer. */
function isDense(shape: ConvShape): boolean {
  return shape.groups === 1 && shape.kh === shape.h && shape.kw === shape.w && isUnpadded(shape) &&
    (shape.dilationH === 1 || shape.kh === 1) && (shape.dilationW === 1 || shape.kw === 1);
}

function isUnpadded(shape: ConvShape): boolean {
  return (shape.padTop || shape.padBottom || shape.padLeft || shape.padRight) === 0;
}

/** Same numbers in memory, longer lines: columns of width 1 become rows, 1×1 filters see one row. */
function lengthened<T extends ConvShape>(shape: T): T {
  if (isPointwise(shape)) return { ...shape, h: 1, w: shape.h * shape.w };
  if (shape.w !== 1 || shape.kw !== 1 || shape.padLeft !== 0 || shape.padRight !== 0) return shape;
  return {
    ...shape,
    h: 1,
    w: shape.h,
    kh: 1,
    kw: shape.kh,
    strideH: 1,
    strideW: shape.strideH,
    padTop: 0,
    padBottom: 0,
    padLeft: shape.padTop,
    padRight: shape.padBottom,
    dilationH: 1,
    dilationW: shape.dilationH,
  };
}

/** Convolutions on one memory; make it with `createConv`. Keeps no state between calls. */
export class Conv {
  readonly #memory: WebAssembly.Memory;
  readonly #ptr: PtrType;
  readonly #relaxed: boolean;
  readonly #gemm: Gemm;
  readonly #kernels = new Map<ConvShape["dtype"], Kernels>();
  #onRows: PlanesDone | undefined;

  constructor(options: ConvOptions) {
    this.#memory = options.memory;
    this.#ptr = options.ptr;
    this.#relaxed = options.relaxed;
    this.#gemm = options.gemm ?? createGemm(options);
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
    const { exports } = new WebAssembly.Instance(module.compile(), {
      env: {
        memory: this.#memory,
        onRows: (start: number, count: number) => this.#onRows?.(start, count),
      },
    });
    const kernels = { spec, ...exports } as unknown as Kernels;
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

  /** Bytes of scratch memory that a pass needs. */
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
    if (pass === "backwardInput") return inputLayout(long, spec).total;
    const kind = pass === "forward" ? "correlate" : "weights";
    const blocks = planBlocks(forwardWindow(long), spec, kind, long.n);
    return JOB_BYTES + align16(4 * blocks.entries) + TILE_BYTES + blocks.stageBytes;
  }

  /** Computes y. */
  forward(args: ConvForward): void {
    const [start, end] = args.images ?? [0, args.n];
    const [oh, ow] = convOutputSize(args);
    if (end <= start || args.oc === 0 || oh === 0 || ow === 0) return;
    const { spec, correlate } = this.#load(args.dtype);
    const { size } = spec;
    if (args.c === 0) {
      const image = args.oc * oh * ow * size;
      this.#zero(args.y + start * image, (end - start) * image);
      args.onRows?.(start * args.oc, (end - start) * args.oc);
      return;
    }
    if (isDense(args)) return this.#dense("forward", args, [start, end], args.onRows);
    if (isPointwise(args)) return this.#pointwise("forward", args, [start, end], args.onRows);
    const shape = lengthened(args);
    const { groups } = shape;
    const blocks = planBlocks(forwardWindow(shape), spec, "correlate", shape.n);
    const depth = shape.c / groups * shape.kh * shape.kw;
    const m = shape.oc / groups;
    const plane = oh * ow * size;
    const job: Job = {
      ...blocks.job,
      groups,
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
    const scratch = this.#prepare(args.scratch, job, blocks);
    this.#reporting(args.onRows, () => this.#call(correlate, args.scratch, scratch, start, end));
  }

  /** Computes dx. */
  backwardInput(args: ConvBackwardInput): void {
    const [start, end] = args.images ?? [0, args.n];
    if (end <= start || args.c === 0 || args.h === 0 || args.w === 0) return;
    const { spec, correlate, copy } = this.#load(args.dtype);
    const { size } = spec;
    const image = args.c * args.h * args.w * size;
    const [oh, ow] = convOutputSize(args);
    const empty = args.oc === 0 || oh === 0 || ow === 0;
    if (!empty && isDense(args)) {
      return this.#dense("backwardInput", args, [start, end], args.onRows);
    }
    if (!empty && isPointwise(args)) {
      return this.#pointwise("backwardInput", args, [start, end], args.onRows);
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
    layout.phases.forEach(({ phase, blocks, job: jobAt, filters }, index) => {
      const depth = shape.oc / groups * phase.filterTaps.length;
      const block = blocks.job.blockChannels;
      const to = args.scratch + filters;
      this.#repackFilters(copy, shape, phase, block, args.weight, to, size);
      const last = index === phases.length - 1;
      const report = last && args.onRows !== undefined;
      const job: Job = {
        ...blocks.job,
        groups,
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
      this.#prepare(args.scratch + jobAt, job, blocks);
    });
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
    const { spec, weights } = this.#load(args.dtype);
    const { size } = spec;
    const [oh, ow] = convOutputSize(args);
    if (n === 0 || oh === 0 || ow === 0) {
      this.#zero(args.dweight, args.oc * (args.c / groups) * args.kh * args.kw * size);
      return;
    }
    if (isDense(args)) return this.#dense("backwardWeight", args, [0, n], undefined);
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
    const scratch = this.#prepare(args.scratch, job, blocks);
    this.#call(weights, args.scratch, scratch, 0, m);
  }

  /** Writes the record and its table at an address; gives the first free one behind them. */
  #prepare(at: number, job: Job, blocks: Blocks): number {
    const table = at + JOB_BYTES;
    const lastTable = table + 4 * blocks.blockEntries;
    writeJob(this.#memory.buffer, at, this.#ptr, { ...job, table, lastTable });
    blocks.offsets(new Int32Array(this.#memory.buffer, table, blocks.entries));
    return table + align16(4 * blocks.entries);
  }

  #dense(
    pass: ConvPass,
    args: ConvShape & Partial<Operands> & { scratch: number },
    images: readonly [number, number],
    onRows: PlanesDone | undefined,
  ): void {
    const product = denseProduct(pass, args);
    const planes = pass === "forward" ? args.oc : args.c;
    this.#gemm.run({
      ...product,
      rows: pass === "backwardWeight" ? undefined : images,
      onRows: onRows && ((start, count) => onRows(start * planes, count * planes)),
    });
  }

  #pointwise(
    pass: "forward" | "backwardInput",
    args: ConvShape & Partial<Operands> & { scratch: number },
    [start, end]: readonly [number, number],
    onRows: PlanesDone | undefined,
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
      });
    }
  }
}

/** Addresses of the operands and results of all passes. */
interface Operands {
  x: number;
  y: number;
  dx: number;
  dy: number;
  weight: number;
  dweight: number;
}

type WithOperands = ConvShape & Partial<Operands> & { scratch: number };

/** The product of a fully connected layer's pass: rows of x and y are images, weight is [oc, k]. */
function denseProduct(pass: ConvPass, args: WithOperands): GemmArgs {
  const { dtype, scratch, n, oc, x = 0, y = 0, dx = 0, dy = 0, weight = 0, dweight = 0 } = args;
  const k = args.c * args.h * args.w;
  const rows = (ptr: number, rowStride: number) => ({ ptr, rowStride, colStride: 1 });
  const columns = (ptr: number, colStride: number) => ({ ptr, rowStride: 1, colStride });
  switch (pass) {
    case "forward":
      return {
        ...{ dtype, scratch, m: n, n: oc, k },
        ...{ a: rows(x, k), b: columns(weight, k), c: { ptr: y, rowStride: oc } },
      };
    case "backwardInput":
      return {
        ...{ dtype, scratch, m: n, n: k, k: oc },
        ...{ a: rows(dy, oc), b: rows(weight, k), c: { ptr: dx, rowStride: k } },
      };
    case "backwardWeight":
      return {
        ...{ dtype, scratch, m: oc, n: k, k: n },
        ...{ a: columns(dy, oc), b: rows(x, k), c: { ptr: dweight, rowStride: k } },
      };
    default:
      return pass satisfies never;
  }
}

/** The product of one image's group for a 1×1 filter: y = weight · x, dx = weightᵀ · dy. */
function pointwiseProduct(
  pass: "forward" | "backwardInput",
  args: WithOperands,
  group: number,
  size: number,
): GemmArgs {
  const { dtype, scratch, groups, x = 0, y = 0, dx = 0, dy = 0, weight = 0 } = args;
  const pixels = args.h * args.w;
  const [inputs, outputs] = [args.c / groups, args.oc / groups];
  const filters = weight + group * outputs * inputs * size;
  const [m, k] = pass === "forward" ? [outputs, inputs] : [inputs, outputs];
  const [from, to] = pass === "forward" ? [x, y] : [dy, dx];
  const a = pass === "forward"
    ? { ptr: filters, rowStride: inputs, colStride: 1 }
    : { ptr: filters, rowStride: 1, colStride: inputs };
  return {
    ...{ dtype, scratch, m, n: pixels, k, a },
    b: { ptr: from + group * k * pixels * size, rowStride: pixels, colStride: 1 },
    c: { ptr: to + group * m * pixels * size, rowStride: pixels },
  };
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
  total: number;
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
  return { phases, scratch: at, total: at + TILE_BYTES + stageBytes };
}

/** Convolutions on a memory. Nothing is compiled before the first call. */
export function createConv(options: ConvOptions): Conv {
  return new Conv(options);
}
