// Runs the elementwise tail of a call on the part of its output that has just been finished.
import { sizeOf } from "../../../core/shape.ts";
import type { Epilogue } from "../../backend.ts";
import { CpuKernel } from "../kernel.ts";
import { isCuttable, type Tail } from "../threads/job.ts";

/**
 * Runs an epilogue on positions start to start + count - 1 of the output's first `lead` axes, taken as one in
 * row-major order; the axes after them are whole.
 */
export function runEpilogue(epilogue: Epilogue, lead: number, start: number, count: number): void {
  const { compiled, launch, buffers } = epilogue;
  if (lead === 0) {
    compiled.run(launch, buffers);
    return;
  }
  const sizes = [...launch.sizes];
  const last = sizes[lead - 1];
  if (start === 0 && count === sizeOf(sizes.slice(0, lead))) {
    compiled.run(launch, buffers);
    return;
  }
  // One launch for each run of the last leading axis.
  let at = start;
  const end = start + count;
  for (let axis = 0; axis < lead - 1; axis++) sizes[axis] = 1;
  while (at < end) {
    const inside = at % last;
    const run = Math.min(last - inside, end - at);
    sizes[lead - 1] = run;
    const offsets = launch.strides.map((strides, b) => {
      let offset = launch.offsets[b] + inside * strides[lead - 1];
      let rest = (at - inside) / last;
      for (let axis = lead - 2; axis >= 0; axis--) {
        offset += (rest % launch.sizes[axis]) * strides[axis];
        rest = Math.floor(rest / launch.sizes[axis]);
      }
      return offset;
    });
    compiled.run({ ...launch, sizes, offsets }, buffers);
    at += run;
  }
}

/**
 * An epilogue as other threads can run it: on positions of the output's first `lead` axes, once `enough` of them
 * have been gathered. Undefined if they cannot.
 */
export function tailOf(epilogue: Epilogue, lead: number, enough: number): Tail | undefined {
  const { compiled, launch, buffers } = epilogue;
  if (lead === 0 || !(compiled instanceof CpuKernel)) return undefined;
  const block = compiled.block(launch, buffers);
  return block === null || !isCuttable(block) ? undefined : { block, lead, enough };
}
