/**
 * How a test says that it does not run everywhere: the reason stands in parentheses at the end of its
 * name, where the gate finds it and counts it. Deliberately not here: assertions.
 *
 * @module
 */

/** Whether the long sweeps run: `deno task test:full`, or `PLESIO_TEST_FULL=1`. */
export const full: boolean =
  Deno.permissions.querySync({ name: "env", variable: "PLESIO_TEST_FULL" }).state === "granted" &&
  Deno.env.get("PLESIO_TEST_FULL") === "1";

/** A test of the long sweeps. */
export function longTest(name: string, fn: (t: Deno.TestContext) => void | Promise<void>): void {
  testIf(full, "only in test:full", name, fn);
}

/** A test that is skipped, with a reason, where a condition does not hold. */
export function testIf(
  condition: boolean,
  reason: string,
  name: string,
  fn: (t: Deno.TestContext) => void | Promise<void>,
): void {
  Deno.test({ name: `${name} (${reason})`, ignore: !condition, fn });
}
