// Convolution and its two gradients by the embedded kernels.
import { DTYPES } from "../../../core/dtype.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { Attrs } from "../../../core/op.ts";
import type { CallMeta, Epilogue, Override, OverrideCall, TensorView } from "../../backend.ts";
import type { Conv, ConvShape } from "../wasm/conv/mod.ts";
import type { CpuContext } from "./context.ts";
import { runEpilogue, tailOf } from "./epilogue.ts";

type Pair = readonly [number, number];

const accepts = ({ dtypes }: CallMeta): boolean =>
  dtypes[0] === dtypes[1] && (dtypes[0] === "float32" || dtypes[0] === "float64");

function shapeOf(
  x: readonly number[],
  w: readonly number[],
  dtype: string,
  attrs: Attrs,
): ConvShape {
  const stride = attrs.stride as Pair;
  const padding = attrs.padding as readonly [Pair, Pair];
  const dilation = attrs.dilation as Pair;
  return {
    dtype: dtype as "float32" | "float64",
    n: x[0],
    c: x[1],
    h: x[2],
    w: x[3],
    oc: w[0],
    kh: w[2],
    kw: w[3],
    strideH: stride[0],
    strideW: stride[1],
    padTop: padding[0][0],
    padBottom: padding[0][1],
    padLeft: padding[1][0],
    padRight: padding[1][1],
    dilationH: dilation[0],
    dilationW: dilation[1],
    groups: attrs.groups as number,
  };
}

/** Finished planes are gathered until they are worth a launch, and still in cache. */
const TAIL_BYTES = 32 * 1024;

function enoughPlanes(y: TensorView): number {
  return Math.ceil(TAIL_BYTES / (y.shape[2] * y.shape[3] * DTYPES[y.dtype].bytes));
}

class Gathering {
  readonly #epilogue: Epilogue;
  readonly #enough: number;
  #start = 0;
  #count = 0;

  constructor(epilogue: Epilogue, y: TensorView) {
    this.#epilogue = epilogue;
    this.#enough = enoughPlanes(y);
  }

  /** More planes are finished. */
  done(start: number, count: number): void {
    if (start !== this.#start + this.#count) {
      this.flush();
      this.#start = start;
    }
    this.#count += count;
    if (this.#count >= this.#enough) this.flush();
  }

  /** Runs the epilogue on the planes gathered. */
  flush(): void {
    if (this.#count > 0) runEpilogue(this.#epilogue, 2, this.#start, this.#count);
    this.#start += this.#count;
    this.#count = 0;
  }
}

const address = (x: TensorView) => (x.buffer as number) + x.offset * DTYPES[x.dtype].bytes;

/** The overrides of "conv2d", "conv2dInputGrad" and "conv2dWeightGrad". */
export function convOverrides(ctx: CpuContext, conv: () => Conv): [string, Override][] {
  const forward = (call: OverrideCall): void => {
    const [x, w] = call.inputs as readonly TensorView[];
    const [y] = call.outputs;
    if (sizeOf(y.shape) === 0) return;
    const shape = shapeOf(x.shape, w.shape, x.dtype, call.attrs);
    const { epilogue } = call;
    const gathering = epilogue === undefined ? null : new Gathering(epilogue, y);
    conv().forward({
      ...shape,
      x: address(x),
      weight: address(w),
      y: address(y),
      scratch: ctx.scratch(conv().scratchBytes("forward", shape)),
      onRows: gathering === null ? undefined : (start, count) => gathering.done(start, count),
      tail: epilogue && tailOf(epilogue, 2, enoughPlanes(y)),
    });
    gathering?.flush();
  };
  const inputGrad = (call: OverrideCall): void => {
    const [g, w] = call.inputs as readonly TensorView[];
    const [dx] = call.outputs;
    if (sizeOf(dx.shape) === 0) return;
    const shape = shapeOf(dx.shape, w.shape, g.dtype, call.attrs);
    conv().backwardInput({
      ...shape,
      dy: address(g),
      weight: address(w),
      dx: address(dx),
      scratch: ctx.scratch(conv().scratchBytes("backwardInput", shape)),
    });
  };
  const weightGrad = (call: OverrideCall): void => {
    const [g, x] = call.inputs as readonly TensorView[];
    const [dw] = call.outputs;
    if (sizeOf(dw.shape) === 0) return;
    const shape = shapeOf(x.shape, dw.shape, g.dtype, call.attrs);
    conv().backwardWeight({
      ...shape,
      x: address(x),
      dy: address(g),
      dweight: address(dw),
      scratch: ctx.scratch(conv().scratchBytes("backwardWeight", shape)),
    });
  };
  return [
    ["conv2d", { accepts, contiguous: true, epilogue: true, run: forward }],
    ["conv2dInputGrad", { accepts, contiguous: true, run: inputGrad }],
    ["conv2dWeightGrad", { accepts, contiguous: true, run: weightGrad }],
  ];
}
