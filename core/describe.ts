// What a value is, in words, for errors: programs also run without a type check.

/** The value, or its kind; never an error, whatever it is. */
export function describe(x: unknown): string {
  if (x === null || x === undefined) return `${x}`;
  if (typeof x === "string") return `the string ${JSON.stringify(x)}`;
  if (typeof x === "number" || typeof x === "boolean") return `${x}`;
  if (typeof x === "bigint") return `${x}n`;
  if (Array.isArray(x)) return "an array";
  return `a value of kind ${typeof x === "object" ? x.constructor?.name ?? "object" : typeof x}`;
}
