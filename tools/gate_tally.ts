/**
 * Counts the tests of a `deno test` run from its closing line and its JUnit report. Deliberately not
 * here: running it.
 *
 * @module
 */

/** How many tests did what. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** How many tests were skipped for each reason; a test that names none counts under its own name. */
  readonly reasons: ReadonlyMap<string, number>;
}

/** No test at all. */
export const EMPTY: Tally = { passed: 0, failed: 0, skipped: 0, reasons: new Map() };

const NO_REASON = "no reason given: ";

/** Reads a run. One that failed without a failed test, at load for one, counts as one failure. */
export function tallyOf(output: string, junit: string, success: boolean): Tally {
  const closing =
    /^(?:ok|FAILED) \| (\d+) passed.*? \| (\d+) failed(?: \([^)]*\))?(?: \| (\d+) ignored)?/m;
  const [, passed = "0", failed = "0", skipped = "0"] = closing.exec(output) ?? [];
  const reasons = new Map<string, number>();
  for (const [, name] of junit.matchAll(/<testcase name="([^"]*)"[^>]*>\s*<skipped/g)) {
    const plain = unescape(name);
    const reason = /\(([^()]+)\)$/.exec(plain)?.[1] ?? NO_REASON + plain;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return {
    passed: Number(passed),
    failed: Math.max(Number(failed), success ? 0 : 1),
    skipped: Number(skipped),
    reasons,
  };
}

function unescape(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'").replaceAll("&amp;", "&");
}

/** The names of tests that were skipped and do not say why. */
export function unexplained(tally: Tally): string[] {
  return [...tally.reasons.keys()].filter((reason) => reason.startsWith(NO_REASON))
    .map((reason) => reason.slice(NO_REASON.length));
}

/** The sum of two runs. */
export function addTallies(a: Tally, b: Tally): Tally {
  const reasons = new Map(a.reasons);
  for (const [reason, count] of b.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    reasons,
  };
}

/** The closing line. */
export function lastLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
