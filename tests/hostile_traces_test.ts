/**
 * Traces that are long, wide or full of functions, with their gradients: right, without a deep stack, and in
 * kernels whose size has a bound, since compiling one takes longer than linearly. And bodies that throw.
 * Deliberately not here: what fusion makes of ordinary programs, which is in `fusion_test.ts`.
 *
 * @module
 */

import { assert, assertAlmostEquals, assertEquals, assertThrows } from "jsr:@std/assert@1";
import { isGradEnabled, noGrad, ones, type Tensor, tensor } from "../mod.ts";
import { exprSize } from "../core/compiler/draft.ts";
import { fuse } from "../core/compiler/fuse.ts";
import type { Graph } from "../core/ir/graph.ts";
import { composite, engine, type Operand } from "../core/op.ts";
import { Place } from "../core/place.ts";
import { op } from "../core/slots.ts";
import { backendOf } from "../backends/registry.ts";
import { targetOf } from "../core/engine/run.ts";
import { Tracer, tracing, withTracer } from "../core/engine/trace.ts";

type Body = (xs: readonly Tensor[]) => Tensor | Tensor[];

let made = 0;

/** Runs a body as one composite. */
function run(body: Body, ...xs: Tensor[]): Tensor[] {
  const own = composite({ name: `hostile${made++}`, body: (inputs) => body(inputs as Tensor[]) });
  return engine.callMany(own, xs as Operand[]);
}

function repeated(times: number, step: (x: Tensor) => Tensor): Body {
  return ([x]) => {
    let y = x;
    for (let i = 0; i < times; i++) y = step(y);
    return y;
  };
}

/** How much each kernel has to compute. */
function kernelSizes(body: Body, x: Tensor): number[] {
  const backend = backendOf(Place.of("cpu"));
  const tracer = new Tracer("sizes", backend);
  const input = tracer.input(x);
  const graph: Graph = withTracer(tracer, () => {
    const outputs = tracer.results(body([input]));
    tracer.graph.outputs = outputs.map((y) => y.impl.traced!);
    return tracer.graph;
  });
  const geometry = [{ strides: x.impl.strides, span: x.numel }];
  const { drafts } = fuse(graph, geometry, targetOf(backend), { liftNumbers: false });
  return drafts.flatMap((d) =>
    d.kind === "call"
      ? []
      : [exprSize(...d.outputs.map((o) => o.expr), ...d.stages.flatMap((s) => s.lift))]
  );
}

const shrink = (x: Tensor): Tensor => op.add(op.mul(x, 0.999), 0.001);
const center = (x: Tensor): Tensor => op.sub(x, op.mul(op.mean(x, [1], { keepdim: true }), 0.01));
const turn = (x: Tensor): Tensor => op.where(op.greaterThan(x, 0.5), op.sin(x), op.cos(x));

Deno.test("long traces come in kernels of bounded size", () => {
  const x = ones([10, 10]);
  const bodies = {
    shrink: repeated(2000, shrink),
    center: repeated(300, center),
    turn: repeated(200, turn),
  };
  for (const [name, body] of Object.entries(bodies)) {
    const sizes = kernelSizes(body, x);
    assert(sizes.length > 3, name);
    assert(Math.max(...sizes) < 5000, `${name}: ${Math.max(...sizes)}`);
  }
});

Deno.test("long chains are right, and so are their gradients", () => {
  const cases: [Body, number, number][] = [
    [repeated(2000, shrink), 1, 0.999 ** 2000],
    [repeated(300, center), 0.99 ** 300, 0.99 ** 300],
  ];
  for (const [body, value, gradient] of cases) {
    const x = tensor([[1, 1], [1, 1]], { dtype: "float64", requiresGrad: true });
    const [y] = run(body, x);
    y.sum().backward();
    for (const [t, expected] of [[y, value], [x.grad!, gradient]] as const) {
      for (const v of t.dataSync()) assertAlmostEquals(Number(v), expected, 1e-11);
    }
  }
});

Deno.test("a chain of choices among functions is that of its steps", () => {
  const x = tensor([0.1, 0.4, 0.6, 2], { dtype: "float64", requiresGrad: true });
  const [y] = run(repeated(60, turn), x);
  y.sum().backward();
  const z = tensor([0.1, 0.4, 0.6, 2], { dtype: "float64", requiresGrad: true });
  let w: Tensor = z;
  for (let i = 0; i < 60; i++) w = turn(w);
  w.sum().backward();
  for (const [a, b] of [[y, w], [x.grad!, z.grad!]]) {
    const [got, expected] = [a.dataSync(), b.dataSync()];
    got.forEach((v, i) => assertAlmostEquals(Number(v), Number(expected[i]), 1e-12));
  }
});

Deno.test("hundreds of operands and of results", () => {
  const xs = Array.from({ length: 500 }, (_, i) => tensor([i, 1], { requiresGrad: true }));
  const [total] = run((all) => all.reduce((a, b) => op.add(a, b)), ...xs);
  total.sum().backward();
  assertEquals(total.toArraySync(), [124750, 500]);
  assertEquals(xs[499].grad!.toArraySync(), [1, 1]);

  const x = tensor([1, 2], { requiresGrad: true });
  const many = run(([a]) => Array.from({ length: 300 }, (_, i) => op.mul(a, i)), x);
  many[299].sum().backward();
  assertEquals([many[7].toArraySync(), x.grad!.toArraySync()], [[7, 14], [299, 299]]);
});

Deno.test("a trace longer than the stack is deep is differentiated", () => {
  const x = tensor([[1, 0], [0, 1]], { dtype: "float64", requiresGrad: true });
  const [y] = run(repeated(12000, (z) => op.cumsum(z, 0).mul(0.5)), x);
  assertEquals(y.requiresGrad, true);
});

Deno.test("a body that throws leaves neither a trace nor another mode behind", () => {
  const boom: Body = ([x]) => {
    op.mul(x, 2);
    throw new RangeError("mine");
  };
  for (const grad of [true, false]) {
    const x = tensor([1], { requiresGrad: grad });
    assertThrows(() => run(boom, x), RangeError, "mine");
    assertThrows(() => noGrad(() => run(boom, x)), RangeError, "mine");
    assertEquals([tracing(), isGradEnabled()], [null, true]);
    const hooked: Body = ([a]) => {
      const b = op.mul(a, a);
      if (grad) {
        b.registerHook(() => {
          throw new RangeError("hook");
        });
      }
      return b;
    };
    if (grad) assertThrows(() => run(hooked, x), RangeError, "hook");
    assertEquals([tracing(), isGradEnabled()], [null, true]);
    assertEquals(x.add(1).toArraySync(), [2]);
  }
});
