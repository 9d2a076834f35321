// Programs whose operations ran on several threads end like any other: on return, on a throw, by Deno.exit and by
// Ctrl-C, from files and by URL, in a worker of their own too. And threads that start and stop leave nothing.
import { assert, assertEquals } from "jsr:@std/assert@1";
import { ROOT, withTemp } from "../../../tests/support.ts";
import { serve } from "../../../tools/serve.ts";
import { testIf } from "../../../tools/testing.ts";

/** A program that has used two workers when it goes on to its end. */
function program(origin: string, end: string): string {
  return `import { rand, setNumThreads } from "${origin}/mod.ts";
import { livePools } from "${origin}/backends/cpu/threads/pool.ts";
setNumThreads(3);
const x = rand([512, 512]);
const until = performance.now() + 60_000;
const [pool] = livePools();
while (pool.workers < 2 && performance.now() < until) x.matmul(x).dispose();
const before = pool.jobs;
x.matmul(x).dispose();
console.log("workers", pool.workers, "jobs", pool.jobs - before);
${end}
`;
}

interface Ended {
  readonly code: number;
  readonly text: string;
  /** Milliseconds from its last line to its end. */
  readonly late: number;
}

/** Runs a program; if it prints "interrupt me", it gets a Ctrl-C a little later. */
async function run(folder: string, name: string, flags: readonly string[]): Promise<Ended> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", ...flags, name],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    signal: AbortSignal.timeout(100_000),
  }).spawn();
  let text = "";
  let last = 0;
  let sent = false;
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    last = performance.now();
    if (sent || !text.includes("interrupt me\n")) continue;
    sent = true;
    await new Promise((resolve) => setTimeout(resolve, 300));
    last = performance.now();
    child.kill("SIGINT");
  }
  const { code } = await child.status;
  return { code, text, late: performance.now() - last };
}

/** The program ends within a second; on a busy machine one of three runs must. */
async function endsSoon(
  files: Record<string, string>,
  { code = 0, flags = [], last }: { code?: number; flags?: readonly string[]; last: string },
): Promise<void> {
  await withTemp(async (folder) => {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    let late = Infinity;
    for (let tries = 0; tries < 3 && late > 1000; tries++) {
      const ended = await run(folder, "main.ts", flags);
      assertEquals([ended.code, ended.text], [code, `workers 2 jobs 1\n${last}`]);
      late = ended.late;
    }
    assert(late <= 1000, `ended ${late} ms after its last line`);
  });
}

const HERE = `file://${ROOT}`;

const ENDS: readonly { name: string; end: string; code: number }[] = [
  { name: "it returns", end: "", code: 0 },
  { name: "it throws", end: `throw new RangeError("wanted");`, code: 1 },
  { name: "it calls Deno.exit", end: "Deno.exit(3);", code: 3 },
  { name: "it calls Deno.exit while it computes", end: "x.matmul(x); Deno.exit(4);", code: 4 },
];

for (const { name, end, code } of ENDS) {
  Deno.test(`threads: a program ends when ${name}`, async () => {
    await endsSoon({ "main.ts": program(HERE, end) }, { code, last: "" });
  });
}

const INTERRUPTED: readonly { name: string; end: string }[] = [
  { name: "computes without a pause", end: "for (;;) x.matmul(x).dispose();" },
  {
    name: "computes and awaits",
    end: "for (;;) { x.matmul(x).dispose(); await x.at(0, 0).item(); }",
  },
  { name: "waits", end: "setTimeout(() => {}, 100_000);" },
];

for (const { name, end } of INTERRUPTED) {
  testIf(
    Deno.build.os !== "windows",
    "no signals",
    `threads: Ctrl-C ends a program that ${name}`,
    async () => {
      const last = "interrupt me\n";
      const main = program(HERE, `console.log("interrupt me");\n${end}`);
      await endsSoon({ "main.ts": main }, { code: 130, last });
    },
  );
}

Deno.test("threads: a program by URL, with no flag but its host's, ends when it returns", async () => {
  await using served = serve(ROOT);
  const flags = [`--allow-import=${served.host}`];
  await endsSoon({ "main.ts": program(served.origin, "") }, { flags, last: "" });
});

const outer = (then: string) =>
  `const worker = new Worker(new URL("./inner.ts", import.meta.url), { type: "module" });
worker.onmessage = () => {
  console.log("heard");
  ${then}
};
`;

for (
  const [name, then, end] of [
    ["closes itself", "", "self.postMessage(0);\nself.close();"],
    [
      "is ended while it computes",
      "setTimeout(() => worker.terminate(), 100);",
      `self.postMessage(0);
for (;;) {
  x.matmul(x).dispose();
  await new Promise((resolve) => setTimeout(resolve, 0));
}`,
    ],
  ]
) {
  Deno.test(`threads: a program ends when its own worker, which uses some, ${name}`, async () => {
    const files = { "main.ts": outer(then), "inner.ts": program(HERE, end) };
    await endsSoon(files, { flags: ["--allow-read"], last: "heard\n" });
  });
}

testIf(
  Deno.build.os === "linux",
  "the number of threads is read as Linux shows it",
  "threads: 200 starts and stops leave no thread and no memory",
  async () => {
    const body = `import { rand, setNumThreads } from "${HERE}/mod.ts";
import { livePools } from "${HERE}/backends/cpu/threads/pool.ts";
const x = rand([256, 256]);
const [pool] = livePools();
const nap = () => new Promise((resolve) => setTimeout(resolve, 5));
const threads = () => [...Deno.readDirSync("/proc/self/task")].length;
const usual = threads();
const settled = async () => {
  for (let i = 0; i < 1000 && threads() > usual; i++) await nap();
  return Deno.memoryUsage().rss;
};
let after = 0;
for (let i = 0; i < 200; i++) {
  setNumThreads(2);
  pool.start();
  // Most are stopped before they are up.
  if (i % 5 === 0) while (pool.workers < 1) await nap();
  x.matmul(x).dispose();
  setNumThreads(1);
  if (i === 20) after = await settled();
}
const grown = await settled() - after;
console.log(threads() <= usual, grown < 30_000_000 ? "flat" : grown);
`;
    await withTemp(async (folder) => {
      await Deno.writeTextFile(`${folder}/main.ts`, body);
      const { code, text } = await run(folder, "main.ts", ["-A"]);
      assertEquals([code, text], [0, "true flat\n"]);
    });
  },
);
