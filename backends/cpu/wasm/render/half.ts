// Conversion between float32 and the 16-bit floats in code, for one lane or four: the same formulas
// (core/half.ts explains them) over scalar or vector instructions. Not here: memory.
import type { PlainOp } from "../asm/mod.ts";
import type { Code, Node } from "./code.ts";

/** 32-bit lanes: one in an i32, or four in a vector. */
class Words {
  readonly #code: Code;
  readonly #wide: boolean;

  constructor(code: Code, wide: boolean) {
    this.#code = code;
    this.#wide = wide;
  }

  constant(x: number): Node {
    const c = this.#code.i32(x);
    return this.#wide ? this.#code.splat(c) : c;
  }

  op(name: "add" | "sub", a: Node, b: Node): Node {
    return this.#code.op(this.#wide ? `i32x4.${name}` : `i32.${name}`, a, b);
  }

  bits(name: "and" | "or", a: Node, b: number | Node): Node {
    const right = typeof b === "number" ? this.constant(b) : b;
    return this.#code.op(this.#wide ? `v128.${name}` : `i32.${name}`, a, right);
  }

  shift(name: "shl" | "shr_u", a: Node, by: number): Node {
    return this.#code.op(this.#wide ? `i32x4.${name}` : `i32.${name}`, a, this.#code.i32(by));
  }

  /** `yes` where x > limit (signed), else `no`. */
  pick(x: Node, limit: number, yes: Node, no: Node): Node {
    const c = this.#code;
    if (this.#wide) {
      return c.blend(c.op("i32x4.gt_s", x, this.constant(limit)), yes, no);
    }
    return c.op("select", yes, no, c.op("i32.gt_s", x, c.i32(limit)));
  }

  /** A float op on bit patterns. */
  float(name: "add" | "sub", a: Node, b: number): Node {
    const c = this.#code;
    const right = c.f32(b);
    if (this.#wide) return c.op(`f32x4.${name}` as PlainOp, a, c.splat(right));
    return c.op(
      "i32.reinterpret_f32",
      c.op(`f32.${name}`, c.op("f32.reinterpret_i32", a), right),
    );
  }
}

/** float16 bits (zero-extended) to float32 bits. */
export function float16ToFloat32(code: Code, bits: Node): Node {
  const w = new Words(code, bits.type === "v128");
  const rest = w.bits("and", bits, 0x7fff);
  const shifted = w.shift("shl", rest, 13);
  const bias = w.constant(0x38000000);
  const normal = w.op("add", shifted, bias);
  const special = w.op("add", normal, bias);
  // A subnormal m 2^-24 is 2^-14 (1 + m 2^-10) - 2^-14: no product, which would be slow on them.
  const small = w.float("sub", w.op("add", shifted, w.constant(0x38800000)), 2 ** -14);
  const large = w.pick(rest, 0x7bff, special, normal);
  const sign = w.shift("shl", w.bits("and", bits, 0x8000), 16);
  return w.bits("or", w.pick(rest, 0x3ff, large, small), sign);
}

/** bfloat16 bits (upper bits of the word ignored) to float32 bits. */
export function bfloat16ToFloat32(code: Code, bits: Node): Node {
  return new Words(code, bits.type === "v128").shift("shl", bits, 16);
}

/** float32 bits to float16 bits, ties to even. */
export function float32ToFloat16(code: Code, word: Node): Node {
  const w = new Words(code, word.type === "v128");
  const top = w.bits("and", word, 0x7fffffff);
  const odd = w.bits("and", w.shift("shr_u", top, 13), 1);
  const normal = w.shift(
    "shr_u",
    w.op("add", w.op("add", top, w.constant(0xfff - 0x38000000)), odd),
    13,
  );
  // Adding 0.5 rounds to multiples of 2^-24, the float16 subnormals.
  const small = w.op("sub", w.float("add", top, 0.5), w.constant(0x3f000000));
  const finite = w.pick(top, 0x387fffff, normal, small);
  const quiet = w.bits("or", w.bits("and", w.shift("shr_u", top, 13), 0x1ff), 0x7e00);
  const large = w.pick(top, 0x7f800000, quiet, w.constant(0x7c00));
  const sign = w.bits("and", w.shift("shr_u", word, 16), 0x8000);
  return w.bits("or", w.pick(top, 0x477fffff, large, finite), sign);
}

/** float32 bits to bfloat16 bits, ties to even. */
export function float32ToBfloat16(code: Code, word: Node): Node {
  const w = new Words(code, word.type === "v128");
  const upper = w.shift("shr_u", word, 16);
  const odd = w.bits("and", upper, 1);
  const rounded = w.shift("shr_u", w.op("add", w.op("add", word, w.constant(0x7fff)), odd), 16);
  return w.pick(w.bits("and", word, 0x7fffffff), 0x7f800000, w.bits("or", upper, 0x40), rounded);
}
