// The arithmetic of slices: Python's rules for bounds and steps. Knows no tensors; not public.
import { ValueError } from "../core/errors.ts";

function checkWhole(what: string, value: number): void {
  if (!Number.isInteger(value)) {
    throw new ValueError(`Cannot slice with ${what} ${value}: it must be a whole number`);
  }
}

/**
 * The first position and the number of elements of `start:end:step` along an axis of size `n`. Bounds
 * past the ends are cut off, negative ones count from the end, and null is as far as the step can go.
 */
export function sliceRange(
  n: number,
  start: number | null,
  end: number | null,
  step: number,
): { start: number; size: number } {
  if (start !== null) checkWhole("start", start);
  if (end !== null) checkWhole("end", end);
  checkWhole("step", step);
  if (step === 0) throw new ValueError("Cannot slice with step 0: a step must go somewhere");
  const [low, high] = step > 0 ? [0, n] : [-1, n - 1];
  const clamp = (i: number): number => Math.min(Math.max(i < 0 ? i + n : i, low), high);
  const from = start === null ? (step > 0 ? low : high) : clamp(start);
  const to = end === null ? (step > 0 ? high : low) : clamp(end);
  const size = Math.max(0, Math.ceil((to - from) / step));
  return { start: size === 0 ? 0 : from, size };
}
