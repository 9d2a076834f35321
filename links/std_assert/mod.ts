/**
 * Assertions of `@std/assert` on top of `node:assert` and `node:util`, so that a checkout tests
 * itself on a network that reaches npm alone. Names, argument order and what counts as equal are the
 * real package's; deliberately not here: functions that no test of this project uses.
 *
 * @module
 */

import { AssertionError as NodeAssertionError } from "node:assert";
import { inspect } from "node:util";
import { equal } from "./equal.ts";

export { equal } from "./equal.ts";

/** What a failed assertion throws. */
export class AssertionError extends Error {
  override name = "AssertionError";
}

// deno-lint-ignore no-explicit-any
type AnyConstructor = abstract new (...args: any[]) => any;
// deno-lint-ignore no-explicit-any
type ErrorConstructor<E extends Error> = new (...args: any[]) => E;

function show(value: unknown): string {
  return inspect(value, { depth: 6, maxArrayLength: 100, sorted: true });
}

function refuse(rule: string, message: string | undefined): never {
  throw new AssertionError(message === undefined ? rule : `${rule}: ${message}`);
}

function typeName(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return (value as object).constructor?.name ?? typeof value;
}

/** The message of `node:assert` for a failed comparison, with its line diff. */
function difference(
  actual: unknown,
  expected: unknown,
  operator: string,
  message: string | undefined,
): never {
  const { message: diff } = new NodeAssertionError({ actual, expected, operator });
  throw new AssertionError(message === undefined ? diff : `${message}\n${diff}`);
}

/** Asserts that `condition` is truthy. */
export function assert(condition: unknown, message = ""): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Asserts that `condition` is falsy. */
export function assertFalse(condition: unknown, message = ""): void {
  if (condition) throw new AssertionError(message);
}

/** Asserts deep equality by {@link equal}; the failure shows a line diff. */
export function assertEquals<T>(actual: T, expected: T, message?: string): void {
  if (!equal(actual, expected)) difference(actual, expected, "deepStrictEqual", message);
}

/** Asserts that two values are not deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, message?: string): void {
  if (equal(actual, expected)) {
    refuse(`Expected actual not to equal expected, but both are ${show(actual)}`, message);
  }
}

/** Asserts `Object.is(actual, expected)`. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  message?: string,
): asserts actual is T {
  if (!Object.is(actual, expected)) difference(actual, expected, "strictEqual", message);
}

/** Asserts that `Object.is(actual, expected)` is false. */
export function assertNotStrictEquals<T>(actual: T, expected: T, message?: string): void {
  if (Object.is(actual, expected)) {
    refuse(`Expected actual not to be the same as expected: ${show(actual)}`, message);
  }
}

/**
 * Asserts `|actual - expected| <= tolerance`; the default tolerance is 1e-7 of `|expected|`, or 1e-7
 * where that is not finite. Two equal infinities pass, two NaN as well.
 */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance?: number,
  message?: string,
): void {
  if (Object.is(actual, expected)) return;
  const allowed = tolerance ?? (Number.isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7);
  const delta = Math.abs(expected - actual);
  if (delta <= allowed) return;
  refuse(
    `Expected actual: ${actual} to be close to expected: ${expected}: ` +
      `delta ${delta} is greater than ${allowed}`,
    message,
  );
}

/** Asserts `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, message?: string): void {
  if (!(actual > expected)) refuse(`Expected ${show(actual)} > ${show(expected)}`, message);
}

/** Asserts `actual >= expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, message?: string): void {
  if (!(actual >= expected)) refuse(`Expected ${show(actual)} >= ${show(expected)}`, message);
}

/** Asserts `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, message?: string): void {
  if (!(actual < expected)) refuse(`Expected ${show(actual)} < ${show(expected)}`, message);
}

/** Asserts `actual <= expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, message?: string): void {
  if (!(actual <= expected)) refuse(`Expected ${show(actual)} <= ${show(expected)}`, message);
}

/** Asserts that `actual` is neither null nor undefined. */
export function assertExists<T>(actual: T, message?: string): asserts actual is NonNullable<T> {
  if (actual === null || actual === undefined) {
    refuse(`Expected actual: "${actual}" to not be null or undefined`, message);
  }
}

/** Asserts that `actual` contains `expected`. */
export function assertStringIncludes(actual: string, expected: string, message?: string): void {
  if (!actual.includes(expected)) {
    refuse(`Expected actual: ${show(actual)} to contain: ${show(expected)}`, message);
  }
}

/** Asserts that `actual` has, for each member of `expected`, one that is deeply equal. */
export function assertArrayIncludes<T>(
  actual: ArrayLike<T>,
  expected: ArrayLike<T>,
  message?: string,
): void {
  const all = Array.from(actual);
  const missing = Array.from(expected).filter((want) => !all.some((have) => equal(want, have)));
  if (missing.length > 0) {
    refuse(`Expected actual: ${show(actual)} to include: ${show(missing)}`, message);
  }
}

/** Asserts that `expected` matches `actual`. */
export function assertMatch(actual: string, expected: RegExp, message?: string): void {
  if (!expected.test(actual)) {
    refuse(`Expected actual: ${show(actual)} to match: ${expected}`, message);
  }
}

/** Asserts that `expected` does not match `actual`. */
export function assertNotMatch(actual: string, expected: RegExp, message?: string): void {
  if (expected.test(actual)) {
    refuse(`Expected actual: ${show(actual)} to not match: ${expected}`, message);
  }
}

/** Asserts `actual instanceof expected`. */
export function assertInstanceOf<T extends AnyConstructor>(
  actual: unknown,
  expected: T,
  message?: string,
): asserts actual is InstanceType<T> {
  if (!(actual instanceof expected)) {
    refuse(
      `Expected object to be an instance of "${expected.name}" but was "${typeName(actual)}"`,
      message,
    );
  }
}

/** Asserts that `actual` is not an instance of `unexpected`. */
export function assertNotInstanceOf<A, T>(
  actual: A,
  // deno-lint-ignore no-explicit-any
  unexpected: abstract new (...args: any[]) => T,
  message?: string,
): asserts actual is Exclude<A, T> {
  if (actual instanceof unexpected) {
    refuse(`Expected object to not be an instance of "${unexpected.name}"`, message);
  }
}

/** Asserts that `error` is an Error, of `errorClass` where given, whose message fits. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  errorClass?: ErrorConstructor<E>,
  messageMatches?: string | RegExp,
  message?: string,
): asserts error is E {
  if (!(error instanceof Error)) {
    refuse(`Expected "error" to be an Error object but was ${show(error)}`, message);
  }
  if (errorClass !== undefined && !(error instanceof errorClass)) {
    refuse(
      `Expected error to be instance of "${errorClass.name}", but was "${error.name}" ` +
        `(${error.message})`,
      message,
    );
  }
  if (messageMatches === undefined) return;
  const fits = typeof messageMatches === "string"
    ? error.message.includes(messageMatches)
    : messageMatches.test(error.message);
  if (!fits) {
    refuse(
      `Expected error message to ${
        typeof messageMatches === "string"
          ? `include ${show(messageMatches)}`
          : `match ${messageMatches}`
      }, but got ${show(error.message)}`,
      message,
    );
  }
}

/** Asserts that `fn` throws, and returns what it threw. */
export function assertThrows(fn: () => unknown, message?: string): unknown;
/** Asserts that `fn` throws an error of a class whose message includes a text, and returns it. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  errorClass: ErrorConstructor<E>,
  messageIncludes?: string,
  message?: string,
): E;
export function assertThrows<E extends Error>(
  fn: () => unknown,
  errorClassOrMessage?: ErrorConstructor<E> | string,
  messageIncludes?: string,
  message?: string,
): E | unknown {
  const [errorClass, note] = classAndNote(errorClassOrMessage, message);
  let thrown: unknown;
  try {
    fn();
  } catch (error) {
    thrown = error;
    if (errorClass !== undefined) assertIsError(error, errorClass, messageIncludes, note);
    return thrown;
  }
  return refuse("Expected function to throw", note);
}

/** Asserts that the promise of `fn` is rejected, and resolves to the reason. */
export function assertRejects(fn: () => PromiseLike<unknown>, message?: string): Promise<unknown>;
/** Asserts that the promise of `fn` is rejected with an error of a class; resolves to it. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  errorClass: ErrorConstructor<E>,
  messageIncludes?: string,
  message?: string,
): Promise<E>;
export async function assertRejects<E extends Error>(
  fn: () => PromiseLike<unknown>,
  errorClassOrMessage?: ErrorConstructor<E> | string,
  messageIncludes?: string,
  message?: string,
): Promise<E | unknown> {
  const [errorClass, note] = classAndNote(errorClassOrMessage, message);
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch (error) {
    return refuse(`Expected a rejected promise, but the call itself threw ${show(error)}`, note);
  }
  try {
    await promise;
  } catch (error) {
    if (errorClass !== undefined) assertIsError(error, errorClass, messageIncludes, note);
    return error;
  }
  return refuse("Expected function to reject", note);
}

function classAndNote<E extends Error>(
  errorClassOrMessage: ErrorConstructor<E> | string | undefined,
  message: string | undefined,
): [ErrorConstructor<E> | undefined, string | undefined] {
  return typeof errorClassOrMessage === "string"
    ? [undefined, errorClassOrMessage]
    : [errorClassOrMessage, message];
}

/** Fails. */
export function fail(message?: string): never {
  return refuse("Failed assertion", message);
}

/** Marks what is not written yet: fails. */
export function unimplemented(message?: string): never {
  return refuse("Unimplemented", message);
}

/** Marks what is never reached: fails. */
export function unreachable(message?: string): never {
  return refuse("Unreachable", message);
}
