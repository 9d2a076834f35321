// Ops that the embedded place runs by routines of its own.
import type { Override } from "../../backend.ts";
import type { CpuContext } from "../mod.ts";

/** The table of overrides. */
export function cpuOverrides(_ctx: CpuContext): Map<string, Override> {
  return new Map();
}
