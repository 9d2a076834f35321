// Where tensors live: names only. Which places there are is known to backends/registry.ts.
import { PlaceError } from "./errors.ts";

/** Kinds of which there is one, written without a number. */
const SINGLE = new Set(["cpu", "ref"]);

/** A device: its kind and number, written `cpu`, `webgpu:0`, `cuda:1`, or a plug-in's name. */
export class Place {
  /** The kind, such as "cpu". */
  readonly kind: string;
  /** Which device of the kind. */
  readonly index: number;
  /** The canonical name: "cpu", "webgpu:0". */
  readonly name: string;

  private constructor(kind: string, index: number) {
    this.kind = kind;
    this.index = index;
    this.name = SINGLE.has(kind) ? kind : `${kind}:${index}`;
  }

  static readonly #known: Map<string, Place> = new Map();

  /**
   * The place of that name; equal names give the same object.
   *
   * @throws {PlaceError} if the name is not a word, or a word and a number, or numbers a second cpu.
   * @example
   * ```ts
   * import { Place } from "./place.ts";
   * console.assert(Place.of("webgpu") === Place.of("webgpu:0"));
   * ```
   */
  static of(place: Place | string): Place {
    if (place instanceof Place) return place;
    const known = Place.#known.get(place);
    if (known !== undefined) return known;
    const m = /^([a-z][a-z0-9_-]*)(?::(\d+))?$/.exec(place);
    if (m === null) {
      throw new PlaceError(
        `Cannot use "${place}" as a place: write a name such as "cpu", "webgpu:0" or "cuda:1"`,
      );
    }
    if (SINGLE.has(m[1]) && Number(m[2] ?? 0) !== 0) {
      throw new PlaceError(`Cannot use "${place}" as a place: there is only one "${m[1]}"`);
    }
    const made = new Place(m[1], Number(m[2] ?? 0));
    const same = Place.#known.get(made.name) ?? made;
    Place.#known.set(made.name, same);
    Place.#known.set(place, same);
    return same;
  }

  /** The name. */
  toString(): string {
    return this.name;
  }
}
