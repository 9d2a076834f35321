// What this machine and run offer: places that train, WebAssembly features, permissions.
// Nothing here asks for a permission. Not here: how it is shown (check.ts).
import "../core/engine/mod.ts";
import {
  getPlace,
  placeKinds,
  setPlace,
  type WasmFeatures,
  wasmFeatures,
} from "../backends/registry.ts";
import { seed } from "../core/random/generator.ts";
import * as nn from "../nn/mod.ts";
import { tensor } from "../ops/creation.ts";
import * as optim from "../optim/mod.ts";

/** A thing that may be there, and what follows from it. */
export interface Finding {
  readonly name: string;
  readonly found: boolean;
  /** What it gives, or how to get it and what that would give. */
  readonly note: string;
}

/** What became of training on a place. */
export type PlaceResult =
  & { readonly place: string }
  & ({
    readonly trained: boolean;
    readonly firstLoss: number;
    readonly lastLoss: number;
    readonly milliseconds: number;
  } | { readonly error: string });

const STEPS = 60;

/** Fits exclusive or with a network of 33 weights; the same numbers on every place. */
async function trainTiny(): Promise<{ firstLoss: number; lastLoss: number }> {
  seed(1);
  const x = tensor([[0, 0], [0, 1], [1, 0], [1, 1]]);
  const y = tensor([[0], [1], [1], [0]]);
  const model = new nn.Sequential(new nn.Linear(2, 8), new nn.Tanh(), new nn.Linear(8, 1));
  const optimizer = new optim.Adam({ learningRate: 0.1, parameters: model.parameters() });
  const losses: number[] = [];
  for (let step = 0; step < STEPS; step++) {
    const loss = nn.functional.mseLoss(model.call(x), y);
    loss.backward();
    await optimizer.step();
    optimizer.clearGrad();
    losses.push(Number(await loss.item()));
  }
  return { firstLoss: losses[0], lastLoss: losses[STEPS - 1] };
}

/** Trains on one place and puts the former default back. */
export async function tryPlace(place: string): Promise<PlaceResult> {
  const before = getPlace();
  try {
    await setPlace(place);
    const start = performance.now();
    const { firstLoss, lastLoss } = await trainTiny();
    const milliseconds = performance.now() - start;
    return { place, trained: lastLoss < 0.05, firstLoss, lastLoss, milliseconds };
  } catch (error) {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return { place, error: text };
  } finally {
    await setPlace(before);
  }
}

/** Trains on every place that this build knows, the default one first. */
export async function tryPlaces(): Promise<PlaceResult[]> {
  const first = getPlace().kind;
  const kinds = [first, ...placeKinds().filter((kind) => kind !== first)];
  const results: PlaceResult[] = [];
  for (const kind of kinds) results.push(await tryPlace(kind));
  return results;
}

const FEATURES: { readonly [K in keyof WasmFeatures]: readonly [string, string, string] } = {
  simd: ["simd", "128-bit vectors", "without 128-bit vectors nothing runs on the embedded place"],
  relaxedSimd: [
    "relaxed simd",
    "fused multiply-add",
    "products and sums are separate instructions; a newer Deno has them fused",
  ],
  threads: [
    "threads",
    "shared memory; this version computes on one thread",
    "memory is not shared; this version computes on one thread anyway",
  ],
  memory64: [
    "memory64",
    "64-bit addresses; not used in this version (limit: 4 GiB of tensors)",
    "not used in this version (limit: 4 GiB of tensors)",
  ],
};

/** The optional features of the WebAssembly engine. */
export function wasmFindings(): Finding[] {
  const features = wasmFeatures();
  return (Object.keys(FEATURES) as (keyof WasmFeatures)[]).map((key) => {
    const [name, there, absent] = FEATURES[key];
    return { name, found: features[key], note: features[key] ? there : absent };
  });
}

/** What a permission is for. */
interface Use {
  readonly name: Deno.PermissionName;
  readonly flag: string;
  /** What it unlocks in this version; empty: nothing. */
  readonly unlocks: string;
}

const USES: readonly Use[] = [
  { name: "read", flag: "--allow-read=FILE", unlocks: "load() of weights" },
  {
    name: "write",
    flag: "--allow-write=FOLDER --allow-read=FOLDER",
    unlocks: "save() of weights",
  },
  { name: "ffi", flag: "--allow-ffi", unlocks: "" },
  { name: "env", flag: "--allow-env", unlocks: "" },
  { name: "net", flag: "--allow-net", unlocks: "" },
  { name: "run", flag: "--allow-run", unlocks: "" },
  { name: "sys", flag: "--allow-sys", unlocks: "" },
];

/** The permissions of this run; only asked about, never asked for. */
export function permissionFindings(): Finding[] {
  return USES.map(({ name, flag, unlocks }) => {
    const found = Deno.permissions.querySync({ name }).state === "granted";
    if (unlocks === "") return { name, found, note: "not used in this version" };
    return { name, found, note: found ? `unlocks ${unlocks}` : `${flag} would unlock ${unlocks}` };
  });
}
