// `plesio check`: the findings as text, and the verdict. Not here: finding them (probe.ts).
import { getPlace } from "../backends/registry.ts";
import {
  type Finding,
  permissionFindings,
  type PlaceResult,
  tryPlaces,
  wasmFindings,
} from "./probe.ts";
import { VERSION } from "./version.ts";

/** What a place is for, for those who wonder. */
const ABOUT: Readonly<Record<string, string>> = {
  cpu: "embedded WebAssembly",
  ref: "the interpreter that others are tested against: exact and slow",
};

const mark = (good: boolean): string => (good ? "✓" : "✗");

function placeLine(result: PlaceResult): string {
  const name = result.place.padEnd(14);
  const about = ABOUT[result.place] ?? "a plug-in";
  if ("error" in result) return `  ✗ ${name}${result.error}`;
  const { trained, firstLoss, lastLoss, milliseconds } = result;
  const losses = `loss ${firstLoss.toFixed(4)} → ${lastLoss.toFixed(4)}`;
  const verb = trained ? "trained" : "did not learn";
  return `  ${mark(trained)} ${name}${verb}: ${losses} in ${milliseconds.toFixed(0)} ms; ${about}`;
}

function findingLine({ name, found, note }: Finding): string {
  return `  ${found ? "✓" : "-"} ${name.padEnd(14)}${note}`;
}

function verdict(results: readonly PlaceResult[]): { text: string; code: number } {
  const bad = results.filter((result) => "error" in result || !result.trained);
  if (bad.length === 0) {
    const names = results.map((result) => result.place).join(" and ");
    return { text: `Plesio works here: a network trained on ${names}.`, code: 0 };
  }
  const names = bad.map((result) => result.place).join(" and ");
  const others = bad.some((result) => result.place === getPlace().kind)
    ? "the default place, so nothing that does not name another place works"
    : "not the default place: what does not name it works";
  return { text: `Plesio does not work on ${names}: ${others}.`, code: 1 };
}

/** Prints what there is; returns the exit code: 0 if a network trained on every place that there is. */
export async function check(print: (line: string) => void = console.log): Promise<number> {
  const cores = navigator.hardwareConcurrency;
  print(
    `Plesio ${VERSION}, Deno ${Deno.version.deno}, V8 ${Deno.version.v8}, ${Deno.build.target}, ` +
      `${cores} processor${cores === 1 ? "" : "s"}`,
  );
  print("\nPlaces (a small network is trained on each)");
  const results = await tryPlaces();
  results.forEach((result) => print(placeLine(result)));
  print("\nWebAssembly");
  wasmFindings().forEach((finding) => print(findingLine(finding)));
  print("\nNative libraries");
  print("  none is used in this version: all kernels are embedded, so none is missing");
  print("\nPermissions (none is needed to train)");
  permissionFindings().forEach((finding) => print(findingLine(finding)));
  const { text, code } = verdict(results);
  print(`\n${text}`);
  return code;
}
