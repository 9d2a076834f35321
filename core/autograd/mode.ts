// Whether operations are being recorded, and the switches users have for it.

let gradEnabled = true;

/** Whether operations are being recorded. */
export function isGradEnabled(): boolean {
  return gradEnabled;
}

/** Switches recording; gives the former state. Prefer {@linkcode noGrad}. */
export function setGradEnabled(on: boolean): boolean {
  const was = gradEnabled;
  gradEnabled = on;
  return was;
}

function withGrad<T>(on: boolean, fn: () => T): T {
  const was = setGradEnabled(on);
  let pending = false;
  try {
    const result = fn();
    if (result instanceof Promise) {
      pending = true;
      return result.finally(() => setGradEnabled(was)) as T;
    }
    return result;
  } finally {
    if (!pending) setGradEnabled(was);
  }
}

/**
 * Runs `fn` without recording gradients. If `fn` is async, recording stays off until it settles.
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
  return withGrad(false, fn);
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
  return withGrad(true, fn);
}
