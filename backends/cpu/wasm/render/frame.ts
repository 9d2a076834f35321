// The numbers of a launch as nodes, and loops over domain axes that move the buffers' pointers.
// Not here: what is computed inside the loops.
import type { Kernel, StrideClass } from "../../../../core/ir/kernel.ts";
import type { Expr } from "../../../../core/ir/expr.ts";
import { DTYPES } from "../../../../core/dtype.ts";
import type { Code, Node, Variable } from "./code.ts";
import { type Choice, findChoices } from "./lazy.ts";
import type { LaunchLayout } from "./layout.ts";
import { SCALAR_TYPE } from "./scalar.ts";

/** Where a piece of code is: the address of every buffer and the coordinates known so far. */
export interface Place {
  readonly pointers: readonly Node[];
  /** One per domain axis, of pointer width; those not entered are missing. */
  readonly coords: readonly (Node | undefined)[];
}

/** One way of walking along an axis: `step` points at a time, as long as that many are left. */
export interface Walk {
  readonly step: number;
  readonly body: (place: Place) => void;
  /** Takes the walk in blocks of this many points, with something to do before and after each. */
  readonly block?: {
    readonly points: number;
    readonly open: () => void;
    readonly close: () => void;
  };
}

/** Where a loop over an axis begins and ends when that is not the whole axis. */
export interface Range {
  readonly from?: Node;
  readonly to?: Node;
}

/** Access to the launch parameters of a kernel in one function. */
export class Frame {
  readonly code: Code;
  readonly kernel: Kernel;
  readonly #choices = new Map<readonly Expr[], ReadonlyMap<Expr, Choice>>();
  readonly #layout: LaunchLayout;
  readonly #params: Node;

  constructor(code: Code, kernel: Kernel, layout: LaunchLayout, params: Node) {
    this.code = code;
    this.kernel = kernel;
    this.#layout = layout;
    this.#params = params;
  }

  /**
   * Choices among expressions that are evaluated together, of which one side is skipped where no
   * lane takes it. What is evaluated elsewhere may need results and loads that are not there.
   */
  choicesIn(roots: readonly Expr[]): ReadonlyMap<Expr, Choice> {
    let found = this.#choices.get(roots);
    if (found === undefined) this.#choices.set(roots, found = findChoices(roots));
    return found;
  }

  #word(at: number): Node {
    return this.code.load(`${this.code.ptr}.load`, this.#params, at);
  }

  get #wordBytes(): number {
    return this.code.ptr === "i64" ? 8 : 4;
  }

  /** The size of a domain axis, of pointer width. */
  size(axis: number): Node {
    return this.#word(this.#layout.sizes + axis * this.#wordBytes);
  }

  /** A run-time scalar, in its scalar type. */
  arg(index: number): Node {
    return this.code.load(`${SCALAR_TYPE[this.kernel.args[index]]}.load`, this.#params, index * 8);
  }

  /** The address of a buffer's first element. */
  base(buffer: number): Node {
    return this.#word(this.#layout.buffers[buffer].at);
  }

  /** A stride in bytes as the launch gives it. */
  ownStride(buffer: number, axis: number): Node {
    return this.#word(this.#layout.buffers[buffer].at + (1 + axis) * this.#wordBytes);
  }

  /** Input or output number `buffer`, outputs after inputs. */
  buffer(buffer: number): Kernel["inputs"][number] | Kernel["outputs"][number] {
    const { inputs, outputs } = this.kernel;
    return buffer < inputs.length ? inputs[buffer] : outputs[buffer - inputs.length];
  }

  /** How a buffer moves along a domain axis, as far as the kernel says. */
  strideClass(buffer: number, axis: number): StrideClass {
    const { outerRank, innerRank } = this.kernel;
    const b = this.buffer(buffer);
    if (axis === outerRank - 1) return b.outer;
    return axis === outerRank + innerRank - 1 ? b.inner : "any";
  }

  /** The stride of a buffer along a domain axis, in bytes. */
  stride(buffer: number, axis: number): Node {
    switch (this.strideClass(buffer, axis)) {
      case "unit":
        return this.code.ptrConst(DTYPES[this.buffer(buffer).dtype].bytes);
      case "zero":
        return this.code.ptrConst(0);
      case "any":
        return this.ownStride(buffer, axis);
    }
  }

  /**
   * Walks along a domain axis, one way after the other, moving the pointers of the buffers named.
   */
  walk(
    place: Place,
    axis: number,
    buffers: Iterable<number>,
    walks: readonly Walk[],
    range: Range = {},
  ): void {
    const { code } = this;
    const from = range.from ?? code.ptrConst(0);
    const size = range.to ?? this.size(axis);
    const counter = code.variable(code.ptr);
    code.set([counter], [from]);
    const moving: { buffer: number; variable: Variable; stride: Node }[] = [];
    for (const buffer of buffers) {
      if (this.strideClass(buffer, axis) === "zero") continue;
      const variable = code.variable(code.ptr);
      const stride = this.stride(buffer, axis);
      const start = code.ptrOp("add", place.pointers[buffer], this.times(stride, from));
      code.set([variable], [start]);
      moving.push({ buffer, variable, stride });
    }
    for (const { step, body, block } of walks) {
      const round = (): void => {
        const pointers = [...place.pointers];
        for (const m of moving) pointers[m.buffer] = code.read(m.variable);
        const coords = [...place.coords];
        coords[axis] = code.read(counter);
        body({ pointers, coords });
        const distance = code.ptrConst(step);
        for (const m of moving) {
          const by = this.times(m.stride, distance);
          code.set([m.variable], [code.ptrOp("add", code.read(m.variable), by)]);
        }
        code.set([counter], [code.ptrOp("add", code.read(counter), distance)]);
      };
      const limit = code.ptrOp("sub", size, code.ptrConst(step - 1));
      if (block === undefined) {
        code.loop(counter, limit, round);
        continue;
      }
      code.loop(counter, limit, () => {
        const end = code.variable(code.ptr);
        const full = code.ptrOp("add", code.read(counter), code.ptrConst(block.points));
        const within = code.ptrOp("lt_s", full, limit);
        code.set([end], [code.op("select", full, limit, within)]);
        block.open();
        code.loop(counter, code.read(end), round);
        block.close();
      });
    }
  }

  /** Walks every point of several axes, the last one innermost. */
  nest(
    place: Place,
    axes: readonly number[],
    buffers: readonly number[],
    body: (place: Place) => void,
  ): void {
    if (axes.length === 0) return body(place);
    const [axis, ...rest] = axes;
    this.walk(place, axis, buffers, [{
      step: 1,
      body: (inside) => this.nest(inside, rest, buffers, body),
    }]);
  }

  /** The product of two pointer-width numbers. */
  times(a: Node, b: Node): Node {
    return this.code.ptrOp("mul", a, b);
  }
}
