// Values that hold in a function and in what it awaits, and nowhere else, as AsyncLocalStorage has them. Where
// the platform has none (browsers), async functions that overlap see the value of the one begun last.

/** A value with a beginning and an end in the flow of the program. */
export interface AsyncLocal<T> {
  /** The value here; undefined outside of every {@linkcode run}. */
  get(): T | undefined;
  /** Runs `fn` with the value; if it is async, until it settles. */
  run<R>(value: T, fn: () => R): R;
}

/** Makes one. Deno and Node have the class without an import and without a permission. */
export function asyncLocal<T>(): AsyncLocal<T> {
  let own: AsyncLocal<T> | null = null;
  return {
    // The class is loaded at the first run: most programs' first op comes earlier than that.
    get: () => own === null ? undefined : own.get(),
    run: (value, fn) => (own ??= platformLocal<T>() ?? stackLocal<T>()).run(value, fn),
  };
}

interface AsyncHooks {
  readonly AsyncLocalStorage?: new <T>() => {
    getStore(): T | undefined;
    run<R>(store: T, fn: () => R): R;
  };
}

function platformLocal<T>(): AsyncLocal<T> | null {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const hooks = process?.getBuiltinModule?.("node:async_hooks") as AsyncHooks | undefined;
  if (hooks?.AsyncLocalStorage === undefined) return null;
  const storage = new hooks.AsyncLocalStorage<T>();
  return { get: () => storage.getStore(), run: (value, fn) => storage.run(value, fn) };
}

/** The values of what has not ended, in the order it began. */
export function stackLocal<T>(): AsyncLocal<T> {
  let open: { readonly value: T }[] = [];
  return {
    get: () => open.at(-1)?.value,
    run<R>(value: T, fn: () => R): R {
      const own = { value };
      const end = (): void => {
        open = open.filter((x) => x !== own);
      };
      open.push(own);
      let settled = true;
      try {
        const result = fn();
        if (!(result instanceof Promise)) return result;
        settled = false;
        return result.finally(end) as R;
      } finally {
        if (settled) end();
      }
    },
  };
}
