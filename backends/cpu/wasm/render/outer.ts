// The loops over outer points, with the stages inside. Not here: loops over inner axes.
import type { Node } from "./code.ts";
import type { Frame, Place, Range } from "./frame.ts";
import { planKernel } from "./plan.ts";
import { type Lanes, SINGLE } from "./point.ts";
import { writeStages } from "./stages.ts";

/** Points of the last axis that a strip takes where a buffer is read or written crosswise. */
const STRIP = 16;
/** Bytes between neighbours from which on a buffer counts as crosswise. */
const FAR = 64;

/** Writes a whole kernel for coordinates `begin` to `end` of axis 0. */
export function writeOuter(frame: Frame, begin: Node, end: Node): void {
  const { code, kernel } = frame;
  let some = code.op(`${code.ptr}.lt_s`, begin, end);
  for (let axis = 1; axis < kernel.outerRank; axis++) {
    some = code.op("i32.and", some, code.ptrOp("lt_s", code.ptrConst(0), frame.size(axis)));
  }
  // Inside the condition, so that nothing is loaded where there is nothing to do.
  code.when(some, () => {
    const pointers = [...kernel.inputs, ...kernel.outputs].map((_, b) => {
      const base = code.variable(code.ptr);
      code.set([base], [frame.base(b)]);
      return code.read(base);
    });
    const start = { pointers, coords: [] };
    if (kernel.outerRank > 0) writeAxes(frame, start, { from: begin, to: end });
    else writeStages(frame, start, [SINGLE], kernel.innerRank > 0);
  });
}

/** The buffers that follow the domain. */
function followers(frame: Frame): number[] {
  const { inputs, outputs } = frame.kernel;
  return [...inputs, ...outputs].flatMap((b, i) =>
    "gatherRank" in b && b.gatherRank !== undefined ? [] : [i]
  );
}

function writeAxes(frame: Frame, start: Place, rows: Range): void {
  const buffers = followers(frame);
  const { across, copies } = planKernel(frame.kernel);
  const last = frame.kernel.outerRank - 1;
  const groups = (count: number): Lanes[] =>
    Array.from({ length: count }, (_, copy) => ({ axis: last, copy }));
  const stages = (step: number, lanes: Lanes[]) => ({
    step,
    body: (place: Place) => writeStages(frame, place, lanes, !across),
  });
  const walks = [stages(1, [SINGLE])];
  if (across && copies > 0) walks.unshift(stages(4, groups(1)));
  if (across && copies > 1) walks.unshift(stages(4 * copies, groups(copies)));
  const level = (axis: number, place: Place): void => {
    const range = axis === 0 ? rows : {};
    if (axis === last) return frame.walk(place, axis, buffers, walks, range);
    const crosswise = axis === last - 1 && frame.kernel.innerRank === 0
      ? buffers.filter((b) => frame.strideClass(b, last) === "any")
      : [];
    if (crosswise.length === 0) {
      frame.walk(place, axis, buffers, [{ step: 1, body: (p) => level(axis + 1, p) }], range);
      return;
    }
    inStrips(frame, crosswise, (strip) => {
      const body = (p: Place): void => frame.walk(p, last, buffers, walks, strip);
      frame.walk(place, axis, buffers, [{ step: 1, body }], range);
    });
  };
  level(0, start);
}

/**
 * Cuts the last axis into strips, each taken through the axis before it, so that what a buffer
 * with far neighbours along the last axis brings into the cache is used while it is there.
 */
function inStrips(frame: Frame, crosswise: readonly number[], body: (strip: Range) => void): void {
  const { code, kernel } = frame;
  const last = kernel.outerRank - 1;
  const size = frame.size(last);
  const magnitude = (x: Node): Node =>
    code.op(
      "select",
      code.ptrOp("sub", code.ptrConst(0), x),
      x,
      code.ptrOp("lt_s", x, code.ptrConst(0)),
    );
  const far = crosswise.map((b) => {
    const stride = magnitude(frame.stride(b, last));
    const nearer = magnitude(frame.stride(b, last - 1));
    return code.op(
      "i32.and",
      code.ptrOp("lt_s", nearer, stride),
      code.ptrOp("lt_s", code.ptrConst(FAR - 1), stride),
    );
  }).reduce((a, b) => code.op("i32.or", a, b));
  const strip = code.op("select", code.ptrConst(STRIP), size, far);
  const counter = code.variable(code.ptr);
  code.set([counter], [code.ptrConst(0)]);
  code.loop(counter, size, () => {
    const from = code.read(counter);
    const next = code.ptrOp("add", from, strip);
    const within = code.ptrOp("lt_s", next, size);
    body({ from, to: code.op("select", next, size, within) });
    code.set([counter], [code.ptrOp("add", code.read(counter), strip)]);
  });
}
