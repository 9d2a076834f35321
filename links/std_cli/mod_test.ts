import { assert, assertEquals, assertMatch } from "jsr:@std/assert@1";
import { parseArgs, type ParseOptions } from "jsr:@std/cli@1/parse-args";
import { ProgressBar } from "jsr:@std/cli@1/unstable-progress-bar";

Deno.test("std/cli: parseArgs", () => {
  const cases: [string[], ParseOptions, Record<string, unknown>][] = [
    [["a", "7", "0x1f", "-"], {}, { _: ["a", 7, 31, "-"] }],
    [["--n=3", "--s", "x", "--flag"], {}, { _: [], n: 3, s: "x", flag: true }],
    [["--out", "7", "-v", "x"], { string: "out", boolean: ["v"] }, { _: ["x"], out: "7", v: true }],
    [[], { boolean: ["save"], string: ["out"], collect: ["tag"] }, { _: [], save: false, tag: [] }],
    [["--save=false"], { boolean: ["save"] }, { _: [], save: false }],
    [["-h"], { boolean: ["help"], alias: { help: "h" } }, { _: [], help: true, h: true }],
    [["--tag=a", "--tag", "b"], { string: "tag", collect: "tag" }, { _: [], tag: ["a", "b"] }],
    [["--no-color"], { negatable: ["color"] }, { _: [], color: false }],
    [[], { default: { lr: 0.1 }, alias: { lr: ["l"] } }, { _: [], lr: 0.1, l: 0.1 }],
    [["a", "--", "--b", "c"], {}, { _: ["a", "--b", "c"] }],
    [["a", "--", "--b"], { "--": true }, { _: ["a"], "--": ["--b"] }],
  ];
  for (const [args, options, expected] of cases) {
    assertEquals({ ...parseArgs(args, options) }, expected, args.join(" "));
  }
});

Deno.test("std/cli: parseArgs tells of what was not declared", () => {
  const told: unknown[] = [];
  const unknown = (...call: unknown[]) => {
    told.push(call);
    return false;
  };
  const parsed = parseArgs(["x", "--known", "--other=1"], { boolean: ["known"], unknown });
  assertEquals({ ...parsed }, { _: [], known: true });
  assertEquals(told, [["x"], ["--other=1", "other", 1]]);
});

Deno.test("std/cli: a progress bar writes lines to a stream and leaves it open", async () => {
  let text = "";
  let closed = false;
  const writable = new WritableStream<Uint8Array>({
    write: (chunk) => void (text += new TextDecoder().decode(chunk)),
    close: () => void (closed = true),
  });
  const bar = new ProgressBar({
    writable,
    max: 2048,
    barLength: 4,
    formatter: (x) => `<${x.progressBar}> ${x.value} of ${x.max}, ${x.styledData(1)}`,
  });
  bar.value += 1024;
  await bar.stop();
  assertMatch(text, /^<----> 0 of 2048, 0\.0\/2\.0 KiB\n/);
  assertMatch(text, /<##--> 1024 of 2048, 1\.0\/2\.0 KiB/);
  assert(!closed);
  await writable.close();
});
