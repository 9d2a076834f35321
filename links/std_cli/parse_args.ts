/**
 * `parseArgs` of `@std/cli` on top of the tokens of `node:util`. Deliberately not here: dotted names,
 * `boolean: true`, `stopEarly`, and type inference of `default` and `alias`.
 *
 * @module
 */

import { parseArgs as tokenize } from "node:util";

/** Which names {@link parseArgs} knows, and how it reads them. */
export interface ParseOptions<
  B extends string = string,
  S extends string = string,
  C extends string = string,
> {
  /** Whether what stands after `--` goes to the field `--` rather than to `_`. */
  "--"?: boolean;
  /** Other names of a name. */
  alias?: Record<string, string | readonly string[]>;
  /** Names without a value: false unless given. */
  boolean?: B | readonly B[];
  /** Names with a value that is never read as a number. */
  string?: S | readonly S[];
  /** Names that may come many times: `[]` unless given. */
  collect?: C | readonly C[];
  /** Names that `--no-NAME` sets to false. */
  negatable?: string | readonly string[];
  /** Values of names that are not given. */
  default?: Record<string, unknown>;
  /** Called for each argument that is not declared; it is left out if this returns false. */
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
}

/** What {@link parseArgs} returns; `_` has the arguments that belong to no name. */
export type Args<
  B extends string = never,
  S extends string = never,
  C extends string = never,
> =
  & Record<string, unknown>
  & { [K in B]: boolean }
  & { [K in Exclude<S, C>]?: string }
  & { [K in C]: K extends S ? string[] : unknown[] }
  & { _: (string | number)[]; "--"?: string[] };

/** Reads command line arguments: `--name`, `--name value`, `--name=value`, `-n`, `--no-name`. */
export function parseArgs<
  B extends string = never,
  S extends string = never,
  C extends string = never,
>(args: string[], options: ParseOptions<B, S, C> = {}): Args<B, S, C> {
  const names = new Names(options);
  const { tokens } = tokenize({
    args,
    options: names.declared(),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const parsed: Record<string, unknown> & { _: (string | number)[] } = { _: [] };
  const set = (name: string, value: unknown) => {
    const old = parsed[name];
    const next = names.collect.has(name) ? [...(Array.isArray(old) ? old : []), value] : value;
    for (const each of names.family(name)) parsed[each] = next;
  };
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    if (token.kind === "option-terminator") {
      const rest = args.slice(token.index + 1);
      if (options["--"]) parsed["--"] = rest;
      else parsed._.push(...rest);
      break;
    }
    if (token.kind === "positional") {
      if (options.unknown?.(token.value) !== false) parsed._.push(number(token.value));
      continue;
    }
    const { name, rawName } = token;
    const positive = name.startsWith("no-") ? name.slice(3) : "";
    if (names.negatable.has(positive)) {
      set(positive, false);
    } else if (names.boolean.has(name)) {
      set(name, token.value !== "false");
    } else if (names.string.has(name)) {
      set(name, token.value ?? "");
    } else {
      // A name that is not declared takes the next argument as its value if that is no name.
      const next = tokens[i + 1];
      const takesNext = token.value === undefined && next?.kind === "positional" &&
        next.index === token.index + 1;
      if (takesNext) i++;
      const text = takesNext ? next.value : token.value;
      const value = text === undefined ? true : number(text);
      const known = names.collect.has(name) || names.negatable.has(name);
      if (known || options.unknown?.(args[token.index] ?? rawName, name, value) !== false) {
        set(name, value);
      }
    }
  }
  names.fillIn(parsed, options.default ?? {});
  return parsed as Args<B, S, C>;
}

/** Numbers in decimal or hexadecimal are read as such, like the real package does. */
function number(text: string): string | number {
  return /^(0x[0-9a-f]+|[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?)$/i.test(text) ? Number(text) : text;
}

/** The declared names with their aliases. */
class Names {
  readonly boolean: ReadonlySet<string>;
  readonly string: ReadonlySet<string>;
  readonly collect: ReadonlySet<string>;
  readonly negatable: ReadonlySet<string>;
  readonly #families: ReadonlyMap<string, readonly string[]>;

  constructor(options: ParseOptions) {
    const families = new Map<string, readonly string[]>();
    for (const [name, others] of Object.entries(options.alias ?? {})) {
      const family = [name, ...list(others)];
      for (const member of family) families.set(member, family);
    }
    this.#families = families;
    const spread = (given: string | readonly string[] | undefined) =>
      new Set(list(given).flatMap((name) => this.family(name)));
    this.boolean = spread(options.boolean);
    this.string = spread(options.string);
    this.collect = spread(options.collect);
    this.negatable = spread(options.negatable);
  }

  /** A name and its aliases. */
  family(name: string): readonly string[] {
    return this.#families.get(name) ?? [name];
  }

  /** The names as `node:util` wants them. */
  declared(): Record<string, { type: "boolean" | "string"; short?: string; multiple: true }> {
    const all: ReturnType<Names["declared"]> = {};
    for (const [type, names] of [["boolean", this.boolean], ["string", this.string]] as const) {
      for (const name of names) {
        all[name] = { type, multiple: true, ...(name.length === 1 ? { short: name } : {}) };
      }
    }
    return all;
  }

  /** Sets what was not given. */
  fillIn(parsed: Record<string, unknown>, defaults: Record<string, unknown>): void {
    for (const [name, value] of Object.entries(defaults)) {
      for (const each of this.family(name)) parsed[each] ??= value;
    }
    for (const name of this.boolean) parsed[name] ??= false;
    for (const name of this.collect) parsed[name] ??= [];
  }
}

function list(given: string | readonly string[] | undefined): readonly string[] {
  return given === undefined ? [] : typeof given === "string" ? [given] : given;
}
