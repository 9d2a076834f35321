import { assertEquals } from "jsr:@std/assert@1";
import { Generator } from "../random/generator.ts";
import { type PhiloxRange, philoxWords } from "../random/philox.ts";
import * as k from "./expr.ts";
import { scalarProgram } from "./interp.ts";
import { philoxBlock, type PhiloxExprs } from "./philox.ts";

const ARG = (i: number) => k.leaf("arg", "int32", i);
const EXPRS: PhiloxExprs = { key0: ARG(0), key1: ARG(1), offsetLo: ARG(2), offsetHi: ARG(3) };

function argsOf(r: PhiloxRange, i: number): number[] {
  return [r.key0 | 0, r.key1 | 0, r.offsetLo | 0, r.offsetHi | 0, i];
}

function words(range: PhiloxRange, start: number, count: number): number[] {
  return [...philoxWords(range, start, new Uint32Array(count))];
}

const RANGES: readonly PhiloxRange[] = [
  { key0: 0, key1: 0, offsetLo: 0, offsetHi: 0 },
  new Generator(0x1234567890abcdefn).reserve(4),
  { key0: 7, key1: 0xffffffff, offsetLo: 0xfffffffe, offsetHi: 3 },
  { key0: 7, key1: 1, offsetLo: 0xffffffff, offsetHi: 0xffffffff },
];

Deno.test("blocks of the expressions are those of the host, past carries of the counter too", () => {
  const block = scalarProgram(philoxBlock(EXPRS, ARG(4)));
  for (const range of RANGES) {
    for (const i of [0, 1, 2, 3, 4, 5, 11, 1000003]) {
      const got = block(argsOf(range, i)).map((x) => Number(x) >>> 0);
      assertEquals(got, words(range, 4 * i, 4));
    }
  }
});
