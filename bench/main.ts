/**
 * `deno task bench`: Plesio beside the other deep-learning libraries of JavaScript, in one process.
 *
 *     deno task bench [--rows NAME,…] [--rounds N] [--peers NAME,…] [--one-thread] [--no-memory] [--no-save]
 *
 * Peers come from npm; without them (no network and nothing cached) it says so and measures the others.
 * Deliberately not here: what the rows are (`workloads.ts`, `import.ts`, `digits.ts`).
 *
 * @module
 */

import { parseArgs } from "node:util";
import { digitsContest } from "./digits.ts";
import { type Contest, measure, reason } from "./harness.ts";
import { importContest } from "./import.ts";
import {
  contestants,
  LIBRARIES,
  type Library,
  type LibraryName,
  loadLibrary,
} from "./peers/library.ts";
import { brief, type Line, machine, save, table } from "./report.ts";
import { soloPeak } from "./solo.ts";
import { type WorkloadName, WORKLOADS } from "./workloads.ts";

const NAME = "peers";
const ROWS = [...Object.keys(WORKLOADS), "import", "digits"];

function refuse(why: string): never {
  console.error(why);
  Deno.exit(2);
}

function list<T extends string>(flag: string, text: string | undefined, known: readonly T[]): T[] {
  if (text === undefined) return [...known];
  const names = text.split(",");
  for (const name of names) {
    if (!known.includes(name as T)) refuse(`--${flag} ${name}: there are ${known.join(", ")}`);
  }
  return names as T[];
}

function options() {
  try {
    const { values } = parseArgs({
      args: Deno.args,
      allowNegative: true,
      options: {
        rows: { type: "string" },
        rounds: { type: "string", default: "11" },
        peers: { type: "string" },
        "one-thread": { type: "boolean", default: false },
        memory: { type: "boolean", default: true },
        save: { type: "boolean", default: true },
      },
    });
    const rounds = Number(values.rounds);
    if (!Number.isSafeInteger(rounds) || rounds < 1) {
      refuse(`--rounds takes a whole number of at least 1: got ${values.rounds}`);
    }
    const [plesio, ...peers] = LIBRARIES;
    return {
      rows: list("rows", values.rows, ROWS),
      rounds,
      libraries: [plesio, ...values.peers === "" ? [] : list("peers", values.peers, peers)],
      oneThread: values["one-thread"],
      memory: values.memory,
      save: values.save,
    };
  } catch (error) {
    return refuse(reason(error));
  }
}

const { rows, rounds, libraries, oneThread, memory, save: saved } = options();

const loaded = new Map<Library, LibraryName>();
for (const name of libraries) {
  try {
    loaded.set(await loadLibrary(name, { oneThread }), name);
  } catch (error) {
    console.log(`Without ${name}: ${reason(error)}`);
    if (name === "plesio") Deno.exit(1);
  }
}
const facts = Object.fromEntries(
  [...loaded.keys()].map(({ name, version, threads }) => [name, `${version}, ${threads}`]),
);
for (const [name, fact] of Object.entries(facts)) console.log(`${name} ${fact}`);

function contest(row: string): Contest {
  if (row === "digits") return digitsContest();
  if (row === "import") {
    return importContest(
      Object.fromEntries([...loaded.keys()].map((library) => [library.name, library.module])),
    );
  }
  const workload = row as WorkloadName;
  const peak = (library: Library, variant: string) =>
    soloPeak(loaded.get(library)!, workload, variant, oneThread);
  const { title, tolerance, amount, rounds } = WORKLOADS[workload] as Pick<
    Contest,
    "title" | "tolerance" | "amount" | "rounds"
  >;
  return {
    ...{ name: row, title, tolerance, amount, rounds },
    contestants: contestants([...loaded.keys()], workload, peak),
  };
}

const about = await machine();
const lines: Line[] = [];
let wrong = false;
for (const row of rows) {
  const { wrong: bad, ...outcome } = await measure(contest(row), { rounds, memory });
  wrong ||= bad;
  lines.push({ ...outcome, machine: about, libraries: facts });
  console.log(brief(lines[lines.length - 1]));
}
console.log(`\n${table(lines)}`);
if (saved) await save(NAME, lines, ROWS);
// Workers of a peer would keep the process alive.
Deno.exit(wrong ? 1 : 0);
