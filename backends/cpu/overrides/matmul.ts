// Matrix products by the packed kernels. Batches whose strides form one progression are one call.
import { DTYPES } from "../../../core/dtype.ts";
import { broadcastStrides, sizeOf } from "../../../core/shape.ts";
import type { Override, OverrideCall, TensorView } from "../../backend.ts";
import type { Gemm, GemmArgs, GemmDType } from "../wasm/gemm/mod.ts";
import type { CpuContext } from "./context.ts";
import { runEpilogue, tailOf } from "./epilogue.ts";

const DTYPES_OF_GEMM: readonly string[] = ["float32", "float64", "int32", "int64"];

/** The override of "matmul": operands [..., m, k] and [..., k, n] with any strides. */
export function matmulOverride(ctx: CpuContext, gemm: () => Gemm): Override {
  return {
    epilogue: true,
    accepts: ({ dtypes }) => dtypes[0] === dtypes[1] && DTYPES_OF_GEMM.includes(dtypes[0]),
    run: (call) => run(ctx, gemm(), call),
  };
}

function run(ctx: CpuContext, gemm: Gemm, call: OverrideCall): void {
  const [a, b] = call.inputs as readonly TensorView[];
  const [c] = call.outputs;
  const rank = c.shape.length;
  const [m, n] = [c.shape[rank - 2], c.shape[rank - 1]];
  const k = a.shape[a.shape.length - 1];
  let batch = c.shape.slice(0, -2);
  const count = sizeOf(batch);
  if (m === 0 || n === 0 || count === 0) return;
  const lead = (x: TensorView) =>
    broadcastStrides(x.shape.slice(0, -2), x.strides.slice(0, -2), batch);
  let sa = lead(a);
  let sb = lead(b);
  let rows = m;
  const size = DTYPES[c.dtype].bytes;
  const at = (x: TensorView) => (x.buffer as number) + x.offset * size;
  const last = (x: TensorView, i: number) => x.strides[x.strides.length - i];
  // One matrix for all items of a batch makes them rows of one larger product.
  const ra = last(a, 2);
  const steps = progression(batch, sa);
  if (count > 1 && sb.every((s) => s === 0) && steps !== null && (m === 1 || steps === m * ra)) {
    rows = m * count;
    batch = [];
    sa = [];
    sb = [];
  }
  const rowStride = m === 1 && rows > 1 ? steps! : ra;
  const shape = {
    dtype: c.dtype as GemmDType,
    m: rows,
    n,
    k,
    a: { ptr: at(a), rowStride, colStride: last(a, 1) },
    b: { ptr: at(b), rowStride: last(b, 2), colStride: last(b, 1) },
  };
  const scratch = ctx.scratch(gemm.scratchBytes(shape));
  const items = sizeOf(batch);
  const { epilogue } = call;
  const args: GemmArgs = { ...shape, c: { ptr: at(c), rowStride: n }, scratch };
  const tail = epilogue && tailOf(epilogue, rank - 1, 1);
  const done = (first: number): Pick<GemmArgs, "onRows" | "tail"> =>
    epilogue === undefined ? {} : {
      onRows: (start, many, item) =>
        runEpilogue(epilogue, rank - 1, (first + item) * rows + start, many),
      tail: tail && { ...tail, base: first * rows, item: rows, scale: 1, byColumns: true },
    };
  const stepA = progression(batch, sa);
  const stepB = progression(batch, sb);
  if (items === 1) gemm.run({ ...args, ...done(0) });
  else if (stepA !== null && stepB !== null) {
    gemm.run({ ...args, batch: { count: items, a: stepA, b: stepB, c: m * n }, ...done(0) });
  } else {
    for (let i = 0; i < items; i++) {
      const offset = (strides: readonly number[]) => {
        let rest = i;
        let sum = 0;
        for (let axis = batch.length - 1; axis >= 0; axis--) {
          sum += (rest % batch[axis]) * strides[axis];
          rest = Math.floor(rest / batch[axis]);
        }
        return sum * size;
      };
      gemm.run({
        ...args,
        a: { ...args.a, ptr: args.a.ptr + offset(sa) },
        b: { ...args.b, ptr: args.b.ptr + offset(sb) },
        c: { ptr: args.c.ptr + i * m * n * size, rowStride: n },
        ...done(i),
      });
    }
  }
}

/** The constant distance between items in row-major order, or null if there is none. */
function progression(shape: readonly number[], strides: readonly number[]): number | null {
  let step: number | null = null;
  let inner = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i] === 1) continue;
    if (step === null) step = strides[i] / inner;
    else if (strides[i] !== step * inner) return null;
    inner *= shape[i];
  }
  return step ?? 0;
}
