// Whether operations are being recorded, and the switches users have for it.
import { asyncLocal } from "../async_local.ts";
import { expectFunction } from "../operands.ts";

interface Mode {
  on: boolean;
}

/** Outside of every switch. */
const outside: Mode = { on: true };
const inside = asyncLocal<Mode>();

/** Whether operations are being recorded. */
export function isGradEnabled(): boolean {
  return (inside.get() ?? outside).on;
}

/** Switches recording; gives the former state. For code without awaits that switches back; else {@linkcode noGrad}. */
export function setGradEnabled(on: boolean): boolean {
  const mode = inside.get() ?? outside;
  const was = mode.on;
  mode.on = on;
  return was;
}

/**
 * Runs `fn` without recording gradients. If `fn` is async, that holds for it and for what it awaits; other
 * async functions that run meanwhile go on recording.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { noGrad, tensor } from "../../mod.ts";
 *
 * const x = tensor([1, 2], { requiresGrad: true });
 * assertEquals(noGrad(() => x.mul(2)).requiresGrad, false);
 * ```
 */
export function noGrad<T>(fn: () => T): T {
  expectFunction("noGrad", fn);
  return inside.run({ on: false }, fn);
}

/**
 * Runs `fn` with recording on, inside a `noGrad` too.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { enableGrad, noGrad, tensor } from "../../mod.ts";
 *
 * const x = tensor([1, 2], { requiresGrad: true });
 * assertEquals(noGrad(() => enableGrad(() => x.mul(2))).requiresGrad, true);
 * ```
 */
export function enableGrad<T>(fn: () => T): T {
  expectFunction("enableGrad", fn);
  return inside.run({ on: true }, fn);
}
