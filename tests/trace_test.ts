// Tracing: what a body may and may not do, and what outside tensors are told. Calls in general are in
// dispatch_test.ts.
import { assertEquals, assertRejects, assertThrows } from "jsr:@std/assert@1";
import { DTypeError, ShapeError, type Tensor, tensor, TraceError } from "../mod.ts";

import { anonymousComposite, type CompositeOp, engine, type Operand } from "../core/op.ts";

const values = (x: Tensor) => x.toArraySync();
let count = 0;
/** A composite of a body. */
const traced = (body: (...xs: Tensor[]) => Tensor | Tensor[]) =>
  anonymousComposite(`traced${count++}`, (xs) => body(...xs as Tensor[]));
const run = (body: (...xs: Tensor[]) => Tensor | Tensor[], ...xs: Operand[]) =>
  engine.call(traced(body), xs);

// --- traces ------------------------------------------------------------------------------------------

Deno.test("a traced tensor has no values to be read", async () => {
  const x = tensor([1, 2]);
  const pending: Promise<unknown>[] = [];
  const read: [string, (x: Tensor) => unknown][] = [
    ["data", (x) => pending.push(x.data())],
    ["item", (x) => pending.push(x.item())],
    ["toArray", (x) => pending.push(x.toArray())],
    ["dataSync", (x) => x.dataSync()],
    ["itemSync", (x) => x.itemSync()],
    ["toArraySync", (x) => x.toArraySync()],
    ["to", (x) => x.to("ref")],
  ];
  for (const [name, use] of read) {
    const f = () =>
      run((a) => {
        use(a);
        return a.add(1);
      }, x);
    if (/^(data|item|toArray)$/.test(name)) {
      f();
      await assertRejects(() => pending.pop()!, TraceError, "while tracing: it has no value yet");
    } else assertThrows(f, TraceError, "while tracing: it has no value yet");
  }
  assertEquals(values(x.add(1)), [2, 3], "calls afterwards are not traced");
});

Deno.test("tensors from outside are refused in a trace, numbers are not", () => {
  const x = tensor([1, 2]);
  const outside = tensor([10, 20]);
  assertThrows(
    () => run((a) => a.add(outside), x),
    TraceError,
    "Cannot use an outside tensor as operand 1 of add while tracing",
  );
  assertThrows(() => run((a) => outside.add_(a), x), TraceError, "Cannot change an outside tensor");
  assertThrows(() => run((a) => (outside.reshape([2, 1]), a)), TraceError);
  assertEquals(values(run((a) => a.add(outside.numel), x)), [3, 4]);
});

Deno.test("a traced tensor that got out is refused outside", () => {
  let leaked!: Tensor;
  run((a) => leaked = a.add(1), tensor([1, 2]));
  assertThrows(() => leaked.add(1), TraceError, "outside of its trace");
  assertThrows(() => leaked.reshape([2, 1]), TraceError, "outside of its trace");
  assertThrows(() => tensor([1, 2]).add(leaked), TraceError);
  assertThrows(() => tensor([1, 2]).add_(leaked), TraceError);
  assertThrows(() => leaked.dataSync(), TraceError);
  assertThrows(() => run((a) => a.add(leaked), tensor([1, 2])), TraceError, "another trace");
});

Deno.test("an error in a body ends the trace", () => {
  const x = tensor([1, 2]);
  assertThrows(
    () =>
      run(() => {
        throw new RangeError("out");
      }, x),
    RangeError,
  );
  assertThrows(() => run((a) => a.add(tensor([1, 2, 3])), x));
  assertThrows(() => run((a) => a.matmul(a.reshape([1, 2])), x), ShapeError, "matmul");
  assertEquals(values(x.add(1)), [2, 3]);
});

Deno.test("a body must give tensors, at once", () => {
  const x = tensor([1, 2]);
  const wrong = (body: unknown) => () =>
    engine.call(anonymousComposite("wrong", body as CompositeOp["body"]), [x]);
  assertThrows(wrong(() => 5), TraceError, "its body must give tensors");
  assertThrows(wrong(() => undefined), TraceError, "its body must give tensors");
  assertThrows(
    wrong(async (xs: Tensor[]) => await xs[0].add(1)),
    TraceError,
    "its body must give tensors",
  );
  assertThrows(wrong(() => x), TraceError, "an outside tensor as a result");
});

Deno.test("a body may give its input, a view of it, and one tensor twice", () => {
  const x = tensor([[1, 2], [3, 4]]);
  const both = traced((a) => {
    const y = a.mul(2);
    return [a, a.T, y, y, y.T, y.at(0)];
  });
  const outs = engine.callMany(both, [x]);
  assertEquals(outs.map(values), [
    [[1, 2], [3, 4]],
    [[1, 3], [2, 4]],
    [[2, 4], [6, 8]],
    [[2, 4], [6, 8]],
    [[2, 6], [4, 8]],
    [2, 4],
  ]);
});

Deno.test("in-place changes in a body are of its own values, and checked", () => {
  const x = tensor([1, 2]);
  const y = run((a) => {
    const b = a.mul(2);
    const c = b.add(0);
    b.add_(10);
    return b.mul(c);
  }, x);
  assertEquals([values(y), values(x)], [[24, 56], [1, 2]]);
  const whole = tensor([1, 2], { dtype: "int32" });
  assertThrows(
    () => run((a) => a.mul(1).add_(0.5), whole),
    DTypeError,
    "Cannot add in place on int32",
  );
  assertThrows(
    () => run((a) => a.mul(1).add_(a.reshape([2, 1])), x),
    ShapeError,
    "Cannot add in place on [2]: the result has shape [2, 2]",
  );
});

Deno.test("views in a trace are never silently out of date", () => {
  const x = tensor([[1, 2], [3, 4]]);
  const early = (a: Tensor) => {
    const b = a.mul(2);
    const row = b.at(0).unsqueeze(0);
    b.add_(1);
    return row.add(0);
  };
  assertThrows(() => run(early, x), TraceError, "take the view again");
  assertThrows(
    () => run((a) => (a.mul(2).at(0).add_(1), a), x),
    TraceError,
    "Cannot change a view in place by add while tracing",
  );
  const late = run((a) => {
    const b = a.mul(2);
    b.at(0);
    b.add_(1);
    b.setAt([0, 0], 100);
    return b.at(0);
  }, x);
  assertEquals(values(late), [100, 5]);
});
