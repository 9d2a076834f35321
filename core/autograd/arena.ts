// Gradients on their way back: in a walk that records nothing no one but the walk holds them, so each is freed
// as soon as its last reader has run. Not here: the walk.
import { handOver, openScopes, Scope, type Storage } from "../storage.ts";
import type { Tensor } from "../tensor.ts";

/** The memory of one walk: a scope whose tensors are counted. */
export class Arena {
  readonly #outer: Scope | undefined;
  /** Made since the last sweep. */
  readonly #fresh = new Scope();
  /** How many gradients that wait for a reader lie in each. */
  readonly #waiting = new Map<Storage, number>();

  /** Opens it; `close` must follow. */
  constructor() {
    const scopes = openScopes();
    this.#outer = scopes.at(-1);
    scopes.push(this.#fresh);
  }

  /** A gradient waits for a reader. */
  hold(x: Tensor): void {
    const { storage } = x.impl;
    if (storage === null) return;
    const waiting = this.#waiting.get(storage);
    if (waiting !== undefined) this.#waiting.set(storage, waiting + 1);
    else if (this.#fresh.has(storage)) this.#waiting.set(storage, 1);
  }

  /** A gradient has been read. */
  drop(x: Tensor): void {
    const { storage } = x.impl;
    const waiting = storage === null ? undefined : this.#waiting.get(storage);
    if (waiting === undefined) return;
    if (waiting > 1) this.#waiting.set(storage!, waiting - 1);
    else {
      this.#waiting.delete(storage!);
      this.#fresh.delete(storage!);
      storage!.free();
    }
  }

  /** Frees what was made on the way and is waited for by no one. */
  sweep(): void {
    for (const storage of this.#fresh) if (!this.#waiting.has(storage)) storage.free();
    this.#fresh.clear();
  }

  /** Someone outside may hold the tensor from now on. */
  give(x: Tensor): void {
    const { storage } = x.impl;
    if (storage === null) return;
    const own = this.#fresh.delete(storage);
    if (this.#waiting.delete(storage) || own) handOver(storage, this.#outer);
  }

  /** Runs code that may hold on to what it makes. */
  outside<T>(fn: () => T): T {
    const scopes = openScopes();
    scopes.pop();
    try {
      return fn();
    } finally {
      openScopes().push(this.#fresh);
    }
  }

  /** Frees all that is left. */
  close(): void {
    openScopes().pop();
    for (const storage of this.#fresh) storage.free();
    for (const storage of this.#waiting.keys()) storage.free();
  }
}
