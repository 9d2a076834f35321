// How a thread takes parts of jobs and runs them: the same code in the calling thread and in workers. A
// worker gets it as text, so it names nothing from outside but its arguments (types aside). Not here:
// starting workers, publishing jobs, waiting for the end (pool.ts).
import type { Exports } from "./job.ts";
import type { NUMBER, ThreadLayout, WORD } from "./layout.ts";

/** Tables of numbers, given as data because the code travels as text. */
export interface Tables {
  readonly layout: ThreadLayout;
  readonly word: typeof WORD;
  readonly number: typeof NUMBER;
}

/** A thread's view of the pool. */
export interface Thread {
  /** Takes and runs one part of the job of an epoch; false if none was left. */
  work(epoch: number): boolean;
  /** Runs a part of the job that is written, which the caller has to itself. */
  runPart(part: number): void;
  /** What kernels call when a part of the result is final. */
  report(start: number, count: number): void;
}

/**
 * Makes the view of thread number `slot`. `load` finds or makes an instance of a module by its number,
 * address and bytes.
 */
export function makeThread(
  memory: WebAssembly.Memory,
  slot: number,
  { layout, word, number }: Tables,
  load: (thread: Thread, id: number, at: number, bytes: number) => Exports,
): Thread {
  // The first bytes never move and are all that is touched from here, so views stay right.
  const ints = new Int32Array(memory.buffer, 0, layout.end / 4);
  const doubles = new Float64Array(memory.buffer, 0, layout.end / 8);
  const job = layout.job / 4;
  const numbers = layout.numbers / 8;
  const [claim, done] = [layout.claim / 4, layout.done / 4];
  const partMask = (1 << layout.partBits) - 1;
  const block = (layout.blocks + slot * layout.blockBytes) / 4;
  let [item, begin, end, gathered, gatheredCount] = [0, 0, 0, 0, 0];
  let tail: Exports[string] | null = null;

  const copyTemplate = (): void => {
    const from = layout.template / 4;
    ints.copyWithin(block, from, from + ints[job + word.templateWords]);
  };
  const cut = (axis: number, from: number, to: number): void => {
    ints[block + ints[job + word.sizesAt] + axis] = to - from;
    const count = ints[job + word.followerCount];
    for (let i = 0; i < count; i++) {
      const at = block + ints[job + word.followers + i];
      ints[at] += from * ints[at + 1 + axis];
    }
  };
  const runBlock = (run: Exports[string]): void => {
    run(block * 4, 0, ints[block + ints[job + word.sizesAt]]);
  };

  // Positions are row-major over the leading axes: one run for each stretch of the last of them.
  const flush = (): void => {
    const lead = ints[job + word.lead];
    const sizes = layout.template / 4 + ints[job + word.sizesAt];
    const last = ints[sizes + lead - 1];
    const stop = gathered + gatheredCount;
    while (gathered < stop) {
      const inside = gathered % last;
      const count = Math.min(last - inside, stop - gathered);
      copyTemplate();
      cut(lead - 1, inside, inside + count);
      let rest = (gathered - inside) / last;
      for (let axis = lead - 2; axis >= 0; axis--) {
        const at = rest % ints[sizes + axis];
        cut(axis, at, at + 1);
        rest = Math.floor(rest / ints[sizes + axis]);
      }
      if (ints[job + word.columns] === 1) cut(ints[job + word.rank] - 1, begin, end);
      runBlock(tail!);
      gathered += count;
    }
    gatheredCount = 0;
  };

  const runPart = (part: number): void => {
    const at = (field: number) => ints[job + field];
    // A thread may not have heard yet that the memory has grown; growing by nothing tells it.
    if (memory.buffer.byteLength < at(word.pages) * 65536) memory.grow(0);
    const exports = load(thread, at(word.module), at(word.moduleAt), at(word.moduleBytes));
    const run = exports[layout.exports[at(word.name)]];
    const cutAxis = at(word.cut);
    const chunks = at(word.chunks);
    const length = at(word.length);
    const grain = at(word.grain);
    const grains = Math.ceil(length / grain);
    const units = at(word.items) * chunks;
    const parts = at(word.parts);
    tail = at(word.tail) < 0
      ? null
      : load(thread, at(word.tail), at(word.tailAt), at(word.tailBytes)).run;
    gatheredCount = 0;
    const args: number[] = new Array(at(word.argCount)).fill(0);
    const last = Math.floor(units * (part + 1) / parts);
    for (let unit = Math.floor(units * part / parts); unit < last; unit++) {
      item = Math.floor(unit / chunks);
      const chunk = unit % chunks;
      begin = Math.min(length, grain * Math.floor(grains * chunk / chunks));
      end = Math.min(length, grain * Math.floor(grains * (chunk + 1) / chunks));
      if (begin === end) continue;
      if (cutAxis >= 0) {
        copyTemplate();
        cut(cutAxis, begin, end);
        runBlock(run);
        continue;
      }
      for (let i = 0; i < args.length; i++) {
        const n = numbers + number.args + i * number.perArg;
        args[i] = doubles[n] + item * doubles[n + 1] + begin * doubles[n + 2] +
          end * doubles[n + 3] + slot * doubles[n + 4];
      }
      run(...args);
      if (gatheredCount > 0) flush();
    }
  };

  const fail = (e: unknown): void => {
    if (Atomics.compareExchange(ints, layout.failed / 4, 0, 1) !== 0) return;
    const text = new TextEncoder().encode(String(e)).subarray(0, layout.failedBytes);
    new Uint8Array(memory.buffer).set(text, layout.failedText);
    ints[layout.failedLength / 4] = text.length;
  };

  const thread: Thread = {
    work: (epoch) => {
      let left = 0;
      for (;;) {
        const seen = Atomics.load(ints, claim);
        left = seen & partMask;
        if (left === 0 || seen >>> layout.partBits !== epoch) return false;
        if (Atomics.compareExchange(ints, claim, seen, seen - 1) === seen) break;
      }
      // The job stays as it is until this part is done, so it is read only now.
      const parts = ints[job + word.parts];
      try {
        runPart(parts - left);
      } catch (e) {
        fail(e);
      }
      if (
        Atomics.add(ints, done, 1) + 1 === parts && Atomics.load(ints, layout.waiting / 4) === 1
      ) {
        Atomics.notify(ints, done);
      }
      return true;
    },
    runPart,
    report: (start, count) => {
      if (tail === null) return;
      const n = numbers;
      const scale = doubles[n + number.tailScale];
      const from = doubles[n + number.tailBase] + item * doubles[n + number.tailItem] +
        begin * doubles[n + number.tailBegin] + start * scale;
      if (gatheredCount > 0 && from !== gathered + gatheredCount) flush();
      if (gatheredCount === 0) gathered = from;
      gatheredCount += count * scale;
      if (gatheredCount >= ints[job + word.enough]) flush();
    },
  };
  return thread;
}

/** What a worker starts from. */
export interface WorkerStart {
  readonly memory: WebAssembly.Memory;
  readonly slot: number;
  readonly threads: number;
  readonly epoch: number;
  readonly tables: Tables;
  /** Milliseconds to look out for work before sleeping. */
  readonly spin: number;
  /** Starts the worker of another slot. */
  readonly start: (slot: number) => void;
}

/** The whole life of a worker: it returns when the pool's epoch is over. */
export function serve(
  { memory, slot, threads, epoch, tables, spin, start }: WorkerStart,
  make: typeof makeThread,
): void {
  const { layout } = tables;
  const ints = new Int32Array(memory.buffer, 0, layout.end / 4);
  const claim = layout.claim / 4;
  const partMask = (1 << layout.partBits) - 1;
  const known = new Map<number, Exports>();
  const thread = make(memory, slot, tables, (own, id, at, bytes) => {
    let exports = known.get(id);
    if (exports === undefined) {
      // Compilers take no shared bytes.
      const copy = new Uint8Array(bytes);
      copy.set(new Uint8Array(memory.buffer, at, bytes));
      const env = { memory, onRows: own.report };
      const instance = new WebAssembly.Instance(new WebAssembly.Module(copy), { env });
      known.set(id, exports = instance.exports as unknown as Exports);
    }
    return exports;
  });
  const pause = (Atomics as { pause?: () => void }).pause ?? (() => {});
  const isOver = (seen: number) => seen >>> layout.partBits !== epoch;
  // As a tree, because making a worker takes its maker tens of milliseconds.
  for (const next of [2 * slot, 2 * slot + 1]) {
    if (next < threads && !isOver(Atomics.load(ints, claim))) start(next);
  }
  if (isOver(Atomics.load(ints, claim))) return;
  Atomics.add(ints, layout.joined / 4, 1);
  for (;;) {
    while (thread.work(epoch));
    let seen = 0;
    const until = performance.now() + spin;
    do {
      for (let i = 0; i < 16; i++) {
        seen = Atomics.load(ints, claim);
        if ((seen & partMask) !== 0 || isOver(seen)) break;
        pause();
      }
    } while ((seen & partMask) === 0 && !isOver(seen) && performance.now() < until);
    if (isOver(seen)) return;
    if ((seen & partMask) !== 0) continue;
    Atomics.add(ints, layout.parked / 4, 1);
    Atomics.wait(ints, claim, seen);
    Atomics.sub(ints, layout.parked / 4, 1);
  }
}
