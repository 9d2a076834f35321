import { assertEquals, assertRejects, assertThrows } from "jsr:@std/assert@1";
import { type AsyncLocal, asyncLocal, stackLocal } from "./async_local.ts";

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

async function lastsUntilItEnds(local: AsyncLocal<string>): Promise<void> {
  assertEquals(local.get(), undefined);
  local.run("a", () => {
    assertEquals(local.get(), "a");
    assertEquals(local.run("b", () => local.get()), "b");
    assertEquals(local.get(), "a");
  });
  assertEquals(local.get(), undefined);
  assertThrows(() => {
    local.run("a", () => {
      throw new RangeError("out");
    });
  }, RangeError);
  assertEquals(local.get(), undefined);
  const inside = await local.run("a", async () => {
    const before = local.get();
    await pause(1);
    return [before, local.get()];
  });
  assertEquals([inside, local.get()], [["a", "a"], undefined]);
  const thrown = local.run("a", async () => {
    await pause(1);
    throw new RangeError("out");
  });
  await assertRejects(() => thrown, RangeError);
  assertEquals(local.get(), undefined);
}

Deno.test("an async-local value lasts until its function ends", () =>
  lastsUntilItEnds(asyncLocal()));

Deno.test("without the platform's class it lasts as long", () => lastsUntilItEnds(stackLocal()));

Deno.test("async functions that overlap have values of their own", async () => {
  const local = asyncLocal<string>();
  const order: (string | undefined)[] = [];
  const read = async (...times: number[]): Promise<void> => {
    for (const ms of times) {
      await pause(ms);
      order.push(local.get());
    }
  };
  await Promise.all([
    local.run("a", () => read(0, 20)),
    local.run("b", () => read(10)),
    read(0, 30),
  ]);
  assertEquals(order, ["a", undefined, "b", "a", undefined]);
});

Deno.test("without the platform's class, overlapping ends leave nothing behind", async () => {
  const local = stackLocal<string>();
  const first = local.run("a", () => pause(1));
  const second = local.run("b", () => pause(10));
  assertEquals(local.get(), "b");
  await first;
  assertEquals(local.get(), "b");
  await second;
  assertEquals(local.get(), undefined);
});
