/**
 * The library against the golden files: one test a function, one step a case. `--filter "conv2d"` runs
 * one function, `--filter "golden unary"` a family; `goldens/README.md` says where the values are from.
 */
import * as plesio from "../mod.ts";
import { type GoldenCase, parseFamily } from "./golden_format.ts";
import { GoldenRunner, isMethod } from "./golden_runner.ts";

const FAMILIES = [
  "unary",
  "binary",
  "reduce",
  "creation",
  "movement",
  "indexing",
  "inplace",
  "activation",
  "matmul",
  "conv_pool",
  "conv_nd",
  "norm_loss",
  "attention_embedding",
  "layers",
  "recurrent",
  "transformer",
  "optimizer",
  "lr",
];

const methods: { runner: GoldenRunner; golden: GoldenCase }[] = [];

for (const name of FAMILIES) {
  const path = new URL(`./goldens/${name}.jsonl`, import.meta.url);
  const { family, cases } = parseFamily(Deno.readTextFileSync(path));
  const runner = new GoldenRunner(plesio, family);
  for (const [fn, own] of Map.groupBy(cases, (golden) => golden.fn)) {
    if (isMethod(fn)) {
      const golden = own.find(({ args }) => JSON.stringify(args[0]) === '{"t":0}');
      if (golden !== undefined) methods.push({ runner, golden });
    }
    Deno.test(`golden ${family}: ${fn}`, async (t) => {
      runner.find(fn);
      for (const golden of own) {
        await t.step(golden.name, () => runner.check(golden));
      }
    });
  }
}

Deno.test("golden methods: every function of a tensor is its method too", async (t) => {
  for (const { runner, golden } of methods) {
    await t.step(`${golden.fn}: ${golden.name}`, () => runner.checkMethod(golden));
  }
});
