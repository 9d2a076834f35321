// What TypeScript makes of layers: these lines are checked by compiling them.
import { assertEquals } from "jsr:@std/assert@1";
import { nn, ones, type Tensor, tensor } from "../mod.ts";

class Two extends nn.Layer<[a: Tensor, b: Tensor], [Tensor, Tensor]> {
  forward(a: Tensor, b: Tensor): [Tensor, Tensor] {
    return [b, a];
  }
}

class Optional extends nn.Layer {
  forward(x: Tensor, scale?: number): Tensor {
    return scale === undefined ? x : x.mul(scale);
  }
}

class Later extends nn.Layer<[Tensor], Promise<number>> {
  async forward(x: Tensor): Promise<number> {
    return await x.item() as number;
  }
}

Deno.test("nn types: call takes what forward takes and gives what it gives", async () => {
  const [b, a]: [Tensor, Tensor] = new Two().call(tensor([1]), tensor([2]));
  assertEquals([await b.item(), await a.item()], [2, 1]);
  // @ts-expect-error: forward takes two tensors
  assertEquals(new Two().call(tensor([1]))[0], undefined);
  const y: Tensor = new Optional().call(tensor([1]), 3);
  assertEquals(await y.item(), 3);
  const unary: nn.Layer = new Optional();
  assertEquals(await unary.call(tensor([1])).item(), 1);
  assertEquals(await new Later().call(tensor([4])), 4);
});

Deno.test("nn types: any layer is a LayerBase; lists keep the class", () => {
  const all: nn.LayerBase[] = [new Two(), new Optional(), new Later(), new nn.LayerList()];
  assertEquals(all.flatMap((layer) => layer.parameters()), []);
  const linears = new nn.LayerList([new nn.Linear(2, 2)]);
  assertEquals(linears.at(0).weight.shape, [2, 2]);
  const mixed = new nn.LayerList<nn.Layer>([new nn.Linear(2, 2), new nn.ReLU()]);
  let x = ones([1, 2]);
  for (const layer of mixed) x = layer.call(x);
  assertEquals(x.shape, [1, 2]);
  const loss: Tensor = new nn.MSELoss().call(x, x);
  assertEquals(loss.itemSync(), 0);
});
