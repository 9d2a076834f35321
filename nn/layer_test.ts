import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "jsr:@std/assert@1";
import {
  nn,
  noGrad,
  ones,
  optim,
  randn,
  scope,
  seed,
  StateError,
  type Tensor,
  tensor,
  ValueError,
  zeros,
} from "../mod.ts";

class Scale extends nn.Layer {
  weight: nn.Parameter = this.createParameter([2], { initializer: new nn.initializer.Constant(2) });
  forward(x: Tensor): Tensor {
    return x.mul(this.weight);
  }
}

/** Layers and parameters in every place that discovery looks at. */
class Everything extends nn.Layer {
  own = this.createParameter([1]);
  field = new Scale();
  list = [new Scale(), { deep: new Map([["key", new Scale()]]) }];
  record: Record<string, unknown> = { a: new Scale(), n: 3, none: null };
  container = new nn.LayerList([new nn.LayerDict({ x: new Scale() })]);
  buffer: Tensor = this.registerBuffer("buffer", zeros([3]));
  loose: Tensor = zeros([4]);
  parent: nn.LayerBase = this;
  forward(x: Tensor): Tensor {
    return x;
  }
}

const NAMES = [
  "own",
  "field.weight",
  "list.0.weight",
  "list.1.deep.key.weight",
  "record.a.weight",
  "container.0.x.weight",
];

Deno.test("nn: parameters are found in fields, arrays, Maps, records and containers", () => {
  const layer = new Everything();
  assertEquals(layer.namedParameters().map(([name]) => name), NAMES);
  assertEquals(layer.parameters().length, NAMES.length);
  assertEquals(layer.namedBuffers().map(([name]) => name), ["buffer"]);
  assertEquals(layer.namedChildren().map(([name]) => name), [
    "field",
    "list.0",
    "list.1.deep.key",
    "record.a",
    "container",
  ]);
  assertEquals(layer.namedSublayers().map(([name]) => name), [
    "field",
    "list.0",
    "list.1.deep.key",
    "record.a",
    "container",
    "container.0",
    "container.0.x",
  ]);
});

Deno.test("nn: discovery follows fields as they change", () => {
  const layer = new Everything();
  layer.list.pop();
  layer.record.b = new Scale();
  layer.field = new nn.Sequential(new Scale(), new Scale()) as unknown as Scale;
  assertEquals(layer.namedParameters().map(([name]) => name), [
    "own",
    "field.0.weight",
    "field.1.weight",
    "list.0.weight",
    "record.a.weight",
    "record.b.weight",
    "container.0.x.weight",
  ]);
});

Deno.test("nn: what is shared is found once, and loads under each of its names", async () => {
  class Tied extends nn.Layer {
    a = new Scale();
    b = this.a;
    again = this.a.weight;
    forward(x: Tensor): Tensor {
      return this.b.call(this.a.call(x));
    }
  }
  const tied = new Tied();
  assertEquals(tied.namedParameters().map(([name]) => name), ["a.weight"]);
  assertEquals(tied.sublayers(), [tied.a]);
  assertEquals(Object.keys(tied.stateDict()), ["a.weight"]);
  assertThrows(() => tied.setStateDict({}), StateError, "missing: a.weight;");
  tied.setStateDict({ "b.weight": tensor([5, 6]) });
  assertEquals(await tied.a.weight.toArray(), [5, 6]);
  tied.call(ones([2])).sum().backward();
  assertEquals(await tied.a.weight.grad!.toArray(), [10, 12]);
});

Deno.test("nn: two things of one name, and tensors that would not be trained, are errors", () => {
  class Dotted extends nn.Layer {
    record = { "a.b": new Scale(), a: { b: new Scale() } };
    forward(x: Tensor): Tensor {
      return x;
    }
  }
  assertThrows(() => new Dotted().parameters(), StateError, '"record.a.b"');
  class Plain extends nn.Layer {
    w = tensor([1], { requiresGrad: true });
    forward(x: Tensor): Tensor {
      return x;
    }
  }
  assertThrows(() => new Plain().parameters(), StateError, "createParameter");
  // Neither a result of an op nor a tensor without gradient is meant to be trained.
  class Cache extends nn.Layer {
    last: Tensor | null = null;
    scale = new Scale();
    forward(x: Tensor): Tensor {
      return this.last = this.scale.call(x);
    }
  }
  const cache = new Cache();
  cache.call(ones([2]));
  assert(cache.last!.requiresGrad);
  assertEquals(cache.parameters().length, 1);
});

Deno.test("nn: a parameter that forward used but discovery does not see is an error", () => {
  class PrivateLayer extends nn.Layer {
    #inner = new Scale();
    forward(x: Tensor): Tensor {
      return this.#inner.call(x);
    }
  }
  const text = 'parameter "weight" of shape [2] of Scale';
  assertThrows(() => new PrivateLayer().call(ones([2])), StateError, text);
  class PrivateParameter extends nn.Layer {
    #w = this.createParameter([2]);
    forward(x: Tensor): Tensor {
      return x.mul(this.#w);
    }
  }
  assertThrows(() => new PrivateParameter().call(ones([2])), StateError, "of shape [2]");
  // Deep inside a model too, and whenever gradients are recorded first.
  const outer = new nn.Sequential(new PrivateLayer());
  noGrad(() => outer.call(ones([2])));
  assertThrows(() => outer.call(ones([2])), StateError, text);
  assertThrows(() => outer.call(ones([2])), StateError, text);
});

Deno.test("nn: unseen parameters that are unused, replaced or frozen are no error", () => {
  class Replaced extends nn.Layer {
    w = this.createParameter([2]);
    constructor() {
      super();
      this.w = this.createParameter([2]);
    }
    forward(x: Tensor): Tensor {
      return x.mul(this.w);
    }
  }
  new Replaced().call(ones([2]));
  class Teacher extends nn.Layer {
    #teacher = new Scale();
    constructor() {
      super();
      for (const p of this.#teacher.parameters()) p.trainable = false;
    }
    forward(x: Tensor): Tensor {
      return this.#teacher.call(x);
    }
  }
  assertEquals(new Teacher().call(ones([2])).requiresGrad, false);
});

Deno.test("nn: state dictionary round trip, by value", async () => {
  const make = () =>
    new nn.Sequential(new nn.Linear(3, 2), new nn.BatchNorm1D(2), ["s", new Scale()]);
  seed(1);
  const a = make();
  const b = make();
  a.call(randn([5, 3]));
  b.setStateDict(a.stateDict());
  for (const [name, value] of Object.entries(a.stateDict())) {
    assertEquals(await b.stateDict()[name].toArray(), await value.toArray(), name);
  }
  noGrad(() => a.parameters()[0].fill_(7));
  const [w] = b.parameters();
  assert(!(await w.data()).includes(7 as never), "a copy was loaded");
  assert(w.requiresGrad && w.isLeaf);
});

Deno.test("nn: buffers that are not persistable stay out of the state dictionary", () => {
  class Mask extends nn.Layer {
    mask = this.registerBuffer("mask", ones([2]), { persistable: false });
    kept = this.registerBuffer("kept", ones([2]));
    forward(x: Tensor): Tensor {
      return x;
    }
  }
  const layer = new Mask();
  assertEquals(Object.keys(layer.stateDict()), ["kept"]);
  assertEquals(layer.buffers().length, 2);
  layer.kept = zeros([2]);
  assertStrictEquals(layer.buffers()[1], layer.kept);
  assertThrows(() => layer.registerBuffer("a.b", ones([1])), ValueError);
  assertThrows(() => layer.registerBuffer("parameters", ones([1])), ValueError);
});

Deno.test("nn: a state dictionary that does not fit changes nothing and names everything", async () => {
  const layer = new nn.Linear(2, 3);
  const before = await layer.weight.toArray();
  const weight = ones([2, 3]);
  const error = assertThrows(
    () => layer.setStateDict({ weight, biass: ones([3]) }),
    StateError,
    "missing: bias; unexpected: biass",
  );
  assert(error.message.includes("Linear"));
  const swapped = { weight: ones([3, 2]), bias: ones([3]) };
  assertThrows(
    () => layer.loadStateDict(swapped),
    StateError,
    "weight is [2, 3], given [3, 2]",
  );
  assertThrows(() => layer.setStateDict(swapped, { strict: false }), StateError, "[3, 2]");
  const whole = { weight: ones([2, 3], { dtype: "int32" }), bias: ones([3]) };
  assertThrows(() => layer.setStateDict(whole), StateError, "weight is float32, given int32");
  assertEquals(await layer.weight.toArray(), before);
  const report = layer.setStateDict({ weight, extra: weight }, { strict: false });
  assertEquals(report, { missing: ["bias"], unexpected: ["extra"] });
  assertEquals(await layer.weight.toArray(), [[1, 1, 1], [1, 1, 1]]);
  layer.setStateDict({ weight: ones([2, 3], { dtype: "float64" }), bias: zeros([3]) });
  assertEquals(layer.weight.dtype, "float32");
});

Deno.test("nn: hooks replace inputs and outputs, in order, until they are removed", async () => {
  const layer = new Scale();
  const seen: string[] = [];
  const double = (_: unknown, [x]: readonly unknown[]) => [(x as Tensor).mul(2)];
  const removers = [
    layer.registerForwardPreHook(double),
    layer.registerForwardPreHook(double),
    layer.registerForwardPreHook((l) => void seen.push(l === layer ? "pre" : "other")),
    layer.registerForwardPostHook((_l, [x], y) => {
      seen.push(`post ${(x as Tensor).itemSync()} ${(y as Tensor).shape}`);
    }),
    layer.registerForwardPostHook((_l, _x, y) => (y as Tensor).add(1)),
  ];
  assertEquals(await layer.call(tensor([1])).toArray(), [9, 9]);
  assertEquals(seen, ["pre", "post 4 2"]);
  removers[0]();
  removers[0]();
  assertEquals(await layer.call(tensor([1])).toArray(), [5, 5]);
  for (const remove of removers) remove();
  assertEquals(await layer.call(tensor([1])).toArray(), [2, 2]);
});

Deno.test("nn: train and eval reach all layers; zeroGrad, apply", () => {
  const model = new nn.Sequential(new nn.Dropout(), new nn.Sequential(new nn.Linear(2, 2)));
  model.eval();
  assertEquals(model.namedLayers().map(([, layer]) => layer.training), [
    false,
    false,
    false,
    false,
  ]);
  model.train();
  assertEquals(model.sublayers().map((layer) => layer.training), [true, true, true]);
  model.call(ones([1, 2])).sum().backward();
  assert(model.parameters().every((p) => p.grad !== null));
  model.clearGradients();
  assert(model.parameters().every((p) => p.grad === null));
  const order: string[] = [];
  model.apply((layer) => void order.push(layer.constructor.name));
  assertEquals(order, ["Dropout", "Linear", "Sequential", "Sequential"]);
});

Deno.test("nn: to() converts in place, so that ties and optimizers hold", async () => {
  class Net extends nn.Layer {
    scale = new Scale();
    same = this.scale.weight;
    count = this.registerBuffer("count", tensor([1, 2], { dtype: "int32" }));
    mean = this.registerBuffer("mean", ones([2]));
    forward(x: Tensor): Tensor {
      return this.scale.call(x).add(this.mean);
    }
  }
  const net = new Net();
  const weight = net.scale.weight;
  net.call(ones([2])).sum().backward();
  net.to("float64");
  assertStrictEquals(net.scale.weight, weight);
  assertStrictEquals(net.same, weight);
  assertEquals([weight.dtype, net.mean.dtype, net.count.dtype], ["float64", "float64", "int32"]);
  assertEquals(weight.grad, null);
  const y = net.call(ones([2], { dtype: "float64" }));
  assertEquals([y.dtype, await y.toArray()], ["float64", [3, 3]]);
  y.sum().backward();
  assertEquals(await weight.grad!.toArray(), [1, 1]);
  assertEquals(net.to("ref").scale.weight.place.name, "ref");
  assertEquals(net.mean.place.name, "ref");
  assertThrows(() => net.to("int32"));
});

Deno.test("nn: layers and optimizer states outlive the scope() they are made in", async () => {
  const [layer, plain, optimizer] = scope(() => {
    const layer = new nn.BatchNorm1D(2).to("float64");
    const plain = new nn.Linear(1, 1);
    const optimizer = new optim.Adam({ parameters: layer.parameters(), learningRate: 0.1 });
    return [layer, plain, optimizer] as const;
  });
  assertEquals(plain.call(ones([1, 1])).shape, [1, 1]);
  for (let i = 0; i < 2; i++) {
    await scope(async () => {
      layer.call(tensor([[1, 2], [3, 5]], { dtype: "float64" })).sum().backward();
      await optimizer.step();
      optimizer.clearGrad();
    });
  }
  // Two moves of the learning rate, but for epsilon.
  assertAlmostEquals((await layer.bias!.data())[1] as number, -0.2, 1e-8);
  const { slots } = optimizer.stateDict();
  assertAlmostEquals((await slots["1.moment1"].data())[0] as number, 0.38, 1e-12);
  assertAlmostEquals((await layer.runningMean.data())[0] as number, 0.38, 1e-12);
});

Deno.test("nn: freezing", () => {
  const layer = new nn.Linear(2, 2);
  layer.weight.trainable = false;
  layer.call(ones([1, 2])).sum().backward();
  assertEquals([layer.weight.grad, layer.bias!.grad !== null], [null, true]);
  layer.bias!.trainable = false;
  assertEquals([layer.bias!.grad, layer.call(ones([1, 2])).requiresGrad], [null, false]);
});

Deno.test("nn: printing", () => {
  class Net extends nn.Layer {
    body = new nn.Sequential(
      new nn.Conv2D(3, 8, 3, { padding: 1, bias: false }),
      ["norm", new nn.BatchNorm2D(8)],
      new nn.ReLU(),
    );
    heads = [new nn.Linear(8, 2), new nn.Linear(8, 3, { bias: false })];
    drop = new nn.Dropout({ p: 0.1 });
    forward(x: Tensor): Tensor {
      return x;
    }
  }
  const text = `Net(
  (body): Sequential(
    (0): Conv2D(inChannels=3, outChannels=8, kernel=[3, 3], padding=1, bias=false)
    (norm): BatchNorm2D(numFeatures=8, momentum=0.9, epsilon=0.00001)
    (2): ReLU()
  )
  (heads.0): Linear(inFeatures=8, outFeatures=2)
  (heads.1): Linear(inFeatures=8, outFeatures=3, bias=false)
  (drop): Dropout(p=0.1)
)`;
  assertEquals(String(new Net()), text);
  assertEquals(Deno.inspect(new Net()), text);
});

Deno.test("nn: containers", () => {
  const list = new nn.LayerList([new Scale()]);
  const [second, third] = [new Scale(), new Scale()];
  list.append(third).insert(1, second);
  assertEquals([list.length, [...list][1], list.at(-1)], [3, second, third]);
  assertThrows(() => list.at(3), Error, "from -3 to 2");
  assertEquals(list.extend([new Scale()]).parameters().length, 4);
  const dict = new nn.LayerDict([["a", second]]);
  assertEquals([dict.get("a"), dict.has("b"), dict.set("b", third).size], [second, false, 2]);
  assertThrows(() => new nn.Sequential(["a", second], ["a", third]), ValueError);
  assertThrows(() => new nn.Sequential(["a.b", second]), ValueError);
  assertEquals(new nn.Sequential(second, third).get("1"), third);
  class Gated extends nn.Sequential {
    gate = this.createParameter([1]);
  }
  const names = new Gated(second).namedParameters().map(([name]) => name);
  assertEquals(names, ["gate", "0.weight"]);
});
