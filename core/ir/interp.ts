// Runs a Kernel on plain typed arrays, one point after the other: slow, simple and the measure of
// every renderer. Sums of floats are kept in compensated float64, so that their result is the
// right one to the last place of the output. Not here: what single ops compute (interp_scalar.ts).
import { type ComputeType, type DataArray, type DType, DTYPES } from "../dtype.ts";
import { InternalError } from "../errors.ts";
import {
  bfloat16BitsToFloat32,
  float16BitsToFloat32,
  float32ToBfloat16Bits,
  float32ToFloat16Bits,
} from "../half.ts";
import { type Expr, walk } from "./expr.ts";
import { type ScalarFn, scalarFn, type Value } from "./interp_scalar.ts";
import { type Kernel, type Launch, simpleCombine, type Stage } from "./kernel.ts";

/** What expressions see at one point. */
interface Point {
  readonly launch: Launch;
  readonly coords: number[];
  readonly inputs: readonly Reader[];
  /** Results of the stages that have run at this outer point. */
  readonly results: Value[][];
  left: readonly Value[];
  right: readonly Value[];
}

type Reader = (coords: readonly Value[]) => Value;
type Program = (p: Point) => Value[];

/** A number of the launch as a value of a compute type. */
function toValue(x: number | bigint, dtype: ComputeType): Value {
  switch (dtype) {
    case "bool":
      return Number(x) !== 0 ? 1 : 0;
    case "int32":
      return Number(BigInt.asIntN(32, BigInt(x)));
    case "int64":
      return BigInt.asIntN(64, BigInt(x));
    case "float32":
      return Math.fround(Number(x));
    case "float64":
      return Number(x);
  }
}

function leafFn(e: Expr): (p: Point) => Value {
  const i = e.index!;
  switch (e.op) {
    case "const":
      return () => e.value!;
    case "arg":
      return (p) => toValue(p.launch.args[i], e.dtype);
    case "load":
      return (p) => p.inputs[i](p.coords);
    case "coord":
      return (p) => p.coords[i];
    case "size":
      return (p) => p.launch.sizes[i];
    case "left":
      return (p) => p.left[i];
    case "right":
      return (p) => p.right[i];
    case "result":
      return (p) => p.results[e.stage!][i];
    default:
      throw new InternalError(`Cannot evaluate ${e.op} without arguments`);
  }
}

/** Turns expressions into one list of steps, each shared node computed once. */
function compile(roots: readonly Expr[]): Program {
  const slots = new Map<Expr, number>();
  const steps: ((values: Value[], p: Point) => Value)[] = [];
  walk(roots, (e) => {
    const args = e.args.map((a) => slots.get(a)!);
    slots.set(e, steps.length);
    if (e.op === "gather") {
      steps.push((v, p) => p.inputs[e.index!](args.map((a) => v[a])));
    } else if (args.length === 0) {
      const leaf = leafFn(e);
      steps.push((_, p) => leaf(p));
    } else steps.push(step(scalarFn(e), args));
  });
  const out = roots.map((r) => slots.get(r)!);
  const values = new Array<Value>(steps.length);
  return (p) => {
    for (let i = 0; i < steps.length; i++) values[i] = steps[i](values, p);
    return out.map((i) => values[i]);
  };
}

function step(fn: ScalarFn, args: readonly number[]): (values: Value[]) => Value {
  const [a, b, c] = args;
  if (args.length === 1) return (v) => fn(v[a]);
  return args.length === 2 ? (v) => fn(v[a], v[b]) : (v) => fn(v[a], v[b], v[c]);
}

const EMPTY: Point = {
  launch: { sizes: [], strides: [], offsets: [], args: [] },
  coords: [],
  inputs: [],
  results: [],
  left: [],
  right: [],
};

/**
 * A function that evaluates expressions whose only leaves are constants and "arg": it takes the
 * arguments and gives the values of the roots. For tests of expressions by themselves.
 */
export function scalarProgram(
  roots: readonly Expr[],
): (args: readonly (number | bigint)[]) => Value[] {
  const program = compile(roots);
  return (args) => program({ ...EMPTY, launch: { ...EMPTY.launch, args } });
}

function indexOf(coords: readonly Value[], strides: readonly number[], offset: number): number {
  let at = offset;
  for (let i = 0; i < strides.length; i++) at += Number(coords[i]) * strides[i];
  return at;
}

function decode(dtype: DType): (x: Value) => Value {
  if (dtype === "float16") return (x) => float16BitsToFloat32(x as number);
  if (dtype === "bfloat16") return (x) => bfloat16BitsToFloat32(x as number);
  if (dtype === "bool") return (x) => x === 0 ? 0 : 1;
  return (x) => x;
}

function encode(dtype: DType): (x: Value) => Value {
  if (dtype === "float16") return (x) => float32ToFloat16Bits(x as number);
  if (dtype === "bfloat16") return (x) => float32ToBfloat16Bits(x as number);
  return (x) => x;
}

function reader(kernel: Kernel, launch: Launch, i: number, data: DataArray): Reader {
  const value = decode(kernel.inputs[i].dtype);
  const strides = launch.strides[i];
  return (coords) => {
    const at = indexOf(coords, strides, launch.offsets[i]);
    const x = data[at];
    if (x === undefined) {
      throw new InternalError(
        `Cannot read input ${i} at [${coords.join(", ")}]: element ${at} of ${data.length}`,
      );
    }
    return value(x);
  };
}

/** Calls `visit` with every coordinate in turn written into `coords` from `first` on. */
function forEach(
  sizes: readonly number[],
  coords: number[],
  first: number,
  visit: () => void,
): void {
  const go = (axis: number): void => {
    if (axis === sizes.length) return visit();
    for (let i = 0; i < sizes[axis]; i++) {
      coords[first + axis] = i;
      go(axis + 1);
    }
  };
  go(0);
}

/** The running state of a reduce or scan; float sums hold more than their dtype. */
class Fold {
  readonly #sums: (Sum | null)[];
  readonly #combine: Program;
  #state: Value[];

  constructor(stage: FoldStage, combine: Program, init: Value[]) {
    this.#combine = combine;
    this.#state = init;
    this.#sums = stage.combine.map((e, i) => {
      const isSum = simpleCombine(stage, i) === "add";
      if (!isSum || (e.dtype !== "float32" && e.dtype !== "float64")) return null;
      return new Sum(init[i] as number, e.dtype);
    });
  }

  /** Takes in one more point. */
  push(p: Point, lifted: Value[]): void {
    p.left = this.state;
    p.right = lifted;
    if (this.#sums.every((s) => s !== null)) {
      this.#sums.forEach((s, i) => s.add(lifted[i] as number));
    } else {
      this.#state = this.#combine(p);
      this.#sums.forEach((s, i) => s?.add(lifted[i] as number));
    }
  }

  get state(): Value[] {
    return this.#state.map((v, i) => this.#sums[i]?.value ?? v);
  }
}

/** A sum by Neumaier's method (ZAMM 54, 1974), rounded to its dtype when it is read. */
class Sum {
  #sum: number;
  #lost = 0;
  readonly #dtype: ComputeType;

  constructor(init: number, dtype: ComputeType) {
    this.#sum = init;
    this.#dtype = dtype;
  }

  add(x: number): void {
    const sum = this.#sum + x;
    this.#lost += Math.abs(this.#sum) >= Math.abs(x)
      ? (this.#sum - sum) + x
      : (x - sum) + this.#sum;
    this.#sum = sum;
  }

  get value(): number {
    // Past infinity the lost part is NaN; a zero lost part would spoil -0.
    const total = Number.isFinite(this.#sum) && this.#lost !== 0
      ? this.#sum + this.#lost
      : this.#sum;
    return this.#dtype === "float32" ? Math.fround(total) : total;
  }
}

type FoldStage = Extract<Stage, { kind: "reduce" | "scan" }>;

/** Runs one stage at one outer point; gives its values to `emit` where it has them. */
type StageRun = (p: Point, emit: (values: Value[]) => void) => void;

function compileStage(kernel: Kernel, launch: Launch, index: number): StageRun {
  const stage = kernel.stages[index];
  const inner = launch.sizes.slice(kernel.outerRank);
  const first = kernel.outerRank;
  switch (stage.kind) {
    case "final": {
      const values = compile(stage.values);
      return (p, emit) => emit(values(p));
    }
    case "map": {
      const values = compile(stage.values);
      return (p, emit) => forEach(inner, p.coords, first, () => emit(values(p)));
    }
    case "reduce":
    case "scan": {
      const init = compile(stage.init);
      const lift = compile(stage.lift);
      const combine = compile(stage.combine);
      const values = stage.kind === "scan" ? compile(stage.values) : null;
      return (p, emit) => {
        p.coords.fill(0, first);
        const fold = new Fold(stage, combine, init(p));
        forEach(inner, p.coords, first, () => {
          fold.push(p, lift(p));
          if (values !== null) {
            p.left = fold.state;
            emit(values(p));
          }
        });
        p.results[index] = fold.state;
        if (values === null) emit(fold.state);
      };
    }
  }
}

/**
 * Runs a kernel. `buffers` are the storage arrays of the inputs, then of the outputs; float16 and
 * bfloat16 are bits. Everything is read before anything is written, so outputs may alias inputs.
 * Throws InternalError if the kernel is malformed or reaches outside a buffer.
 */
export function runKernel(kernel: Kernel, launch: Launch, buffers: readonly DataArray[]): void {
  const { inputs, outputs, outerRank, innerRank, stages } = kernel;
  const ports = inputs.length + outputs.length;
  if (launch.sizes.length !== outerRank + innerRank || buffers.length !== ports) {
    throw new InternalError(
      `Cannot run kernel ${kernel.key}: it has ${outerRank}+${innerRank} axes and ${ports} ` +
        `buffers: got ${launch.sizes.length} sizes and ${buffers.length} buffers`,
    );
  }
  const point: Point = {
    launch,
    coords: launch.sizes.map(() => 0),
    inputs: inputs.map((_, i) => reader(kernel, launch, i, buffers[i])),
    results: [],
    left: [],
    right: [],
  };
  const runs = stages.map((_, i) => compileStage(kernel, launch, i));
  const writers = outputs.map((_, i) => new Writer(kernel, launch, buffers, i));
  const emitters = stages.map((stage, s) => {
    const mine = writers.filter((w) => w.stage === s);
    const once = stage.kind === "final" || stage.kind === "reduce";
    return (values: Value[]): void => {
      if (once) point.coords.fill(0, outerRank);
      for (const w of mine) w.put(point.coords, values);
    };
  });
  forEach(launch.sizes.slice(0, outerRank), point.coords, 0, () => {
    runs.forEach((run, s) => run(point, emitters[s]));
  });
  for (const w of writers) w.flush();
}

/** Keeps the elements of one output until everything has been read. */
class Writer {
  readonly stage: number;
  readonly #value: number;
  readonly #index: number;
  readonly #data: DataArray;
  readonly #strides: readonly number[];
  readonly #offset: number;
  readonly #encode: (x: Value) => Value;
  readonly #at: number[] = [];
  readonly #values: Value[] = [];

  constructor(kernel: Kernel, launch: Launch, buffers: readonly DataArray[], index: number) {
    const { dtype, stage, value } = kernel.outputs[index];
    const port = kernel.inputs.length + index;
    const s = kernel.stages[stage];
    const expr = (s.kind === "reduce" ? s.combine : s.values)[value];
    if (expr === undefined || DTYPES[dtype].compute !== expr.dtype) {
      throw new InternalError(`Cannot store ${expr?.dtype} in output ${index}, which is ${dtype}`);
    }
    this.stage = stage;
    this.#value = value;
    this.#index = index;
    this.#data = buffers[port];
    this.#strides = launch.strides[port];
    this.#offset = launch.offsets[port];
    this.#encode = encode(dtype);
  }

  /** Takes the value of this output at a point. */
  put(coords: readonly number[], values: Value[]): void {
    const at = indexOf(coords, this.#strides, this.#offset);
    if (!(at >= 0 && at < this.#data.length)) {
      throw new InternalError(
        `Cannot write output ${this.#index} at [${coords.join(", ")}]: ` +
          `element ${at} of ${this.#data.length}`,
      );
    }
    this.#at.push(at);
    this.#values.push(this.#encode(values[this.#value]));
  }

  /** Writes what was taken, in order. */
  flush(): void {
    const data = this.#data as { [index: number]: Value };
    this.#at.forEach((at, i) => data[at] = this.#values[i]);
  }
}
