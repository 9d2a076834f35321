import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import {
  type DType,
  DTYPE_NAMES,
  DTYPES,
  getDefaultDtype,
  isDifferentiable,
  isDType,
  isFloat,
  isInteger,
  promoteScalar,
  promoteTypes,
  setDefaultDtype,
} from "./dtype.ts";
import { DTypeError } from "./errors.ts";

const anyDType = fc.constantFrom(...DTYPE_NAMES);

Deno.test("the facts about a dtype fit together", () => {
  const codes = new Set<number>();
  for (const name of DTYPE_NAMES) {
    const { code, bytes, array, lanes } = DTYPES[name];
    assertEquals(array.BYTES_PER_ELEMENT * lanes, bytes, name);
    // A code has four bits in the keys of the short way of dispatch, of which scalars take the last four.
    assert(code >= 0 && code < 12, name);
    codes.add(code);
  }
  assertEquals(codes.size, DTYPE_NAMES.length);
});

Deno.test("families", () => {
  const which = (is: (d: DType) => boolean) => DTYPE_NAMES.filter(is);
  assertEquals(which(isFloat), ["float16", "bfloat16", "float32", "float64"]);
  assertEquals(which(isInteger), ["uint8", "int8", "int16", "int32", "int64"]);
  assertEquals(which(isDifferentiable), [
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
  ]);
});

Deno.test("only names of dtypes are dtypes", () => {
  for (const name of DTYPE_NAMES) assert(isDType(name));
  for (const other of ["float", "Float32", "toString", "__proto__", "", 1, null, undefined]) {
    assert(!isDType(other), String(other));
  }
});

// The tables of https://data-apis.org/array-api/latest/API_specification/type_promotion.html, and PyTorch's
// rule where the standard is silent (integers with floats).
const TABLE: readonly (readonly [DType, DType, DType])[] = [
  ["int8", "int16", "int16"],
  ["int8", "int64", "int64"],
  ["int16", "int32", "int32"],
  ["int32", "int64", "int64"],
  ["uint8", "int8", "int16"],
  ["uint8", "int16", "int16"],
  ["uint8", "int32", "int32"],
  ["uint8", "int64", "int64"],
  ["float32", "float64", "float64"],
  ["float16", "float32", "float32"],
  ["bfloat16", "float32", "float32"],
  ["float16", "bfloat16", "float32"],
  ["float16", "float64", "float64"],
  ["bfloat16", "float64", "float64"],
  ["float32", "complex64", "complex64"],
  ["float32", "complex128", "complex128"],
  ["float64", "complex64", "complex128"],
  ["float64", "complex128", "complex128"],
  ["complex64", "complex128", "complex128"],
  ["float16", "complex64", "complex64"],
  ["int64", "complex64", "complex64"],
  ["int64", "float32", "float32"],
  ["int64", "float16", "float16"],
  ["uint8", "bfloat16", "bfloat16"],
  ["int8", "float64", "float64"],
];

Deno.test("dtypes meet where the array API says", () => {
  for (const [a, b, want] of TABLE) {
    assertEquals(promoteTypes(a, b), want, `${a} with ${b}`);
    assertEquals(promoteTypes(b, a), want, `${b} with ${a}`);
  }
  for (const d of DTYPE_NAMES) assertEquals(promoteTypes("bool", d), d);
});

Deno.test("promotion is symmetric, idempotent, and never goes down", () => {
  const order = (d: DType) => ["bool", "uint", "int", "float", "complex"].indexOf(DTYPES[d].kind);
  fc.assert(fc.property(anyDType, anyDType, (a, b) => {
    const c = promoteTypes(a, b);
    assertEquals(promoteTypes(b, a), c);
    assertEquals(promoteTypes(a, a), a);
    assertEquals(promoteTypes(c, a), c);
    assertEquals(promoteTypes(c, b), c);
    assert(order(c) >= Math.max(order(a), order(b)));
  }));
});

Deno.test("promotion is associative but where a 16-bit float meets the other", () => {
  const plain = DTYPE_NAMES.filter((d) => d !== "bfloat16");
  for (const a of plain) {
    for (const b of plain) {
      for (const c of plain) {
        assertEquals(
          promoteTypes(promoteTypes(a, b), c),
          promoteTypes(a, promoteTypes(b, c)),
          `${a}, ${b}, ${c}`,
        );
      }
    }
  }
});

Deno.test("a number takes the dtype of the tensor, unless its kind is higher", () => {
  for (const d of DTYPE_NAMES) {
    const { kind } = DTYPES[d];
    assertEquals(promoteScalar(d, true), d);
    assertEquals(promoteScalar(d, 2n), kind === "bool" ? "int64" : d);
    assertEquals(promoteScalar(d, 2), kind === "bool" ? "int64" : d);
    const whole = kind === "bool" || kind === "int" || kind === "uint";
    for (const x of [0.5, NaN, Infinity, -Infinity]) {
      assertEquals(promoteScalar(d, x), whole ? "float32" : d, `${d} with ${x}`);
    }
    assertEquals(promoteScalar(d, -0), kind === "bool" ? "int64" : d);
  }
});

Deno.test("the default dtype is what fractions fall to; only floats can be it", () => {
  assertEquals(getDefaultDtype(), "float32");
  try {
    setDefaultDtype("float64");
    assertEquals(promoteScalar("int32", 0.5), "float64");
    assertEquals(promoteScalar("float16", 0.5), "float16");
    for (const d of ["int32", "bool", "complex64"] as const) {
      assertThrows(() => setDefaultDtype(d), DTypeError, `Cannot setDefaultDtype to ${d}`);
    }
    assertEquals(getDefaultDtype(), "float64");
  } finally {
    setDefaultDtype("float32");
  }
});

Deno.test("a name that is no dtype is refused as a default too", () => {
  assertThrows(() => setDefaultDtype("double" as DType), DTypeError, "double");
});
