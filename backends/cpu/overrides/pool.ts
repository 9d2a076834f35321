// Pooling with sliding windows, and its gradients, by the embedded kernels. Adaptive windows are left to
// rendered kernels.
import { DTYPES } from "../../../core/dtype.ts";
import type { Attrs } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { CallMeta, Override, OverrideCall, TensorView } from "../../backend.ts";
import type { PoolShape } from "../wasm/pool/emit.ts";
import { createPool, type PoolDType, type PoolKernels } from "../wasm/pool/pool.ts";
import type { CpuContext } from "./context.ts";

type Pair = readonly [number, number];

const slides = ({ attrs }: CallMeta): boolean => attrs.adaptive !== true;
const isFloat = ({ dtypes }: CallMeta): boolean =>
  dtypes[0] === "float32" || dtypes[0] === "float64";
const address = (x: TensorView) => (x.buffer as number) + x.offset * DTYPES[x.dtype].bytes;

/** How the windows of pooled planes `y` lie on planes `x`. */
function shapeOf(x: TensorView, y: TensorView, attrs: Attrs): PoolShape {
  const kernel = attrs.kernel as Pair;
  const stride = attrs.stride as Pair;
  const padding = attrs.padding as readonly [Pair, Pair];
  return {
    planes: x.shape[0] * x.shape[1],
    h: x.shape[2],
    w: x.shape[3],
    oh: y.shape[2],
    ow: y.shape[3],
    kh: kernel[0],
    kw: kernel[1],
    strideH: stride[0],
    strideW: stride[1],
    padTop: padding[0][0],
    padLeft: padding[1][0],
  };
}

/** How many elements a window averages over along an axis; the windows are clipped to the padded image. */
function countOf(attrs: Attrs, axis: 0 | 1, size: number): (window: number) => number {
  const kernel = (attrs.kernel as Pair)[axis];
  const stride = (attrs.stride as Pair)[axis];
  const [before, after] = (attrs.padding as readonly [Pair, Pair])[axis];
  return (window) => {
    const start = window * stride - before;
    if (attrs.exclusive === true) return Math.min(start + kernel, size) - Math.max(start, 0);
    return Math.min(start + kernel, size + after) - start;
  };
}

/** The overrides of "maxPool2d", "avgPool2d" and their gradients. */
export function poolOverrides(ctx: CpuContext): [string, Override][] {
  const made = new Map<PoolDType, PoolKernels>();
  const kernels = (dtype: string): PoolKernels => {
    const type = dtype as PoolDType;
    let found = made.get(type);
    if (found === undefined) made.set(type, found = createPool(ctx.memory, type, ctx.fork));
    return found;
  };
  const averaging = ({ inputs, outputs, attrs }: OverrideCall, forward: boolean): void => {
    const from = inputs[0] as TensorView;
    const to = outputs[0];
    if (sizeOf(to.shape) === 0) return;
    const shape = forward ? shapeOf(from, to, attrs) : shapeOf(to, from, attrs);
    const counts = [countOf(attrs, 0, shape.h), countOf(attrs, 1, shape.w)] as const;
    const { scratchBytes, average } = kernels("float32");
    const addresses = [address(from), address(to), ctx.scratch(scratchBytes(shape))] as const;
    if (forward) average!.forward(shape, addresses, counts);
    else average!.backward(shape, addresses, counts);
  };
  const accepts = (meta: CallMeta) => slides(meta) && meta.dtypes[0] === "float32";

  return [
    ["maxPool2d", {
      contiguous: true,
      accepts: (meta) => isFloat(meta) && slides(meta),
      run: ({ inputs, outputs, attrs }) => {
        const [x] = inputs as readonly TensorView[];
        const [y, mask] = outputs;
        if (sizeOf(y.shape) === 0) return;
        const shape = shapeOf(x, y, attrs);
        const run = kernels(x.dtype);
        const scratch = ctx.scratch(run.scratchBytes(shape));
        run.maxForward(shape, address(x), address(y), address(mask), scratch);
      },
    }],
    ["maxPool2dGrad", {
      contiguous: true,
      accepts: isFloat,
      run: ({ inputs, outputs, attrs }) => {
        const [g, mask] = inputs as readonly TensorView[];
        const [dx] = outputs;
        if (sizeOf(dx.shape) === 0) return;
        const shape = shapeOf(dx, g, attrs);
        kernels(g.dtype).maxBackward(shape, address(g), address(mask), address(dx));
      },
    }],
    ["avgPool2d", { contiguous: true, accepts, run: (call) => averaging(call, true) }],
    ["avgPool2dGrad", { contiguous: true, accepts, run: (call) => averaging(call, false) }],
  ];
}
