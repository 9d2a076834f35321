// One point of the domain, or four neighbours: what the leaves of an expression read there, and the
// memory of what is already computed. Not here: the loops around, the ops (scalar.ts, vector.ts).
import { type ComputeType, DTYPES } from "../../../../core/dtype.ts";
import { InternalError } from "../../../../core/errors.ts";
import type { Expr } from "../../../../core/ir/expr.ts";
import type { Code, Node, StoreItem } from "./code.ts";
import { Cell, setCells } from "./cell.ts";
import type { Frame, Place } from "./frame.ts";
import type { Choice } from "./lazy.ts";
import { constantNode, emitScalar } from "./scalar.ts";
import {
  isScalar,
  loadLanes,
  loadScalar,
  loadUnit,
  storeLanes,
  storeScalar,
  storeUnit,
  type Value,
} from "./storage.ts";
import {
  anyLane,
  emitVector,
  extract,
  narrowMask,
  selectValue,
  splatValue,
  type VectorScope,
} from "./vector.ts";

/** Which points a {@linkcode Point} stands for. */
export interface Lanes {
  /** The domain axis along which four lanes lie; -1 for a single point. */
  readonly axis: number;
  /** Which group of four, counted from the place. */
  readonly copy: number;
}

/** A single point. */
export const SINGLE: Lanes = { axis: -1, copy: 0 };

/** Values that leaves name. */
export interface Surroundings {
  /** Results of the stages that have run, for this outer point or these. */
  readonly results: readonly (readonly Value[] | undefined)[];
  readonly left?: readonly Value[];
  readonly right?: readonly Value[];
}

const NO_CHOICES: ReadonlyMap<Expr, Choice> = new Map();

/** Evaluates expressions at a place. */
export class Point implements VectorScope {
  readonly code: Code;
  readonly #frame: Frame;
  readonly #place: Place;
  readonly #lanes: Lanes;
  readonly #around: Surroundings;
  #values = new Map<Expr, Value>();
  #choices: ReadonlyMap<Expr, Choice> = NO_CHOICES;
  readonly #uniform = new Map<Expr, boolean>();

  constructor(frame: Frame, place: Place, lanes: Lanes, around: Surroundings) {
    this.code = frame.code;
    this.#frame = frame;
    this.#place = place;
    this.#lanes = lanes;
    this.#around = around;
  }

  /** Tells which expressions are to be evaluated here, so that their costly sides are skipped together. */
  expect(roots: readonly Expr[]): this {
    this.#choices = this.#frame.choicesIn(roots);
    return this;
  }

  /** The values of expressions in the form of this point. */
  all(roots: readonly Expr[]): Value[] {
    this.expect(roots);
    return roots.map((e) => this.full(e));
  }

  /** The value of an expression: a scalar if it is the same at all points. */
  value(e: Expr): Value {
    const known = this.#values.get(e);
    if (known !== undefined) return known;
    const choice = this.#choices.get(e);
    if (choice !== undefined && this.#choose(choice)) return this.#values.get(e)!;
    const value = this.isUniform(e)
      ? [emitScalar(this, e, e.args.map((a) => this.scalar(a)))]
      : emitVector(this, e);
    this.#values.set(e, value);
    return value;
  }

  /**
   * Computes the members of a choice, the costly side only if a lane takes it. Refuses where they
   * may be computed outside of the loop.
   */
  #choose({ condition, members, side }: Choice): boolean {
    const { code } = this;
    const lanes = this.#lanes.axis >= 0;
    if (lanes && this.isUniform(condition)) return false;
    const mask = this.value(condition);
    if (!mask.every((m) => code.isInnermost(m))) return false;
    const usual = members.map((m) => this.full(m.args[3 - side]));
    const cells = members.map((m) => new Cell(code, m.dtype, lanes));
    setCells(code, cells, usual);
    code.guard(anyLane(code, mask, side === 1), () => {
      // What is computed in here is not known outside.
      const outside = this.#values;
      this.#values = new Map(outside);
      const costly = members.map((m) => this.full(m.args[side]));
      const chosen = members.map((m, i) => {
        const [yes, no] = side === 1 ? [costly[i], usual[i]] : [usual[i], costly[i]];
        return selectValue(code, m.dtype, mask, yes, no);
      });
      setCells(code, cells, chosen);
      this.#values = outside;
    });
    members.forEach((m, i) => this.#values.set(m, cells[i].read()));
    return true;
  }

  scalar(e: Expr): Node {
    const [x] = this.value(e);
    if (x.type === "v128") throw new InternalError(`Cannot take ${e.op} as one scalar`);
    return x;
  }

  vector(e: Expr): Value {
    const value = this.value(e);
    return isScalar(value) ? splatValue(this.code, e.dtype, value[0]) : value;
  }

  /** The value in the form of this point: lanes if it has lanes. */
  full(e: Expr): Value {
    return this.#lanes.axis < 0 ? this.value(e) : this.vector(e);
  }

  isUniform(e: Expr): boolean {
    if (this.#lanes.axis < 0) return true;
    const known = this.#uniform.get(e);
    if (known !== undefined) return known;
    const uniform = this.#isUniform(e);
    this.#uniform.set(e, uniform);
    return uniform;
  }

  #isUniform(e: Expr): boolean {
    switch (e.op) {
      case "const":
      case "arg":
      case "size":
        return true;
      case "load":
        return this.#frame.strideClass(e.index!, this.#lanes.axis) === "zero";
      case "coord":
        return e.index !== this.#lanes.axis;
      case "left":
      case "right":
      case "result":
        return isScalar(this.#named(e));
      default:
        return e.args.every((a) => this.isUniform(a));
    }
  }

  #named(e: Expr): Value {
    const { left, right, results } = this.#around;
    const list = e.op === "left" ? left : e.op === "right" ? right : results[e.stage!];
    const value = list?.[e.index!];
    if (value === undefined) {
      throw new InternalError(`Cannot read ${e.op} ${e.index} here: it has no value`);
    }
    return value;
  }

  /** A coordinate, of pointer width; 0 on axes that are not walked here. */
  #coord(axis: number): Node {
    return this.#place.coords[axis] ?? this.code.ptrConst(0);
  }

  leaf(e: Expr): Node {
    const i = e.index!;
    switch (e.op) {
      case "arg":
        return this.#frame.arg(i);
      case "size":
        return this.code.toI32(this.#frame.size(i));
      case "coord":
        return this.code.toI32(this.#coord(i));
      case "load":
        return loadScalar(this.code, this.#frame.buffer(i).dtype, this.#place.pointers[i]);
      default:
        return this.#named(e)[0];
    }
  }

  vectorLeaf(e: Expr): Value {
    const i = e.index!;
    const { code } = this;
    const { copy, axis } = this.#lanes;
    switch (e.op) {
      case "load": {
        const { dtype } = this.#frame.buffer(i);
        return this.#frame.strideClass(i, axis) === "unit"
          ? loadUnit(code, dtype, this.#place.pointers[i], copy)
          : loadLanes(code, dtype, this.#laneAddresses(i));
      }
      case "coord": {
        const steps = code.vector(`steps${copy}`, (v) => {
          for (let k = 0; k < 4; k++) v.setInt32(k * 4, copy * 4 + k, true);
        });
        return [code.op("i32x4.add", code.splat(code.toI32(this.#coord(i))), steps)];
      }
      default:
        return this.#named(e);
    }
  }

  /** Addresses of the four lanes of a buffer, each one stride after the one before. */
  #laneAddresses(buffer: number): Node[] {
    const { code } = this;
    const stride = this.#frame.stride(buffer, this.#lanes.axis);
    const out: Node[] = [];
    let at = this.#place.pointers[buffer];
    for (let k = 0; k < this.#lanes.copy * 4 + 4; k++) {
      if (k > 0) at = code.ptrOp("add", at, stride);
      if (k >= this.#lanes.copy * 4) out.push(at);
    }
    return out;
  }

  lane(e: Expr, index: number): Node {
    if (this.isUniform(e)) return this.scalar(e);
    if (e.op === "coord") {
      const k = this.code.ptrConst(this.#lanes.copy * 4 + index);
      return this.code.toI32(this.code.ptrOp("add", this.#coord(e.index!), k));
    }
    return extract(this.code, e.dtype, this.vector(e), index);
  }

  gather(e: Expr, coords: readonly Node[]): Node {
    const { dtype } = this.#frame.buffer(e.index!);
    return loadScalar(this.code, dtype, this.#gatherAddress(e, coords), true);
  }

  vectorGather(e: Expr): Value {
    const { dtype } = this.#frame.buffer(e.index!);
    const addresses = [0, 1, 2, 3].map((k) =>
      this.#gatherAddress(e, e.args.map((a) => this.lane(a, k)))
    );
    return loadLanes(this.code, dtype, addresses);
  }

  /** Sums the parts of the address from the outermost known to the innermost. */
  #gatherAddress(e: Expr, coords: readonly Node[]): Node {
    const { code } = this;
    const terms = coords.map((c, axis) => {
      const at = c.type === "i64"
        ? code.ptr === "i64" ? c : code.op("i32.wrap_i64", c)
        : code.toPtr(c);
      return this.#frame.times(at, this.#frame.ownStride(e.index!, axis));
    });
    terms.sort((a, b) => a.home.depth - b.home.depth);
    return terms.reduce((sum, t) => code.ptrOp("add", sum, t), this.#frame.base(e.index!));
  }

  /** The stores of a value into a buffer at this point or these. */
  store(buffer: number, e: Expr): StoreItem[] {
    return this.storeValue(buffer, e.dtype, this.full(e));
  }

  /** The stores of a value that is already known. */
  storeValue(buffer: number, from: ComputeType, value: Value): StoreItem[] {
    const { code } = this;
    const { dtype } = this.#frame.buffer(buffer);
    if (DTYPES[dtype].compute !== from) {
      throw new InternalError(`Cannot store ${from} in a buffer of ${dtype}`);
    }
    const pointer = this.#place.pointers[buffer];
    if (this.#lanes.axis < 0) return storeScalar(code, dtype, pointer, value[0]);
    const lanes = isScalar(value) ? splatValue(code, from, value[0]) : value;
    const words = dtype === "bool" ? [narrowMask(code, lanes)] : lanes;
    switch (this.#frame.strideClass(buffer, this.#lanes.axis)) {
      case "unit":
        return storeUnit(code, dtype, pointer, this.#lanes.copy, words);
      case "any":
        return storeLanes(code, dtype, this.#laneAddresses(buffer), words);
      case "zero":
        return storeScalar(code, dtype, pointer, extract(code, from, lanes, 3));
    }
  }

  /** A constant in the form of this point. */
  constant(dtype: ComputeType, x: number): Value {
    const c = constantNode(this.code, dtype, x);
    return this.#lanes.axis < 0 ? [c] : splatValue(this.code, dtype, c);
  }
}
