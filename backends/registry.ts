// Which places exist, and their backends, made on first use. The only file that imports implementations.
import { PlaceError } from "../core/errors.ts";
import { Place } from "../core/place.ts";
import type { Backend } from "./backend.ts";
import { createCpuBackend } from "./cpu/mod.ts";
import { createRefBackend } from "./ref/mod.ts";

export { getNumThreads, setNumThreads } from "./cpu/threads/count.ts";
export { type WasmFeatures, wasmFeatures } from "./cpu/wasm/asm/mod.ts";

/** Makes the backend of a place, or says why it cannot be had. */
export type BackendFactory = (place: Place) => Backend;

const factories = new Map<string, BackendFactory>([
  ["cpu", createCpuBackend],
  ["ref", createRefBackend],
]);
const made = new Map<Place, Backend>();
let current: Place = Place.of("cpu");
let currentBackend: Backend | null = null;

/** Adds a kind of place (a plug-in). */
export function registerBackend(kind: string, factory: BackendFactory): void {
  factories.set(kind, factory);
}

/** The kinds of places that this build knows. */
export function placeKinds(): string[] {
  return [...factories.keys()];
}

/** The backend of a place. */
export function backendOf(place: Place): Backend {
  let backend = made.get(place);
  if (backend === undefined) {
    const factory = factories.get(place.kind);
    if (factory === undefined) {
      throw new PlaceError(
        `Cannot use place "${place}": this build knows ${placeKinds().join(", ")}; ` +
          "check the spelling, or register a plug-in for it first",
      );
    }
    backend = factory(place);
    made.set(place, backend);
  }
  return backend;
}

/** The place of new tensors. */
export function getPlace(): Place {
  return current;
}

/** The backend of new tensors. */
export function currentBackendOf(): Backend {
  return currentBackend ??= backendOf(current);
}

/**
 * Sets the place of new tensors.
 *
 * @param place A name such as "cpu", or a Place.
 * @returns The former place.
 * @throws {PlaceError} if there is no such place.
 */
export function setPlace(place: Place | string): Promise<Place> {
  try {
    const next = Place.of(place);
    const backend = backendOf(next);
    const was = current;
    current = next;
    currentBackend = backend;
    return Promise.resolve(was);
  } catch (e) {
    return Promise.reject(e);
  }
}
