/**
 * The likeliest mistakes, and what a person is told: class and message of each error in full. A message says
 * what was called, with which shapes, dtypes or places, which rule was broken, and what to do. Deliberately
 * not here: every error that there is; those stand in the tests of what throws them.
 *
 * @module
 */

import { assertEquals } from "jsr:@std/assert@1";
import {
  concat,
  DisposedError,
  DTypeError,
  FormatError,
  GradError,
  IndexError,
  io,
  nn,
  noGrad,
  ones,
  optim,
  PlaceError,
  PlesioError,
  scope,
  ShapeError,
  StateError,
  type Tensor,
  tensor,
  ValueError,
  zeros,
} from "../mod.ts";
import { deno, ROOT, withTemp } from "./support.ts";

const F = nn.functional;

/** What a program without a type check may pass. */
function wrong<T>(x: unknown): T {
  return x as T;
}

function ints(...values: number[]): Tensor {
  return tensor(Int32Array.from(values));
}

function leaf(...values: number[]): Tensor {
  return tensor(values, { requiresGrad: true });
}

class Hidden extends nn.Layer {
  #inner = new nn.Linear(2, 2);
  override forward(x: Tensor): Tensor {
    return this.#inner.call(x);
  }
}

/** What is done, what it throws, and the whole message. */
type Mistake = readonly [
  what: string,
  act: () => unknown,
  error: new (message: string) => PlesioError,
  message: string,
];

const DTYPES_TEXT =
  "bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, " +
  "complex64, complex128";

const MISTAKES: readonly Mistake[] = [
  [
    "matmul with wrong inner sizes",
    () => zeros([32, 784]).matmul(zeros([512, 10])),
    ShapeError,
    "Cannot matmul [32, 784] with [512, 10]: inner sizes must match: got 784 and 512",
  ],
  [
    "a Linear of another input size",
    () => new nn.Linear(784, 10).call(zeros([32, 512])),
    ShapeError,
    "Cannot linear [32, 512] with weight [784, 10]: inner sizes must match: got 512 and 784",
  ],
  [
    "shapes that do not broadcast",
    () => zeros([2, 3]).add(zeros([2, 4])),
    ShapeError,
    "Cannot add [2, 3] with [2, 4]: sizes must be equal or 1, counted from the last axis; reshape, " +
    "unsqueeze or expand one of them",
  ],
  [
    "an operator of JavaScript",
    () => wrong<number>(ones([2, 3])) * 2,
    ValueError,
    "Cannot take [2, 3] for a number: operators do not work on tensors; write x.mul(2) or " +
    "x.lessThan(3), or read one number with await x.item()",
  ],
  [
    "the learning rate under its short name",
    () => new optim.Adam(wrong({ parameters: new nn.Linear(2, 2).parameters(), lr: 0.1 })),
    ValueError,
    'Cannot make the optimizer Adam: there is no option "lr"; its name is learningRate',
  ],
  [
    "keepdim written as elsewhere",
    () => ones([2, 3]).sum(1, wrong({ keepDim: true })),
    ValueError,
    'Cannot sum: there is no option "keepDim"; its name is keepdim',
  ],
  [
    "the probability of a Dropout without its name",
    () => new nn.Dropout(wrong(0.1)),
    ValueError,
    "Cannot make a Dropout: options are an object of names and values: got 0.1; write {name: value}, " +
    "or leave them out",
  ],
  [
    "a stride without its name",
    () => new nn.Conv2D(1, 2, 3, wrong(2)),
    ValueError,
    "Cannot make a Conv2D: options are an object of names and values: got 2; write {name: value}, or " +
    "leave them out",
  ],
  [
    "a kernel among the options",
    () => new nn.Conv1D(1, 2, wrong({ kernel: 3 })),
    ValueError,
    "Cannot make a Conv1D: kernel must be a number or an array of numbers: got a value of kind Object",
  ],
  [
    "options in place of a schedule's rate",
    () => new optim.lr.StepDecay(wrong({ learningRate: 0.1 }), 2),
    ValueError,
    "Cannot make a scheduler with learningRate a value of kind Object: it must be a finite number of at " +
    "least 0",
  ],
  [
    "a model saved instead of its weights",
    () => io.encodeSafetensors(wrong(new nn.Linear(2, 2))),
    ValueError,
    'Cannot save "training": it must be a tensor: got true; of a model save model.stateDict()',
  ],
  [
    "a tensor made of a tensor",
    () => tensor(wrong([ones([2]), ones([2])])),
    ValueError,
    "Cannot tensor: elements must be numbers, booleans or bigints: element [0] is a value of kind " +
    "Tensor; of tensors use stack(…) or clone()",
  ],
  [
    "float ids for an embedding",
    () => new nn.Embedding(10, 4).call(tensor([1, 2])),
    DTypeError,
    "Cannot embedding with a float32 index: an index must be an integer tensor; cast it to " +
    '"int32" first',
  ],
  [
    "an id that the embedding does not have",
    () => new nn.Embedding(10, 4).call(ints(3, 10)),
    IndexError,
    "Cannot embedding at index 10: indexes must lie in 0 to 9 for size 10",
  ],
  [
    "at() out of range",
    () => zeros([3, 4]).at(5),
    IndexError,
    "Cannot index axis 0 of [3, 4] at 5: indexes must lie in -3 to 2",
  ],
  [
    "backward on a non-scalar",
    () => leaf(1, 2).mul(2).backward(),
    GradError,
    "Cannot backward from shape [2] without a gradient: only a scalar has an implied one; reduce it " +
    "with sum() or mean(), or pass a gradient of its shape",
  ],
  [
    "backward twice",
    () => {
      const loss = leaf(1, 2).square().sum();
      loss.backward();
      loss.backward();
    },
    GradError,
    "Cannot backward through square a second time: what it saved was released by the first; call " +
    "backward({retainGraph: true}) or grad(…, {retainGraph: true}) the first time",
  ],
  [
    "backward where nothing requires grad",
    () => tensor([1, 2]).sum().backward(),
    GradError,
    "Cannot backward from a tensor of shape []: it does not require grad; make an input with " +
    "{requiresGrad: true}, and record outside noGrad()",
  ],
  [
    "backward of what was computed in noGrad",
    () => noGrad(() => new nn.Linear(2, 1).call(ones([1, 2]))).backward(),
    GradError,
    "Cannot backward from a tensor of shape [1, 1]: it does not require grad; make an input with " +
    "{requiresGrad: true}, and record outside noGrad()",
  ],
  [
    "a label out of range",
    () => F.crossEntropy(zeros([2, 3]), ints(0, 3)),
    IndexError,
    "Cannot crossEntropy with label 3: labels must be in 0..2 (3 classes) or ignoreIndex -100",
  ],
  [
    "float labels",
    () => F.crossEntropy(zeros([2, 3]), tensor([0, 1])),
    DTypeError,
    'Cannot crossEntropy with float32 labels: class numbers must be integers; cast them to "int32", ' +
    "or pass probabilities with {softLabel: true} to crossEntropy",
  ],
  [
    "predictions [n, 1] with targets [n]",
    () => F.mseLoss(zeros([4, 1]), zeros([4])),
    ShapeError,
    "Cannot mseLoss [4, 1] with [4]: shapes must be equal; reshape or squeeze one of them",
  ],
  [
    "mixed places",
    () => zeros([2]).add(zeros([2], { place: "ref" })),
    PlaceError,
    "Cannot add tensors on cpu and ref: operands must be on one place; move one with " +
    '.to("cpu")',
  ],
  [
    "a place that there is not",
    () => zeros([2]).to("gpu"),
    PlaceError,
    'Cannot use place "gpu:0": this build knows cpu, ref; check the spelling, or register a plug-in ' +
    "for it first",
  ],
  [
    "a dtype that there is not",
    () => zeros([2], { dtype: wrong("float") }),
    DTypeError,
    `Cannot zeros of dtype "float": it must be one of ${DTYPES_TEXT}`,
  ],
  [
    "reshape to another number of elements",
    () => zeros([2, 3]).reshape([4, 2]),
    ShapeError,
    "Cannot reshape [2, 3] to [4, 2]: element counts must match: got 6 and 8",
  ],
  [
    "a size instead of a shape",
    () => zeros(wrong(3)),
    ShapeError,
    "Cannot zeros with shape 3: a shape is an array of sizes; write [3]",
  ],
  [
    "an array instead of a tensor",
    () => new nn.Linear(2, 2).call(wrong([[1, 2]])),
    ValueError,
    "Cannot linear: operands must be tensors: got an array; make a tensor of it with tensor(…)",
  ],
  [
    "item() that was not awaited",
    () => zeros([2]).mul(wrong(tensor(2).item())),
    ValueError,
    "Cannot mul: operands must be tensors or numbers: got a value of kind Promise; await it first",
  ],
  [
    "an in-place change of a parameter",
    () => leaf(1, 2).add_(1),
    GradError,
    "Cannot add in place on a leaf of shape [2] that requires grad: its gradient would be lost; wrap " +
    "the change in noGrad(() => …), or use the form that is not in place",
  ],
  [
    "an in-place change of a saved tensor",
    () => {
      const hidden = leaf(1, 2).mul(2);
      const loss = hidden.square().sum();
      hidden.add_(1);
      loss.backward();
    },
    GradError,
    "Cannot backward through square: a float32 tensor of shape [2] that it saved was changed in place " +
    "afterwards (version 1, saved at 0); clone() it before the change, or use the form that is not " +
    "in place",
  ],
  [
    "images with other channels than the convolution",
    () => new nn.Conv2D(3, 8, 3).call(zeros([1, 1, 28, 28])),
    ShapeError,
    "Cannot conv2d [1, 1, 28, 28] with weight [8, 3, 3, 3]: input channels must match: got 1 and 3",
  ],
  [
    "images without a batch axis",
    () => new nn.Conv2D(1, 8, 3).call(zeros([1, 28, 28])),
    ShapeError,
    "Cannot conv2d on [1, 28, 28]: the input must be [batch, channels, height, width]: got rank 3; " +
    "unsqueeze(0) adds the batch axis",
  ],
  [
    "a ragged nested array",
    () => tensor([[1, 2], [3]]),
    ShapeError,
    "Cannot tensor: arrays must be equally long at each depth: element [1] has 1 elements, but element " +
    "[0] is an array of 2 elements; pad the rows or make a tensor of each",
  ],
  [
    "item() of many elements",
    () => zeros([2, 2]).item(),
    ShapeError,
    "Cannot take item() of shape [2, 2]: it must have exactly one element: got 4; use data() or " +
    "toArray()",
  ],
  [
    "a state dictionary with other names",
    () => new nn.Linear(2, 3).setStateDict({ weight: zeros([2, 3]), bais: zeros([3]) }),
    StateError,
    "Cannot setStateDict of Linear: names, shapes and kinds of dtype must agree; missing: bias; " +
    "unexpected: bais; {strict: false} loads what fits by name",
  ],
  [
    "a state dictionary with other shapes",
    () => new nn.Linear(2, 3).setStateDict({ weight: zeros([3, 2]), bias: zeros([3]) }),
    StateError,
    "Cannot setStateDict of Linear: names, shapes and kinds of dtype must agree; different: weight is " +
    "[2, 3], given [3, 2]",
  ],
  [
    "use after dispose",
    () => {
      const x = zeros([2]);
      x.dispose();
      x.add(1);
    },
    DisposedError,
    "Cannot use a float32 tensor of shape [2] after dispose(): its `using` block or scope has ended; " +
    "return it from the scope or clone() it before",
  ],
  [
    "use after its scope",
    () => {
      let kept = zeros([2]);
      scope(() => {
        kept = ones([3]);
      });
      kept.add(1);
    },
    DisposedError,
    "Cannot use a tensor whose memory was freed: it was disposed, left a scope() or its `using` block; " +
    "return it from the scope, or clone() it before",
  ],
  [
    "an optimizer without parameters",
    () => new optim.Adam({ learningRate: 0.1, parameters: [] }),
    ValueError,
    "Cannot make the optimizer Adam without parameters: pass {parameters: model.parameters()}; " +
    "parameters in #private fields are not found",
  ],
  [
    "an optimizer of a model",
    () => new optim.Adam({ learningRate: 0.1, parameters: wrong(new nn.Linear(2, 2)) }),
    ValueError,
    "Cannot make the optimizer Adam: parameters must be an array; pass " +
    "{parameters: model.parameters()}",
  ],
  [
    "a layer in a #private field",
    () => new Hidden().call(zeros([1, 2])),
    StateError,
    'Cannot call Hidden: forward used a parameter "weight" of shape [2, 2] of Linear that ' +
    "Hidden.parameters() does not find, so it would be neither trained nor saved: keep layers and " +
    "parameters in public fields, arrays, Maps or records (#private fields cannot be seen); if it is " +
    "not to be trained, set its trainable to false",
  ],
  [
    "concat of different shapes",
    () => concat([zeros([2, 3]), zeros([2, 4])]),
    ShapeError,
    "Cannot concat [2, 3], [2, 4] along axis 0: all sizes off that axis must be equal: got [2, 3] and " +
    "[2, 4]",
  ],
  [
    "an axis that there is not",
    () => zeros([2, 3]).sum(2),
    ShapeError,
    "Cannot sum over axis 2: a tensor of rank 2 has axes -2 to 1",
  ],
  [
    "max of nothing",
    () => zeros([0]).max(),
    ValueError,
    "Cannot max [0] over axes [0]: there is no max of no elements; leave empty tensors out before " +
    "the call",
  ],
  [
    "a file that is no safetensors file",
    () => io.decodeSafetensors(new TextEncoder().encode("\x89PNG\r\n\x1a\n and more")),
    FormatError,
    "Cannot read a safetensors file of 18 bytes: its header claims 1876326794660972994 bytes, more than " +
    "the 100000000 that are allowed; is it one?",
  ],
  [
    "a safetensors file that was cut off",
    async () => io.decodeSafetensors((await io.encodeSafetensors({ w: zeros([4]) })).slice(0, -1)),
    FormatError,
    'Cannot read tensor "w" of a safetensors file: its data end at byte 16, but only 15 bytes of data ' +
    "are there (truncated?)",
  ],
];

for (const [what, act, expected, message] of MISTAKES) {
  Deno.test(`mistake: ${what}`, async () => {
    let thrown: unknown;
    try {
      await act();
    } catch (error) {
      thrown = error;
    }
    const { name, message: told } = thrown instanceof Error ? thrown : new Error("no error");
    assertEquals([name, told], [expected.name, message]);
    assertEquals(thrown instanceof expected && thrown instanceof PlesioError, true);
  });
}

Deno.test("mistake: saving and loading without the permission", async () => {
  const script = `import { load, PermissionError, save, zeros } from "${ROOT}/mod.ts";
for (const act of [() => save("w.safetensors", { w: zeros([1]) }), () => load("w.safetensors")]) {
  await act().catch((error) => console.log(error instanceof PermissionError, error.message));
}`;
  const { out, err } = await withTemp(async (folder) => {
    await Deno.writeTextFile(`${folder}/script.ts`, script);
    return await deno(["run", "--no-prompt", "--no-check", "script.ts"], { cwd: folder });
  });
  assertEquals(
    out,
    'true Cannot save "w.safetensors": access to its folder was not granted, where it is written ' +
      "aside and renamed; run with --allow-read=. --allow-write=.\n" +
      'true Cannot load "w.safetensors": read access was not granted; run with ' +
      "--allow-read=w.safetensors\n",
    err,
  );
});
