/**
 * Layers that refer to themselves, lie very deep, share parts or are half made, and states that are none.
 * Deliberately not here: what layers compute.
 *
 * @module
 */

import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import { nn, type Tensor, tensor, ValueError } from "../mod.ts";

class Holder extends nn.Layer {
  inner: unknown;
  constructor(inner?: unknown) {
    super();
    this.inner = inner;
  }
  override forward(x: Tensor): Tensor {
    return x;
  }
}

/** What a program without a type check may pass. */
function wrong<T>(x: unknown): T {
  return x as T;
}

Deno.test("layers that contain themselves are walked once and printed", () => {
  const self = new Holder();
  self.inner = self;
  assertEquals([self.parameters(), self.stateDict(), String(self)], [[], {}, "Holder()"]);

  const [a, b] = [new Holder(), new Holder()];
  a.inner = b;
  b.inner = { list: [a, new nn.Linear(1, 1)], map: new Map<string, unknown>([["back", a]]) };
  assertEquals(Object.keys(a.stateDict()), [
    "inner.inner.list.1.weight",
    "inner.inner.list.1.bias",
  ]);
  assertEquals(b.parameters().length, 2);
  const inB = "Holder(\n  (inner.list.0): Holder(\n    (inner): Holder(…)\n  )\n";
  assertEquals(String(b).startsWith(inB), true, String(b));
  assertEquals(a.call(tensor([1])).toArraySync(), [1]);
});

Deno.test("layers ten thousand deep are walked", () => {
  let layer: nn.Layer = new nn.Linear(1, 1);
  for (let i = 0; i < 10000; i++) layer = new Holder([layer]);
  assertEquals(layer.parameters().length, 2);
  layer.eval();
  assertEquals(String(layer).includes("Holder(…)"), true);
});

Deno.test("a shared layer has its parameters once and its state under the first name", () => {
  const shared = new nn.Linear(2, 2);
  const model = new nn.Sequential(shared, new Holder(shared));
  assertEquals(model.parameters().length, 2);
  assertEquals(Object.keys(model.stateDict()), ["0.weight", "0.bias"]);
  assertEquals(model.setStateDict(model.stateDict()), { missing: [], unexpected: [] });
});

Deno.test("a class without forward, and states that are none, are refused by name", () => {
  class Half extends nn.Layer {
    override forward = wrong<(x: Tensor) => Tensor>(undefined);
  }
  assertThrows(
    () => new Half().call(tensor([1])),
    ValueError,
    "Cannot call Half: it has no forward; write forward(x) {…} in the class",
  );
  const layer = new nn.Linear(1, 1);
  for (const state of [null, undefined, 3, "weights"]) {
    assertThrows(
      () => layer.setStateDict(wrong(state)),
      ValueError,
      "Cannot setStateDict of Linear: it takes an object of tensors by name",
    );
  }
  assertThrows(() => layer.setStateDict({}, wrong(false)), ValueError, "options are an object");
});
