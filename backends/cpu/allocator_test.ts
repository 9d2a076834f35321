// The allocator against a naive model (a list of live intervals), at its limits, and on traces like
// those of training loops, whose memory must stay flat.

import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { InternalError, MemoryError, ValueError } from "../../core/errors.ts";
import { Allocator } from "./allocator.ts";

const WASM_PAGE = 65536;

interface Owner {
  readonly allocator: Allocator;
  readonly asked: number[];
  end: number;
}

/** An allocator whose owner grows by whole WASM pages up to a cap. */
function owner(
  options: { base?: number; size?: number; cap?: number; alignment?: number } = {},
): Owner {
  const { base = 1000, size = WASM_PAGE, cap = Infinity, alignment } = options;
  const self: { -readonly [K in keyof Owner]: Owner[K] } = {
    asked: [],
    end: base + size,
    allocator: new Allocator({
      base,
      limit: base + size,
      alignment,
      grow: (bytes) => {
        self.asked.push(bytes);
        const end = self.end + Math.ceil(bytes / WASM_PAGE) * WASM_PAGE;
        if (end > base + cap) return -1;
        return self.end = end;
      },
    }),
  };
  return self;
}

/** Frees all, trims, and checks that one free range is left. */
function assertCoalesces(allocator: Allocator, live: Iterable<number>): void {
  for (const address of live) allocator.free(address);
  allocator.trim();
  const stats = allocator.stats();
  assertEquals(stats.live, 0);
  assertEquals(stats.blocks, 0);
  assertEquals(stats.largestFree, stats.reserved);
}

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const size = fc.oneof(
  fc.nat(300),
  fc.nat(20_000),
  fc.constantFrom(0, 1, 63, 64, 65, 4096, 16384, 16385, 65536),
  fc.nat(3_000_000),
);
/** Sizes to allocate, and which of the live blocks to free (modulo their number). */
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ malloc: size }) },
    { weight: 2, arbitrary: fc.record({ free: fc.noBias(fc.nat()) }) },
  ),
  { maxLength: 400, size: "max" },
);

Deno.test("Allocator: random sequences never overlap, count right, and coalesce", () => {
  fc.assert(
    fc.property(
      steps,
      fc.constantFrom(16, 64, 256, 4096),
      fc.constantFrom(0, 1000, 2 ** 31 - 70_000, 2 ** 32 - 4096, 2 ** 53 - 2 ** 40),
      (list, alignment, base) => {
        const { allocator, ...self } = owner({ base, alignment });
        const live: { start: number; end: number }[] = [];
        let bytes = 0;
        let peak = 0;
        for (const step of list) {
          if ("malloc" in step) {
            const start = allocator.malloc(step.malloc);
            const end = start + allocator.sizeOf(start);
            assert(
              start % alignment === 0 && start >= base && end - start >= Math.max(step.malloc, 1),
            );
            assert(end <= base + alignment + allocator.reserved);
            const at = live.findIndex((block) => block.start > start);
            const index = at < 0 ? live.length : at;
            assert(index === 0 || live[index - 1].end <= start);
            assert(index === live.length || end <= live[index].start);
            live.splice(index, 0, { start, end });
            bytes += end - start;
            peak = Math.max(peak, bytes);
          } else if (live.length > 0) {
            const [{ start, end }] = live.splice(step.free % live.length, 1);
            allocator.free(start);
            bytes -= end - start;
          }
          assertEquals([allocator.live, allocator.stats().blocks], [bytes, live.length]);
        }
        const stats = allocator.stats();
        assertEquals(stats.peak, peak);
        assertEquals(stats.allocations - stats.frees, live.length);
        assert(stats.largestFree <= stats.reserved - stats.live);
        assert(self.asked.every((n) => n > 0));
        assertCoalesces(allocator, live.map((block) => block.start));
      },
    ),
    { numRuns: 150, seed: 1 },
  );
});

Deno.test("Allocator: many blocks freed in every order coalesce", () => {
  const orders: Record<string, (blocks: number[], next: () => number) => number[]> = {
    first: (blocks) => blocks,
    last: (blocks) => blocks.toReversed(),
    evenOdd: (blocks) => [
      ...blocks.filter((_, i) => i % 2 === 0),
      ...blocks.filter((_, i) => i % 2 === 1),
    ],
    shuffled: (blocks, next) =>
      blocks.map((x) => ({ x, key: next() })).sort((a, b) => a.key - b.key).map(({ x }) => x),
  };
  const { allocator } = owner();
  for (const order of Object.values(orders)) {
    const next = random(1);
    const blocks = Array.from(
      { length: 3000 },
      () => allocator.malloc(Math.floor(2 ** (next() * 18))),
    );
    assertEquals(new Set(blocks).size, blocks.length);
    assertCoalesces(allocator, order(blocks, next));
  }
});

Deno.test("Allocator: a freed block serves the next request of its size, large or small", () => {
  const { allocator } = owner({ size: 2 ** 24 });
  for (const bytes of [1, 64, 5000, 16384, 16385, 100_000, 4_000_000]) {
    const fence = [allocator.malloc(bytes), allocator.malloc(bytes), allocator.malloc(bytes)];
    allocator.free(fence[1]);
    assertEquals(allocator.malloc(bytes), fence[1]);
  }
});

Deno.test("Allocator: rounding is at most a quarter for small, a page for large blocks", () => {
  const { allocator } = owner();
  for (let bytes = 256; bytes <= 16384; bytes += 61) {
    const got = allocator.sizeOf(allocator.malloc(bytes));
    assert(got >= bytes && got - bytes <= Math.max(63, bytes / 4), `${bytes}: ${got}`);
  }
  for (const bytes of [16385, 20_000, 1_000_001, 123_456_789]) {
    const got = allocator.sizeOf(allocator.malloc(bytes));
    assert(got >= bytes && got - bytes < 4096, `${bytes}: ${got}`);
  }
});

Deno.test("Allocator: long-lived small blocks do not break up large space", () => {
  const { allocator } = owner();
  const small: number[] = [];
  const large: number[] = [];
  for (let i = 0; i < 1000; i++) {
    large.push(allocator.malloc(40_000));
    small.push(allocator.malloc(40));
  }
  large.forEach((address) => allocator.free(address));
  // The small ones fill four slabs, so the large ones left at most five holes.
  assert(allocator.stats().largestFree >= 1000 / 5 * 40_000);
  assertCoalesces(allocator, small);
});

Deno.test("Allocator: addresses beyond 2^31, 2^32 and near 2^53", () => {
  for (const base of [2 ** 31 - 128, 2 ** 32 - 64, 2 ** 45 + 7, 2 ** 53 - 2 ** 30]) {
    const { allocator } = owner({ base });
    const blocks = [100, 100, 50_000, 2 ** 28, 16, 300_000].map((n) => allocator.malloc(n));
    for (const address of blocks) {
      assert(Number.isSafeInteger(address) && address >= base && address % 64 === 0);
    }
    assertEquals(allocator.sizeOf(blocks[3]), 2 ** 28);
    assertThrows(() => allocator.free(blocks[3] % 2 ** 31), InternalError);
    assertCoalesces(allocator, blocks);
  }
  // Beyond 2^53 - 1 no end can be told: out of memory, not a wrong address.
  const { allocator, asked } = owner({ base: 2 ** 53 - 2 ** 20, size: 2 ** 19 });
  assertEquals(allocator.tryMalloc(2 ** 20), -1);
  assertEquals(asked, []);
});

Deno.test("Allocator: more than 4 GiB, and single blocks above it", () => {
  const { allocator } = owner();
  const blocks = [5 * 2 ** 30, 3 * 2 ** 30, 2 ** 40].map((n) => allocator.malloc(n));
  assertEquals(allocator.live, 8 * 2 ** 30 + 2 ** 40);
  assertCoalesces(allocator, blocks);
});

Deno.test("Allocator: freeing twice and foreign addresses are detected and change nothing", () => {
  const { allocator } = owner({ base: 64, size: 2 ** 20 });
  const small = allocator.malloc(100);
  const other = allocator.malloc(100);
  const large = allocator.malloc(100_000);
  const gone = [allocator.malloc(100), allocator.malloc(50_000), allocator.malloc(50_000)];
  gone.forEach((address) => allocator.free(address));
  const before = allocator.stats();
  const notThere = (address: number) =>
    `Cannot free block ${address}: no live block starts there: ` +
    `it was freed before, or never handed out`;
  const inside = [small + 64, small + 1, large + 4096, large + 64, large - 64, small + 0.5];
  for (const address of [...gone, ...inside, 64 + 2 ** 19]) {
    assertThrows(() => allocator.free(address), InternalError, notThere(address));
    assertThrows(() => allocator.sizeOf(address), InternalError, "Cannot take the size of block");
  }
  const { reserved } = before;
  for (const address of [0, -1, 63, NaN, Infinity, -Infinity, 64 + reserved, 2 ** 33 + small]) {
    assertThrows(
      () => allocator.free(address),
      InternalError,
      `Cannot free block ${address}: it lies outside of the allocator's memory ` +
        `[64, ${64 + reserved})`,
    );
  }
  assertEquals(allocator.stats(), before);
  assertCoalesces(allocator, [small, other, large]);
  assertThrows(() => allocator.free(small), InternalError);
});

Deno.test("Allocator: of all addresses, just the starts of live blocks are blocks", () => {
  const { allocator } = owner({ base: 0 });
  const next = random(2);
  const live = new Map<number, number>();
  // Regions change between slabs of all sizes and large blocks, and back.
  for (const [most, least] of [[300, 0], [100, 20], [200, 0], [150, 60]]) {
    while (live.size < most) {
      const bytes = Math.floor(2 ** (next() * 15));
      live.set(allocator.malloc(bytes), bytes);
    }
    for (const address of [...live.keys()].filter(() => next() > least / most)) {
      allocator.free(address);
      live.delete(address);
    }
    allocator.trim();
  }
  assert(live.size > 20);
  for (let address = 0; address < allocator.reserved; address += 64) {
    const bytes = live.get(address);
    if (bytes !== undefined) assert(allocator.sizeOf(address) >= bytes);
    else assertThrows(() => allocator.sizeOf(address), InternalError);
  }
  assertCoalesces(allocator, live.keys());
});

Deno.test("Allocator: what is left over at the end of a slab is no block", () => {
  const { allocator } = owner({ base: 0, size: 2 ** 20 });
  // 51 blocks fill 64 KiB but for 256 bytes.
  const blocks = Array.from({ length: 51 }, () => allocator.malloc(1280));
  assertEquals(blocks, blocks.map((_, i) => blocks[0] + 1280 * i));
  assertThrows(() => allocator.free(blocks[0] + 51 * 1280), InternalError);
  assertCoalesces(allocator, blocks);
});

Deno.test("Allocator: out of memory is -1 or a MemoryError with the counts, and not the end", () => {
  const { allocator } = owner({ base: 0, size: 2 ** 20, cap: 2 ** 20 });
  const block = allocator.malloc(600_000);
  assertEquals(allocator.tryMalloc(600_000), -1);
  assertThrows(
    () => allocator.malloc(600_000),
    MemoryError,
    "Cannot allocate 600000 bytes: the memory cannot grow: 602112 bytes are live in 1 blocks, " +
      "1048576 reserved, the largest free range has 446464; free tensors or use smaller batches",
  );
  assertEquals(allocator.stats().allocations, 1);
  assertEquals(allocator.tryMalloc(2 ** 53 - 1), -1);
  allocator.free(block);
  assertEquals(allocator.malloc(600_000), block);
});

Deno.test("Allocator: memory is used to the last page, by small blocks too", () => {
  const { allocator } = owner({ base: 0, size: 16 * 4096, cap: 16 * 4096 });
  const held = allocator.malloc(15 * 4096);
  // One page: too little for a slab.
  const last = allocator.malloc(0);
  assertEquals([last, allocator.sizeOf(last)], [15 * 4096, 4096]);
  assertEquals(allocator.stats().largestFree, 0);
  assertEquals(allocator.tryMalloc(1), -1);
  assertCoalesces(allocator, [held, last]);
});

Deno.test("Allocator: spare slabs make room for large blocks before the memory grows", () => {
  const { allocator, asked } = owner({ base: 0, size: 2 ** 20 });
  const sizes = Array.from({ length: 14 }, (_, i) => Math.floor(100 * 2 ** (i / 2)));
  sizes.map((bytes) => allocator.malloc(bytes)).forEach((address) => allocator.free(address));
  assert(allocator.stats().largestFree < 2 ** 20);
  assertEquals(allocator.sizeOf(allocator.malloc(2 ** 20)), 2 ** 20);
  assertEquals(asked, []);
});

Deno.test("Allocator: grows by an eighth, from 1 to 64 MiB, or by what is asked or can be had", () => {
  const MiB = 2 ** 20;
  const { allocator, asked } = owner({ base: 0, size: MiB });
  allocator.malloc(MiB);
  allocator.malloc(4096);
  assertEquals(asked.splice(0), [MiB]);
  allocator.malloc(100 * MiB);
  // The free end of the memory is part of the new block.
  assertEquals(asked.splice(0).map((n) => n > 99 * MiB && n < 100 * MiB), [true]);
  const { reserved } = allocator.stats();
  allocator.malloc(MiB);
  assertEquals(asked.splice(0), [Math.floor(reserved / 8 / 4096) * 4096]);
  allocator.malloc(1000 * MiB);
  asked.length = 0;
  allocator.malloc(20 * MiB);
  assertEquals(asked, [64 * MiB]);

  const tight = owner({ base: 0, size: MiB, cap: MiB + 2 * WASM_PAGE });
  tight.allocator.malloc(MiB);
  tight.allocator.malloc(2 * WASM_PAGE);
  assertEquals(tight.asked, [MiB, 2 * WASM_PAGE]);
});

Deno.test("Allocator: an odd base and ends within a page lose no page in growing", () => {
  let end = 12_345;
  const ask = { base: 999, limit: end, grow: (bytes: number) => end += bytes };
  const allocator = new Allocator(ask);
  assertEquals(allocator.reserved, 2 * 4096);
  const blocks = Array.from({ length: 300 }, () => allocator.malloc(20_000));
  assertEquals(end, 1024 + allocator.reserved);
  assertCoalesces(allocator, blocks);

  const empty = new Allocator({ base: 0, limit: 0, grow: (bytes) => bytes });
  assertEquals(empty.stats().reserved, 0);
  assertThrows(() => empty.free(0), InternalError);
  assertCoalesces(empty, [empty.malloc(10)]);
});

Deno.test("Allocator: the owner may free blocks while asked to grow", () => {
  const pending: number[] = [];
  const allocator = new Allocator({
    base: 0,
    limit: 2 ** 20,
    grow: () => {
      pending.splice(0).forEach((address) => allocator.free(address));
      return -1;
    },
  });
  pending.push(allocator.malloc(500_000), allocator.malloc(400_000));
  const address = allocator.malloc(2 ** 20);
  assertEquals(allocator.live, 2 ** 20);
  pending.push(address);
  assertEquals(allocator.sizeOf(allocator.malloc(100)), 128);
});

Deno.test("Allocator: what cannot be is refused", () => {
  const grow = () => -1;
  for (const alignment of [0, 8, 48, 8192, -64, NaN]) {
    assertThrows(
      () => new Allocator({ base: 0, limit: 0, grow, alignment }),
      ValueError,
      `Cannot make an Allocator with alignment ${alignment}: ` +
        `it must be a power of two from 16 to 4096`,
    );
  }
  for (const [base, limit] of [[-1, 5], [10, 5], [0.5, 5], [0, 2 ** 53], [NaN, 1]]) {
    assertThrows(
      () => new Allocator({ base, limit, grow }),
      ValueError,
      `Cannot make an Allocator of [${base}, ${limit}): ` +
        `the bounds must be ordered integers from 0 to 2^53 - 1`,
    );
  }
  const { allocator } = owner();
  for (const bytes of [-1, 0.5, NaN, Infinity, 2 ** 53, 20_000.5]) {
    assertThrows(
      () => allocator.malloc(bytes),
      ValueError,
      `Cannot allocate ${bytes} bytes: the size must be an integer from 0 to 2^53 - 1`,
    );
  }
  for (const end of [5, NaN, 2 ** 21 - 1]) {
    const liar = new Allocator({ base: 0, limit: 2 ** 20, grow: () => end });
    assertThrows(() => liar.malloc(2 ** 21), InternalError, `its owner gave ${end} as new end`);
  }
});

Deno.test("Allocator: resetPeak starts over at what is live", () => {
  const { allocator } = owner();
  const big = allocator.malloc(1_000_000);
  const small = allocator.malloc(64);
  allocator.free(big);
  assertEquals(allocator.stats().peak, 1_003_520 + 64);
  allocator.resetPeak();
  assertEquals(allocator.stats().peak, 64);
  allocator.free(small);
  assertEquals(allocator.stats().peak, 64);
});

interface Trace {
  readonly delay: number;
  readonly shuffle: boolean;
  readonly checkpoints: boolean;
}

/**
 * Allocations like those of a small CNN's training loop: parameters, then in each step activations and
 * gradients (some freed at once), freed as garbage some steps later; every 50th batch is smaller;
 * optimizer state comes with the first step; checkpoints of odd sizes come and go.
 * Returns what is reserved, and the peak, after each step.
 */
function train(allocator: Allocator, trace: Trace): { reserved: number; peak: number }[] {
  const next = random(11);
  const channels = [8, 16, 32, 64];
  const weights = channels.map((c) => c * c * 36);
  const parameters = weights.flatMap((w, i) => [w, channels[i] * 4]);
  const kept = parameters.map((bytes) => allocator.malloc(bytes));
  const checkpoints: number[] = [];
  const garbage: number[][] = [];
  const history: { reserved: number; peak: number }[] = [];
  for (let step = 0; step < 400; step++) {
    const batch = step % 50 === 49 ? 183 : 512;
    const block = (bytes: number) => allocator.malloc(bytes);
    const held: number[] = [];
    for (const c of channels) {
      const activation = batch * c * Math.floor(6272 / c);
      const scratch = block(activation + c * 512);
      held.push(block(activation), block(activation), block(c * 4), block(4));
      allocator.free(scratch);
    }
    for (const w of weights.toReversed()) held.push(block(w), block(batch * 4000), block(8));
    if (step === 0) parameters.forEach((bytes) => kept.push(block(bytes), block(bytes)));
    if (trace.checkpoints && step % 7 === 0) {
      checkpoints.push(block(1000 + Math.floor(next() * 100_000)));
      if (checkpoints.length > 10) {
        allocator.free(checkpoints.splice(Math.floor(next() * 10), 1)[0]);
      }
    }
    if (trace.shuffle) {
      for (let i = held.length - 1; i > 0; i--) {
        const j = Math.floor(next() * (i + 1));
        [held[i], held[j]] = [held[j], held[i]];
      }
    }
    garbage.push(held);
    if (garbage.length > trace.delay) garbage.shift()!.forEach((x) => allocator.free(x));
    history.push({ reserved: allocator.reserved, peak: allocator.stats().peak });
  }
  assertCoalesces(allocator, [...kept, ...checkpoints, ...garbage.flat()]);
  return history;
}

for (const delay of [0, 3]) {
  for (const shuffle of [false, true]) {
    for (const checkpoints of [false, true]) {
      const name = `garbage ${delay} steps old${shuffle ? ", shuffled" : ""}` +
        (checkpoints ? ", with checkpoints" : "");
      Deno.test(`Allocator: a training loop stays flat (${name})`, () => {
        const history = train(owner().allocator, { delay, shuffle, checkpoints });
        const end = history[history.length - 1];
        // Ten checkpoints are there after 70 steps; a leak of a page a step would show.
        assertEquals(end.reserved, history[100].reserved);
        assert(end.reserved <= 1.25 * end.peak, `${end.reserved} for a peak of ${end.peak}`);
      });
    }
  }
}
