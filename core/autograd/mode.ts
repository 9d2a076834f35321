// Whether operations are being recorded, and the switches users have for it.

let gradEnabled = true;

/** Switches of async functions that have not settled, in the order they began. */
let pending: { readonly on: boolean }[] = [];
/** The state outside of all of them. */
let outside = true;

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

/** The state that holds until `promise` settles; async functions may overlap, so ends come in any order. */
function until<T>(promise: Promise<T>, on: boolean, was: boolean): Promise<T> {
  const own = { on };
  if (pending.length === 0) outside = was;
  pending.push(own);
  return promise.finally(() => {
    pending = pending.filter((p) => p !== own);
    gradEnabled = pending.at(-1)?.on ?? outside;
  });
}

function withGrad<T>(on: boolean, fn: () => T): T {
  const was = setGradEnabled(on);
  let settled = true;
  try {
    const result = fn();
    if (!(result instanceof Promise)) return result;
    settled = false;
    return until(result, on, was) as T;
  } finally {
    if (settled) gradEnabled = was;
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
