/**
 * Finds the imports of a TypeScript file: a tokenizer that knows strings, comments, templates and
 * regular expressions, and a reader of import and export statements on its tokens. Deliberately not
 * here: a parser; `deno check` has one.
 *
 * @module
 */

/** A word, a string literal (its contents), or one character of punctuation. */
export interface Token {
  readonly kind: "word" | "string" | "template" | "punct";
  readonly text: string;
  /** From 1. */
  readonly line: number;
}

/** How an import is written. `type` leaves nothing at run time. */
export type ImportKind = "static" | "dynamic" | "type";

/** One import or re-export of a file. */
export interface Import {
  readonly specifier: string;
  readonly kind: ImportKind;
  /** From 1. */
  readonly line: number;
}

/** After these words a slash begins a regular expression. */
const BEFORE_REGEX = new Set(
  ("await case delete do else extends in instanceof new of return throw typeof void yield")
    .split(" "),
);

/** The tokens of a source text; `onComment` gets each comment with its first line. */
export function tokensOf(
  source: string,
  onComment: (text: string, line: number) => void = () => {},
): Token[] {
  const tokens: Token[] = [];
  // Braces that are open in each template substitution; a `}` at depth 0 goes back to the template.
  const substitutions: number[] = [];
  let line = 1;
  let at = 0;
  // Whether the last token ended a value, so that a slash divides.
  let afterValue = false;

  const add = (kind: Token["kind"], text: string, isValue: boolean, startLine = line) => {
    tokens.push({ kind, text, line: startLine });
    afterValue = isValue;
  };
  const skipTo = (end: number) => {
    for (; at < end; at++) if (source[at] === "\n") line++;
  };
  const comment = (end: number) => {
    onComment(source.slice(at, end), line);
    skipTo(end);
  };
  /** Reads template text from `at` to its end or to the next substitution. */
  const template = () => {
    const startLine = line;
    let text = "";
    while (at < source.length) {
      const c = source[at];
      if (c === "\\") {
        text += source.slice(at, at + 2);
        skipTo(at + 2);
      } else if (c === "`") {
        at++;
        return add("template", text, true, startLine);
      } else if (c === "$" && source[at + 1] === "{") {
        at += 2;
        substitutions.push(0);
        return add("template", text, false, startLine);
      } else {
        text += c;
        skipTo(at + 1);
      }
    }
    add("template", text, true, startLine);
  };

  if (source.startsWith("#!")) skipTo(endOfLine(source, 0));
  while (at < source.length) {
    const c = source[at];
    if (/\s/.test(c)) {
      skipTo(at + 1);
    } else if (source.startsWith("//", at)) {
      comment(endOfLine(source, at));
    } else if (source.startsWith("/*", at)) {
      const end = source.indexOf("*/", at + 2);
      comment(end < 0 ? source.length : end + 2);
    } else if (c === '"' || c === "'") {
      const end = endOfString(source, at);
      add("string", source.slice(at + 1, end - 1), true);
      skipTo(end);
    } else if (c === "`") {
      at++;
      template();
    } else if (/[\w$#@\u0080-\uffff]/.test(c)) {
      const word = /^[\w$#@\u0080-\uffff]+/.exec(source.slice(at, at + 200))![0];
      add("word", word, !BEFORE_REGEX.has(word));
      at += word.length;
    } else if (c === "/" && !afterValue && endOfRegex(source, at) > 0) {
      at = endOfRegex(source, at);
      add("punct", "/", true);
    } else if (c === "}" && substitutions.at(-1) === 0) {
      substitutions.pop();
      at++;
      template();
    } else {
      if (substitutions.length > 0 && (c === "{" || c === "}")) {
        substitutions[substitutions.length - 1] += c === "{" ? 1 : -1;
      }
      const doubled = (c === "+" || c === "-") && source[at + 1] === c;
      const text = doubled ? c + c : c;
      // A `!` after a value asserts that it is not null; `++` and `--` are taken as postfix.
      add(
        "punct",
        text,
        c === ")" || c === "]" || c === "}" || doubled || (c === "!" && afterValue),
      );
      at += text.length;
    }
  }
  return tokens;
}

function endOfLine(source: string, from: number): number {
  const end = source.indexOf("\n", from);
  return end < 0 ? source.length : end;
}

function endOfString(source: string, from: number): number {
  let at = from + 1;
  while (at < source.length && source[at] !== source[from] && source[at] !== "\n") {
    at += source[at] === "\\" ? 2 : 1;
  }
  return Math.min(at + 1, source.length);
}

/** The end of the regular expression that begins at `from`, or -1 if its line has no end of one. */
function endOfRegex(source: string, from: number): number {
  let inClass = false;
  for (let at = from + 1; at < source.length && source[at] !== "\n"; at++) {
    const c = source[at];
    if (c === "\\") at++;
    else if (c === "[") inClass = true;
    else if (c === "]") inClass = false;
    else if (c === "/" && !inClass) return at + 1;
  }
  return -1;
}

/**
 * The imports of a file, re-exports and dynamic imports of literals among them. A computed dynamic
 * import counts by the literal that it begins with; one that begins with no literal is left out.
 */
export function importsOf(tokens: readonly Token[]): Import[] {
  const found: Import[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    if (token.kind !== "word" || is(tokens[i - 1], ".")) continue;
    const read = token.text === "import"
      ? importAt(tokens, i)
      : token.text === "export"
      ? exportAt(tokens, i)
      : undefined;
    if (read !== undefined) found.push(read);
  }
  return found;
}

function is(token: Token | undefined, text: string): boolean {
  return token !== undefined && token.kind !== "string" && token.kind !== "template" &&
    token.text === text;
}

function importAt(tokens: readonly Token[], i: number): Import | undefined {
  const next = tokens[i + 1];
  if (next === undefined) return undefined;
  if (next.kind === "string") return { specifier: next.text, kind: "static", line: next.line };
  if (is(next, "(")) return importCallAt(tokens, i);
  if (is(next, ".") || is(next, ":") || is(next, "?")) return undefined;
  const second = tokens[i + 2];
  const isType = is(next, "type") && !is(second, "from") && !is(second, ",");
  return fromAfter(tokens, i + 1, isType ? "type" : "static");
}

function exportAt(tokens: readonly Token[], i: number): Import | undefined {
  const isType = is(tokens[i + 1], "type");
  const first = tokens[i + (isType ? 2 : 1)];
  if (!is(first, "{") && !is(first, "*")) return undefined;
  return fromAfter(tokens, i + 1, isType ? "type" : "static");
}

/** The `from "…"` that ends an import or export clause; a clause has names and braces only. */
function fromAfter(tokens: readonly Token[], from: number, kind: ImportKind): Import | undefined {
  for (let i = from; i < tokens.length; i++) {
    const [token, next] = [tokens[i], tokens[i + 1]];
    if (is(token, "from") && next?.kind === "string") {
      return { specifier: next.text, kind, line: next.line };
    }
    const inClause = token.kind === "word" || token.kind === "string" || is(token, "{") ||
      is(token, "}") || is(token, ",") || is(token, "*");
    if (!inClause || (is(token, "}") && !is(next, "from"))) return undefined;
  }
  return undefined;
}

/** `import("…")`: a value, or a type where a member that is no promise method follows. */
function importCallAt(tokens: readonly Token[], i: number): Import | undefined {
  const argument = tokens[i + 2];
  if (argument?.kind !== "string" && argument?.kind !== "template") return undefined;
  const member = is(tokens[i + 3], ")") && is(tokens[i + 4], ".") ? tokens[i + 5]?.text : undefined;
  const isType = is(tokens[i - 1], "typeof") ||
    (member !== undefined && !["then", "catch", "finally"].includes(member));
  return { specifier: argument.text, kind: isType ? "type" : "dynamic", line: argument.line };
}
