/**
 * Nonsense in every argument and option of layers, optimizers, schedules, clips, initializers, files and settings,
 * and as the input of layers: what comes of it is an object, or an error that is the library's own and says what
 * was called. Deliberately not here: functions of tensors, which `hostile_arguments_test.ts` attacks.
 *
 * @module
 */

import { assertEquals, assertRejects } from "jsr:@std/assert@1";
import {
  Generator,
  getDefaultDtype,
  getPlace,
  InternalError,
  io,
  load,
  memory,
  nn,
  ones,
  optim,
  Place,
  PlesioError,
  promoteTypes,
  rand,
  save,
  setDefaultDtype,
  setPlace,
  setRngState,
  type Tensor,
  tensor,
  ValueError,
  zeros,
} from "../mod.ts";

const NONSENSE: readonly unknown[] = [
  undefined,
  null,
  "abc",
  NaN,
  1.5,
  -1,
  0,
  1e300,
  Infinity,
  5n,
  true,
  {},
  [],
  [NaN],
  [null],
  () => 1,
  tensor([[1.5]]),
  new Float32Array(3),
  new Map(),
  Promise.resolve(1),
];

type Constructor = new (...args: unknown[]) => unknown;

/** Arguments that a class takes, and an input for its objects if they have `call`. */
type Sound = readonly [args: readonly unknown[], input?: Tensor];

const rows = ones([2, 4]);
const images = ones([1, 4, 6, 6]);
const ids = tensor([1, 2], { dtype: "int32" });

const LAYERS: Readonly<Record<string, Sound>> = {
  Linear: [[4, 3, { bias: true }], rows],
  Conv2D: [[4, 2, 3, { stride: 1, padding: 1, dilation: 1, groups: 1, bias: true }], images],
  MaxPool2D: [[2, { stride: 2, padding: 0 }], images],
  AvgPool2D: [[2, { stride: 2, padding: 0 }], images],
  AdaptiveAvgPool2D: [[2], images],
  AdaptiveMaxPool2D: [[2], images],
  BatchNorm2D: [[4, { momentum: 0.9, epsilon: 1e-5 }], images],
  BatchNorm1D: [[4, {}], rows],
  LayerNorm: [[4, { epsilon: 1e-5 }], rows],
  RMSNorm: [[4, {}], rows],
  GroupNorm: [[2, 4, {}], images],
  InstanceNorm2D: [[4, {}], images],
  Dropout: [[{ p: 0.5 }], rows],
  Embedding: [[10, 4, { paddingIdx: 0 }], ids],
  Flatten: [[{ startAxis: 1, stopAxis: 2 }], images],
  Unflatten: [[1, [2, 2]], rows],
  GELU: [[{ approximate: true }], rows],
  LeakyReLU: [[{ negativeSlope: 0.1 }], rows],
  Softmax: [[{ axis: 1 }], rows],
  Hardtanh: [[{ min: -1, max: 1 }], rows],
  ReLU: [[], rows],
  Sequential: [[new nn.ReLU(), ["out", new nn.ReLU()]], rows],
  LayerList: [[[new nn.ReLU()]]],
  LayerDict: [[{ a: new nn.ReLU() }]],
  ParameterList: [[[]]],
  CrossEntropyLoss: [[{ reduction: "mean" }], rows],
  MSELoss: [[{ reduction: "sum" }], rows],
};

const SCHEDULES: Readonly<Record<string, readonly unknown[]>> = {
  StepDecay: [0.1, 3, { gamma: 0.1 }],
  CosineAnnealingDecay: [0.1, 10, { etaMin: 0 }],
  LinearWarmup: [0.1, 5, { startLr: 0, endLr: 0.1 }],
  LambdaDecay: [0.1, (x: number) => x],
  ExponentialDecay: [0.1, 0.9],
  MultiStepDecay: [0.1, [1, 2], { gamma: 0.1 }],
  PolynomialDecay: [0.1, 10, { endLr: 0, power: 2, cycle: true }],
};

/** Runs it and gives what is wrong with the error that it ends with, if there is one. */
async function fault(what: string, act: () => unknown): Promise<string[]> {
  try {
    await act();
    return [];
  } catch (error) {
    const own = error instanceof PlesioError && !(error instanceof InternalError);
    return own && /^Cannot \w/.test(error.message) ? [] : [`${what}: ${error}`];
  }
}

function show(x: unknown): string {
  return typeof x === "object" && x !== null ? Deno.inspect(x).slice(0, 30) : String(x);
}

/** Argument lists with nonsense at each position and at each option of a plain object. */
function* spoiled(args: readonly unknown[]): Iterable<readonly [string, unknown[]]> {
  for (const value of NONSENSE) {
    for (let i = 0; i <= args.length; i++) {
      yield [`${show(value)} at ${i}`, args.with(Math.min(i, args.length - 1), value)];
      const options = args[i];
      if (typeof options !== "object" || options === null || Array.isArray(options)) continue;
      if (Object.getPrototypeOf(options) !== Object.prototype) continue;
      for (const name of Object.keys(options)) {
        const worse = args.with(i, { ...options, [name]: value });
        yield [`${show(value)} as ${name}`, worse];
      }
    }
  }
}

/** The same for an object of options. */
function* spoiledOptions(options: object): Iterable<readonly [string, object]> {
  for (const [what, [worse]] of spoiled([options])) yield [what, worse as object];
}

Deno.test("nonsense that makes or meets a layer", async () => {
  const faults: string[] = [];
  const { limit } = memory.stats();
  memory.setLimit(256 * 2 ** 20);
  for (const [name, [args, input]] of Object.entries(LAYERS)) {
    const Class = (nn as unknown as Record<string, Constructor>)[name];
    const use = (made: readonly unknown[], x: unknown): void => {
      const layer = new Class(...made) as { call?(x: unknown): unknown };
      String(layer);
      layer.call?.(x);
    };
    for (const [what, worse] of args.length === 0 ? [] : spoiled(args)) {
      faults.push(...await fault(`new ${name} with ${what}`, () => use(worse, input)));
    }
    for (const x of input === undefined ? [] : NONSENSE) {
      faults.push(...await fault(`${name} called with ${show(x)}`, () => use(args, x)));
    }
  }
  memory.setLimit(limit);
  assertEquals(faults, []);
});

Deno.test("nonsense that makes or meets an optimizer", async () => {
  const faults: string[] = [];
  const leaf = () => tensor([1, 2], { requiresGrad: true });
  for (const name of ["SGD", "Momentum", "Adam", "AdamW"]) {
    const Class = (optim as unknown as Record<string, Constructor>)[name];
    const step = async (options: unknown): Promise<void> => {
      const x = leaf();
      const given = typeof options === "object" && options !== null && !("parameters" in options)
        ? { ...options, parameters: [x] }
        : options;
      const optimizer = new Class(given) as optim.Optimizer;
      x.sum().backward();
      await optimizer.step();
    };
    const sound = {
      learningRate: 0.1,
      weightDecay: 0.1,
      gradClip: undefined,
      momentum: 0.9,
      beta1: 0.9,
      beta2: 0.99,
      epsilon: 1e-8,
      useNesterov: true,
    };
    for (const [what, options] of spoiledOptions(sound)) {
      faults.push(...await fault(`${name} with ${what}`, () => step(options)));
    }
    for (const x of NONSENSE) {
      const groups = [x, [x], [{ params: x }], [{ params: [x] }], [["name", x]], [
        { params: [leaf()], learningRate: x },
      ], [{ params: [leaf()], weightDecay: x }]];
      for (const [i, parameters] of groups.entries()) {
        const act = () => step({ parameters });
        faults.push(...await fault(`${name} with ${show(x)} among parameters, way ${i}`, act));
      }
      const act = () =>
        (new Class({ parameters: [leaf()] }) as optim.Optimizer).setStateDict(x as never);
      faults.push(...await fault(`${name} with the state ${show(x)}`, act));
    }
  }
  assertEquals(faults, []);
});

Deno.test("nonsense that makes a schedule, a clip or an initializer", async () => {
  const faults: string[] = [];
  for (const [name, args] of Object.entries(SCHEDULES)) {
    const Class = (optim.lr as unknown as Record<string, Constructor>)[name];
    for (const [what, worse] of spoiled(args)) {
      const act = () => {
        const schedule = new Class(...worse) as optim.lr.LRScheduler;
        for (let i = 0; i < 4; i++) schedule.step();
        return schedule.lastLr;
      };
      faults.push(...await fault(`${name} with ${what}`, act));
    }
  }
  const named = { ...optim, ...nn.initializer } as unknown as Record<string, Constructor>;
  const names = Object.keys(named).filter((name) => /^(ClipGrad|L[12])/.test(name));
  for (const name of [...names, ...Object.keys(nn.initializer)]) {
    if (name === "Initializer" || name === "fansOf") continue;
    for (const x of NONSENSE) {
      faults.push(...await fault(`${name} of ${show(x)}`, () => new named[name](x)));
    }
  }
  for (const x of NONSENSE) {
    faults.push(...await fault(`fansOf ${show(x)}`, () => nn.initializer.fansOf(x as never)));
  }
  assertEquals(faults, []);
});

Deno.test("nonsense for files, settings and generators", async () => {
  const faults: string[] = [];
  const before = { place: getPlace(), dtype: getDefaultDtype(), ...memory.stats() };
  const one = { a: tensor([1]) };
  const acts: Readonly<Record<string, (x: never) => unknown>> = {
    decodeSafetensors: (x) => io.decodeSafetensors(x),
    encodeSafetensors: (x) => io.encodeSafetensors(x),
    "encodeSafetensors of": (x) => io.encodeSafetensors({ a: x }),
    "encodeSafetensors with": (x) => io.encodeSafetensors(one, x),
    load: (x) => typeof x === "string" ? null : load(x),
    save: (x) => typeof x === "string" ? null : save(x, one),
    setPlace: (x) => setPlace(x),
    "Place.of": (x) => Place.of(x),
    "on the place": (x) => zeros([1], { place: x }),
    "of the dtype": (x) => zeros([1], { dtype: x }),
    setDefaultDtype: (x) => setDefaultDtype(x),
    promoteTypes: (x) => promoteTypes(x, "int8"),
    setLimit: (x) => memory.setLimit(x),
    setWatermark: (x) => memory.setWatermark(x),
    Generator: (x) => new Generator(x),
    "with the generator": (x) => rand([2], { generator: x }),
    setRngState: (x) => setRngState(x),
    requiresGrad: (x) => tensor([1], { requiresGrad: x }),
    "tensor.to": (x) => tensor([1]).to(x),
    "tensor.grad": (x) => tensor([1], { requiresGrad: true }).grad = x,
    "tensor.backward": (x) => tensor(1, { requiresGrad: true }).backward(undefined, x),
  };
  for (const [name, act] of Object.entries(acts)) {
    for (const x of NONSENSE) {
      faults.push(...await fault(`${name} ${show(x)}`, () => act(x as never)));
      setPlace(before.place);
      setDefaultDtype(before.dtype);
      memory.setLimit(before.limit);
      memory.setWatermark(before.watermark);
    }
  }
  assertEquals(faults, []);
});

Deno.test("what holds no tensors as fields is not saved as an empty file", async () => {
  for (const x of [[tensor([1])], new Map([["a", tensor([1])]]), new Set(), Promise.resolve({})]) {
    const act = () => io.encodeSafetensors(x as never);
    await assertRejects(act, ValueError, "it takes an object of tensors by name");
  }
  const empty = io.decodeSafetensors(await io.encodeSafetensors({}));
  assertEquals(Object.keys(empty.tensors), []);
});
