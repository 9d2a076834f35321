/**
 * Deep equality as `@std/assert` defines it: `node:util`'s strict comparison, except that +0 equals
 * -0 at any depth. Deliberately not here: comparison of weak collections.
 *
 * @module
 */

import { isDeepStrictEqual } from "node:util";

/** Whether two values are deeply equal: NaN equals NaN, +0 equals -0, prototypes must agree. */
export function equal(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b) || equalButForZeros(a, b, new Map());
}

/** `seen` holds the pairs under comparison, so that circular values end. */
function equalButForZeros(a: unknown, b: unknown, seen: Map<object, object>): boolean {
  if (typeof a === "number" || typeof b === "number") return a === b;
  if (!isObject(a) || !isObject(b)) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (isFloats(a) && isFloats(b)) {
    return a.length === b.length &&
      a.every((x, i) => x === b[i] || (Number.isNaN(x) && Number.isNaN(b[i])));
  }
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  const same = (x: unknown, y: unknown) => isDeepStrictEqual(x, y) || equalButForZeros(x, y, seen);
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size && [...a].every(([key, x]) => b.has(key) && same(x, b.get(key)));
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  const keys = Reflect.ownKeys(a);
  if (keys.length !== Reflect.ownKeys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** The typed arrays that can hold a -0. */
function isFloats(value: object): value is Float64Array {
  return value instanceof Float32Array || value instanceof Float64Array ||
    value instanceof Float16Array;
}

/** Arrays and objects whose state is their properties; the rest was decided by the strict test. */
function isRecord(value: object): value is Record<PropertyKey, unknown> {
  if (Array.isArray(value)) return true;
  return Object.prototype.toString.call(value) === "[object Object]";
}
