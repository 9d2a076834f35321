// The pool by itself: every part runs once, whoever runs it; failures come back; numbers of threads change.
import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import { InternalError, ValueError } from "../../../core/errors.ts";
import { ModuleBuilder } from "../wasm/asm/mod.ts";
import { getNumThreads, setNumThreads } from "./count.ts";
import type { SharedCode } from "./job.ts";
import { LAYOUT } from "./layout.ts";
import { Pool, tuning } from "./pool.ts";
import { sleep } from "./support_test.ts";

const MS = 1_000_000;

interface Bench {
  readonly memory: WebAssembly.Memory;
  readonly pool: Pool;
  /** `run(at, begin, end, slot, trap, clear)`; see below. */
  readonly code: SharedCode;
  readonly bytes: Uint8Array;
  readonly instance: WebAssembly.Instance;
  readonly alloc: (bytes: number) => number;
}

/**
 * A pool whose code adds 1 to the words begin to end - 1 at `at`, and clears 16 bytes at `clear` by a bulk
 * instruction. If `trap` is an address, two threads meet there and all but the calling one trap.
 */
function makeBench(): Bench {
  const memory = new WebAssembly.Memory({ initial: 8, maximum: 65536, shared: true });
  let free: number = LAYOUT.end;
  const alloc = (bytes: number) => {
    const at = free;
    free = Math.ceil((free + bytes) / 64) * 64;
    const missing = Math.ceil((free - memory.buffer.byteLength) / 65536);
    if (missing > 0) memory.grow(missing);
    return at;
  };
  const pool = new Pool(memory, alloc);
  const module = new ModuleBuilder();
  module.importMemory("env", "memory", { shared: true, max: 65536 });
  const f = module.func({ params: Array(6).fill("i32"), export: "run" });
  const [at, begin, end, slot, trap, clear] = f.params;
  f.get(trap).if(() => {
    f.get(trap).i32(1).mem("i32.atomic.rmw.add").op("drop");
    f.loop((again) => {
      f.get(trap).mem("i32.atomic.load").i32(2).op("i32.lt_s").brIf(again);
    });
    f.get(slot).if(() => f.op("unreachable"));
  });
  f.get(clear).i32(0).i32(16).memoryFill();
  f.while(begin, end, 1, () => {
    f.get(at).get(begin).i32(2).op("i32.shl").op("i32.add").i32(1).mem("i32.atomic.rmw.add");
    f.op("drop");
  });
  const bytes = module.bytes();
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } });
  return { memory, pool, code: pool.code(bytes, instance), bytes, instance, alloc };
}

function run(
  { pool, code }: Bench,
  at: number,
  { length, ns = 100 * MS, items = 1, grain = 1, trap = 0 }: {
    length: number;
    ns?: number;
    items?: number;
    grain?: number;
    trap?: number;
  },
): void {
  const args = [
    { base: at, item: 4 * length },
    { base: 0, begin: 1 },
    { base: 0, end: 1 },
    { base: 0, slot: 1 },
    trap,
    { base: at + 4 * items * length, slot: 16 },
  ];
  pool.run({ code, name: "run", args, items, length, grain }, ns);
}

/** Waits until all workers are up. */
function untilUp(pool: Pool): void {
  for (let i = 0; i < 3000 && pool.workers < getNumThreads() - 1; i++) sleep(10);
  assertEquals(pool.workers, getNumThreads() - 1);
}

function withThreads(n: number, body: (bench: Bench) => void): void {
  const before = getNumThreads();
  setNumThreads(n);
  const bench = makeBench();
  try {
    bench.pool.start();
    untilUp(bench.pool);
    body(bench);
  } finally {
    bench.pool.stop();
    setNumThreads(before);
  }
}

for (const n of [2, 3, 6]) {
  Deno.test(`every element of every item is worked on once by ${n} threads`, () => {
    withThreads(n, (bench) => {
      for (
        const [items, length, grain] of [
          [1, 1000, 1],
          [1, 1003, 64],
          [7, 13, 4],
          [1, 1, 1],
          [300, 3, 1],
          [5000, 2, 1],
        ]
      ) {
        const at = bench.alloc(4 * items * length + 128);
        // Awake and asleep.
        for (let round = 1; round <= 20; round++) {
          run(bench, at, { items, length, grain });
          const words = new Int32Array(bench.memory.buffer, at, items * length);
          assertEquals(words.findIndex((x) => x !== round), -1);
          if (round === 10) sleep(5);
        }
      }
    });
  });
}

Deno.test("workers reach memory that has grown, by bulk instructions too", () => {
  withThreads(3, (bench) => {
    for (let i = 0; i < 20; i++) {
      const at = bench.alloc(3 * 65536) + 65536;
      run(bench, at, { length: 4000 });
      const words = new Int32Array(bench.memory.buffer, at, 4000);
      assertEquals(words.findIndex((x) => x !== 1), -1);
    }
  });
});

Deno.test("workers reach memory that grew while they came up", () => {
  const before = getNumThreads();
  setNumThreads(3);
  const bench = makeBench();
  try {
    for (let i = 0; i < 6; i++) {
      bench.pool.start();
      sleep(10 * i);
      bench.memory.grow(20);
      untilUp(bench.pool);
      // Up to a page before the end, where the code then lies: nothing grows any more.
      const at = bench.alloc(19 * 65536) + 64;
      const code = bench.pool.code(bench.bytes, bench.instance);
      tuning.takesPart = false;
      run({ ...bench, code }, at, { length: 4000 });
      const words = new Int32Array(bench.memory.buffer, at, 4000);
      assertEquals(words.findIndex((x) => x !== 1), -1);
    }
  } finally {
    tuning.takesPart = true;
    bench.pool.stop();
    setNumThreads(before);
  }
});

Deno.test("a part that fails in a worker is an error of the call, and the pool goes on", () => {
  withThreads(2, (bench) => {
    const at = bench.alloc(4096);
    for (let round = 0; round < 3; round++) {
      const trap = bench.alloc(64);
      assertThrows(
        () => run(bench, at, { length: 2, trap }),
        InternalError,
        "Cannot finish a call on several threads: a part failed: RuntimeError: unreachable",
      );
      new Int32Array(bench.memory.buffer, at, 100).fill(0);
      run(bench, at, { length: 100 });
      const words = new Int32Array(bench.memory.buffer, at, 100);
      assertEquals(words.findIndex((x) => x !== 1), -1);
    }
  });
});

Deno.test("a module that workers cannot compile is an error of the call", () => {
  withThreads(2, ({ memory, pool }) => {
    // The calling thread stays in its part until the other one has failed.
    const words = new Int32Array(memory.buffer);
    const run = () => {
      for (let i = 0; i < 1000 && Atomics.load(words, LAYOUT.failed / 4) === 0; i++) {
        Atomics.wait(words, LAYOUT.failed / 4, 0, 10);
      }
    };
    const broken = pool.code(new Uint8Array(100), { exports: { run } });
    assertThrows(
      () =>
        pool.run({ code: broken, name: "run", args: [], items: 1, length: 2, grain: 1 }, 100 * MS),
      InternalError,
      "CompileError",
    );
  });
});

Deno.test("small work is done alone, and so is all work before workers are up", () => {
  const before = getNumThreads();
  setNumThreads(2);
  const bench = makeBench();
  try {
    assertEquals(bench.pool.wants(1000), false);
    assertEquals(bench.pool.wants(MS), false);
    assertEquals(bench.pool.workers, 0);
    const at = bench.alloc(4096);
    run(bench, at, { length: 100 });
    assertEquals(new Int32Array(bench.memory.buffer, at, 100).findIndex((x) => x !== 1), -1);
    for (let i = 0; i < 110; i++) bench.pool.wants(MS);
    untilUp(bench.pool);
    assertEquals(bench.pool.wants(1000), false);
    assertEquals(bench.pool.wants(MS), true);
    setNumThreads(1);
    assertEquals(bench.pool.workers, 0);
    assertEquals(bench.pool.wants(MS), false);
  } finally {
    bench.pool.stop();
    setNumThreads(before);
  }
});

Deno.test("numbers of threads that cannot be are refused", () => {
  for (const n of [0, -1, 1.5, NaN, 65, Infinity]) {
    assertThrows(() => setNumThreads(n), ValueError, `Cannot setNumThreads to ${n}: it must be`);
  }
});
