// Largest-element pooling and its gradient by the embedded kernels.
import { DTYPES } from "../../../core/dtype.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { CallMeta, Override, TensorView } from "../../backend.ts";
import { createPool, type PoolDType, type PoolKernels } from "../wasm/pool/pool.ts";
import type { CpuContext } from "./context.ts";

type Pair = readonly [number, number];

const isFloat = ({ dtypes }: CallMeta): boolean =>
  dtypes[0] === "float32" || dtypes[0] === "float64";
const address = (x: TensorView) => (x.buffer as number) + x.offset * DTYPES[x.dtype].bytes;

/** The overrides of "maxPool2d" and "maxPool2dGrad". */
export function poolOverrides(ctx: CpuContext): [string, Override][] {
  const made = new Map<PoolDType, PoolKernels>();
  const kernels = (dtype: string): PoolKernels => {
    const type = dtype as PoolDType;
    let found = made.get(type);
    if (found === undefined) made.set(type, found = createPool(ctx.memory, type));
    return found;
  };
  return [
    ["maxPool2d", {
      contiguous: true,
      accepts: (meta) => isFloat(meta) && meta.attrs.adaptive !== true,
      run: ({ inputs, outputs, attrs }) => {
        const [x] = inputs as readonly TensorView[];
        const [y, mask] = outputs;
        if (sizeOf(y.shape) === 0) return;
        const kernel = attrs.kernel as Pair;
        const stride = attrs.stride as Pair;
        const padding = attrs.padding as readonly [Pair, Pair];
        kernels(x.dtype).forward(
          {
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
          },
          address(x),
          address(y),
          address(mask),
        );
      },
    }],
    ["maxPool2dGrad", {
      contiguous: true,
      accepts: isFloat,
      run: ({ inputs, outputs }) => {
        const [g, mask] = inputs as readonly TensorView[];
        const [dx] = outputs;
        if (sizeOf(dx.shape) === 0) return;
        const planes = dx.shape[0] * dx.shape[1];
        kernels(g.dtype).backward(
          planes,
          dx.shape[2] * dx.shape[3],
          g.shape[2] * g.shape[3],
          address(g),
          address(mask),
          address(dx),
        );
      },
    }],
  ];
}
