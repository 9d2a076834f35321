/**
 * What users' own code may do to a gradient walk: functions of one's own, hooks and arguments that misbehave,
 * leaves that change on the way. Each is refused by name or does the right thing, and leaves recording as it was.
 * Deliberately not here: gradients of ops.
 *
 * @module
 */

import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import {
  customFunction,
  enableGrad,
  grad,
  GradError,
  isGradEnabled,
  noGrad,
  ones,
  PlaceError,
  type PlesioError,
  type Tensor,
  tensor,
  ValueError,
} from "../mod.ts";

type ErrorClass = new (message: string) => PlesioError;

const leaf = (): Tensor => tensor([1, 2], { requiresGrad: true });

/** What a program without a type check may pass. */
function wrong<T>(x: unknown): T {
  return x as T;
}

/** Throws the error, whose message contains the text, and leaves recording on. */
function refuses(act: () => unknown, error: ErrorClass, text: string): void {
  assertThrows(act, error, text);
  assertEquals(isGradEnabled(), true);
}

/** A function whose backward gives what it is told, used once and walked back through. */
function backwardGiving(back: unknown): Tensor {
  const f = customFunction<[Tensor]>({
    name: "own",
    forward: (_ctx, x) => x.mul(2),
    backward: () => wrong(back),
  });
  const x = leaf();
  (f(x) as Tensor).sum().backward();
  return x;
}

Deno.test("gradients that are none are refused with the function's name", () => {
  const cases: [unknown, ErrorClass, string][] = [
    [undefined, GradError, "each of the 1 inputs: got undefined"],
    [3, GradError, "each of the 1 inputs: got 3"],
    [[], GradError, "each of the 1 inputs: got 0"],
    [Promise.resolve(1), GradError, "each of the 1 inputs: got a value of kind Promise"],
    [[3], GradError, "Cannot use the gradient of own: it must be a tensor or null: got 3"],
    [[[1, 2]], GradError, "it must be a tensor or null: got an array"],
    [ones([7]), GradError, "an operand of shape [2] does not broadcast to it"],
    [ones([]), GradError, "an operand of shape [2] does not broadcast to it"],
    [ones([2], { place: "ref" }), PlaceError, "it must be on cpu, where the operand is: got ref"],
  ];
  for (const [back, error, text] of cases) refuses(() => backwardGiving(back), error, text);
  assertEquals(backwardGiving(null).grad, null);
  const wide = backwardGiving(ones([5, 2], { dtype: "float64" })).grad!;
  assertEquals([wide.toArraySync(), wide.dtype], [[5, 5], "float32"], "summed and cast to fit");
  assertEquals(backwardGiving(tensor([NaN, -Infinity])).grad!.toArraySync(), [NaN, -Infinity]);
});

Deno.test("a forward gives tensors, at once", () => {
  const forwards: [unknown, string][] = [
    [undefined, "got undefined"],
    [3, "got 3"],
    [[3], "got 3"],
    [Promise.resolve(1), "got a value of kind Promise"],
  ];
  for (const [given, text] of forwards) {
    const f = customFunction<[Tensor]>({ forward: () => wrong(given), backward: (_c, g) => g });
    refuses(() => f(leaf()), ValueError, text);
    refuses(() => noGrad(() => f(leaf())), ValueError, text);
  }
  refuses(
    () => customFunction<[Tensor]>(wrong({ forward: () => 1 })),
    ValueError,
    "Cannot customFunction: backward must be a function: got undefined",
  );
  refuses(() => customFunction<[Tensor]>(wrong(() => 1)), ValueError, "options are an object");
  const saving = customFunction<[Tensor]>({
    forward(ctx, x) {
      ctx.saveForBackward(x, wrong(3));
      return x.mul(2);
    },
    backward: (_c, g) => g,
  });
  refuses(() => saving(leaf()), ValueError, "Cannot saveForBackward: operands must be tensors");
});

Deno.test("a hook gives a tensor like the gradient, or nothing", () => {
  const walked = (hook: unknown): Tensor => {
    const x = leaf();
    const y = x.mul(2);
    y.registerHook(wrong(hook));
    y.sum().backward();
    return x;
  };
  const seen: Tensor[] = [];
  refuses(
    () => walked((g: Tensor) => seen.push(g)),
    GradError,
    "Cannot use what a hook on a result of mul gave: it must be a tensor or nothing: got 1; " +
      "put its body in braces",
  );
  for (const given of [null, "x", [], Promise.resolve()]) {
    refuses(() => walked(() => given), GradError, "it must be a tensor or nothing");
  }
  refuses(() => walked(() => ones([3])), GradError, "it must be like the gradient");
  refuses(() => walked(3), ValueError, "Cannot registerHook: it takes a function: got 3");
  assertEquals(walked(() => {}).grad!.toArraySync(), [2, 2]);
});

Deno.test("what is thrown in a hook or a function of one's own comes out as it is", () => {
  const boom = () => {
    throw new RangeError("mine");
  };
  const parts: (() => unknown)[] = [
    () => (customFunction<[Tensor]>({ forward: boom, backward: (_c, g) => g }))(leaf()),
    () => {
      const f = customFunction<[Tensor]>({ forward: (_c, x) => x.mul(2), backward: boom });
      (f(leaf()) as Tensor).sum().backward();
    },
    () => {
      const y = leaf().mul(2);
      y.registerHook(boom);
      y.sum().backward();
    },
  ];
  for (const part of parts) {
    assertThrows(part, RangeError, "mine");
    assertEquals(isGradEnabled(), true);
    const x = leaf();
    x.mul(3).sum().backward();
    assertEquals(x.grad!.toArraySync(), [3, 3], "the next walk is as ever");
  }
});

Deno.test("a hook may walk back through another graph", () => {
  const x = leaf();
  const w = tensor([3], { requiresGrad: true });
  const y = x.mul(2);
  y.registerHook(() => enableGrad(() => w.mul(w).sum().backward()));
  y.sum().backward();
  assertEquals([x.grad!.toArraySync(), w.grad!.toArraySync()], [[2, 2], [6]]);
});

Deno.test("backward and grad say what they were given where it was no tensor", () => {
  const x = leaf();
  const y = x.mul(2);
  const text = "operands must be tensors";
  refuses(() => y.backward(wrong([1, 1])), ValueError, `Cannot backward: ${text}: got an array`);
  refuses(() => grad([wrong(3)], [x]), ValueError, `Cannot grad: ${text}: got 3`);
  refuses(() => grad(y.sum(), wrong(undefined)), ValueError, `Cannot grad: ${text}`);
  refuses(() => grad(y.sum(), [wrong(null)]), ValueError, `Cannot grad: ${text}`);
  refuses(() => grad(y.sum(), x, wrong(null)), ValueError, "options are an object");
  refuses(() => grad(y, x, { gradOutputs: [wrong(1)] }), ValueError, text);
  refuses(
    () => y.backward(ones([2], { place: "ref" })),
    PlaceError,
    "Cannot backward from a tensor on cpu with a gradient on ref",
  );
  assertEquals(grad([], []), []);
  y.backward(ones([2]));
  assertEquals(x.grad!.toArraySync(), [2, 2], "what was refused has used nothing up");
});

Deno.test("a leaf that is frozen after its use gets no gradient", () => {
  const [x, w] = [leaf(), leaf()];
  const y = x.mul(w).sum();
  x.requiresGrad = false;
  y.backward();
  assertEquals([x.grad, w.grad!.toArraySync()], [null, [1, 2]]);
  refuses(() => x.requiresGrad = wrong("yes"), ValueError, "it is true or false");
});
