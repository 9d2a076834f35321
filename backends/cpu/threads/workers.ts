// Starts the pool's workers: node's where there are any, because a sleeping one lets the process end; Web
// Workers in browsers. No file is read and no message is awaited. Not here: what workers do (thread.ts).
import { makeThread, serve, type Tables } from "./thread.ts";

/** What a worker is started with, as data. */
export interface WorkerData {
  readonly memory: WebAssembly.Memory;
  readonly slot: number;
  readonly threads: number;
  readonly epoch: number;
  readonly tables: Tables;
  readonly spin: number;
}

interface NodeWorker {
  unref(): void;
  on(event: "error", f: () => void): void;
}

interface NodeThreads {
  readonly Worker: new (url: URL, options: { workerData: WorkerData }) => NodeWorker;
}

type WithProcess = { process?: { getBuiltinModule?(name: string): unknown } };

/** The code of a worker; it starts others with the same code, whose address is in its data. */
const NODE = `const threads = process.getBuiltinModule("node:worker_threads");
const data = threads.workerData;
const start = (slot) => {
  const worker = new threads.Worker(new URL(data.url), { workerData: { ...data, slot } });
  worker.on("error", () => {});
  worker.unref();
};
`;
const WEB = `const start = (slot) => {
  new Worker(data.url, { type: "module" }).postMessage({ ...data, slot });
};
`;

function nodeThreads(): NodeThreads | null {
  try {
    const { process } = globalThis as WithProcess;
    const module = process?.getBuiltinModule?.("node:worker_threads");
    return (module as NodeThreads | undefined) ?? null;
  } catch {
    return null;
  }
}

function dataUrl(text: string): string {
  return `data:text/javascript,${encodeURIComponent(text)}`;
}

const LIFE = `(${serve})({ ...data, start }, ${makeThread});`;

/** How workers are started here. */
export interface Starter {
  /** Whether they come up while the caller computes and waits. */
  readonly atOnce: boolean;
  start(data: WorkerData): void;
}

/** The way to start workers, or null if there is none. */
export function findStarter(): Starter | null {
  const node = nodeThreads();
  if (node !== null) {
    const url = dataUrl(NODE + LIFE);
    return {
      atOnce: true,
      start: (data) => {
        const workerData = { ...data, url };
        const worker = new node.Worker(new URL(url), { workerData });
        // A worker that cannot start is one that never takes work.
        worker.on("error", () => {});
        worker.unref();
      },
    };
  }
  if (typeof Worker === "undefined") return null;
  const url = dataUrl(`onmessage = ({ data }) => {\n${WEB}${LIFE}\n};`);
  return {
    atOnce: false,
    start: (data) => new Worker(url, { type: "module" }).postMessage({ ...data, url }),
  };
}
