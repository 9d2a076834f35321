/**
 * The `plesio` command. It needs no permission and asks for none.
 *
 *     deno run cli/main.ts check
 *
 * @module
 */

import { parseArgs } from "jsr:@std/cli@1/parse-args";
import { check } from "./check.ts";
import { VERSION } from "./version.ts";

const HELP = `Plesio ${VERSION}: deep learning for Deno

Usage: plesio [OPTIONS] COMMAND

Commands:
  check          Train a small network on every place that can be had, and tell which WebAssembly
                 features and permissions there are and what each is for; exits with 1 if a place fails

Options:
  -V, --version  Print the version
  -h, --help     Print this help`;

/** Runs the command with the arguments; returns the exit code: 2 for arguments it does not know. */
export async function main(args: readonly string[]): Promise<number> {
  const unknown: string[] = [];
  const parsed = parseArgs([...args], {
    boolean: ["help", "version"],
    alias: { help: "h", version: "V" },
    unknown: (arg, key) => {
      if (key !== undefined) unknown.push(arg);
    },
  });
  const [command, ...rest] = parsed._.map(String);
  if (unknown.length > 0) return refuse(`unknown option ${unknown[0]}`);
  if (parsed.help) return say(HELP);
  if (parsed.version) return say(`plesio ${VERSION}`);
  if (command === undefined) return refuse("no command was given");
  if (command !== "check") return refuse(`unknown command "${command}"`);
  if (rest.length > 0) return refuse(`check takes no arguments: got "${rest.join(" ")}"`);
  return await check();
}

function say(text: string): number {
  console.log(text);
  return 0;
}

function refuse(why: string): number {
  console.error(`plesio: ${why}; see plesio --help`);
  return 2;
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);
