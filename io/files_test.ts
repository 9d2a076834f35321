import { assertEquals, assertRejects, assertStringIncludes } from "jsr:@std/assert@1";
import {
  FormatError,
  load,
  ones,
  PermissionError,
  save,
  type Tensor,
  tensor,
  zeros,
} from "../mod.ts";
import { deno, denoInTerminal, hasTerminal, withTemp } from "../tests/support.ts";
import { testIf } from "../tools/testing.ts";

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map((f) => f.name).sort();
const values = (x: Tensor) => x.toArraySync();

Deno.test("what is saved is loaded, by path and by URL, over an older file too", async () => {
  await withTemp(async (folder) => {
    const path = `${folder}/a model.safetensors`;
    await save(path, { w: tensor([1, 2]) });
    const url = new URL(`file://${folder}/a%20model.safetensors`);
    assertEquals(values((await load(url)).w), [1, 2]);
    await save(url, { w: tensor([[3]]), b: tensor(4n) }, { metadata: { epoch: "5" } });
    const back = await load(path);
    assertEquals([values(back.w), values(back.b)], [[[3]], 4]);
    assertEquals(namesIn(folder), ["a model.safetensors"]);
    assertEquals((await load(path, { place: undefined })).w.place.name, "cpu");
  });
});

Deno.test("what is no file is refused", async () => {
  await assertRejects(
    () => load(new URL("https://example.com/model.safetensors")),
    FormatError,
    "only file: URLs are; fetch() others and use io.decodeSafetensors",
  );
  await withTemp(async (folder) => {
    await Deno.writeTextFile(`${folder}/text`, "hello");
    await assertRejects(() => load(`${folder}/text`), FormatError, "safetensors file of 5 bytes");
    await assertRejects(() => load(`${folder}/nothing`), Deno.errors.NotFound);
    await assertRejects(() => save(`${folder}/no/folder`, { w: zeros([1]) }), Deno.errors.NotFound);
    assertEquals(namesIn(folder), ["text"]);
  });
});

/** Runs `fn` while files opened for writing behave otherwise. */
async function withFiles(
  change: (file: Deno.FsFile) => Partial<Deno.FsFile>,
  fn: () => Promise<void>,
): Promise<void> {
  const { open } = Deno;
  Deno.open = async (...args) => {
    const file = await open(...args);
    return Object.assign(file, change(file));
  };
  try {
    await fn();
  } finally {
    Deno.open = open;
  }
}

Deno.test("a write that fails anywhere leaves the old file whole, and nothing beside it", async () => {
  await withTemp(async (folder) => {
    const path = `${folder}/model.safetensors`;
    await save(path, { w: tensor([1, 2]) });
    const fail = () => Promise.reject(new Deno.errors.WriteZero("no space left on device"));
    const ways: [string, (file: Deno.FsFile) => Partial<Deno.FsFile>][] = [
      ["at once", () => ({ write: fail })],
      ["in the middle", (file) => {
        const write = file.write.bind(file);
        let writes = 0;
        return { write: (p) => ++writes > 3 ? fail() : write(p.subarray(0, 100)) };
      }],
      ["while syncing", () => ({ syncData: fail })],
    ];
    for (const [when, change] of ways) {
      await withFiles(change, async () => {
        await assertRejects(
          () => save(path, { w: ones([1000]) }),
          Deno.errors.WriteZero,
          "no space",
          when,
        );
      });
      assertEquals(values((await load(path)).w), [1, 2], when);
      assertEquals(namesIn(folder), ["model.safetensors"], when);
    }
    await withFiles((file) => {
      const write = file.write.bind(file);
      return { write: (p) => write(p.subarray(0, 7)) };
    }, () => save(path, { w: ones([100]) }));
    assertEquals((await load(path)).w.numel, 100, "short writes are gone on with");
  });
});

Deno.test("a program killed while it saves leaves the old file whole", async () => {
  await withTemp(async (folder) => {
    const path = `${folder}/model.safetensors`;
    const program = `
      import { ones, save } from ${JSON.stringify(new URL("../mod.ts", import.meta.url).href)};
      const w = ones([4_000_000]);
      await save(${JSON.stringify(path)}, { w });
      console.log("saved");
      for (let i = 2; ; i++) await save(${JSON.stringify(path)}, { w: w.mul(i) });
    `;
    await Deno.writeTextFile(`${folder}/program.ts`, program);
    for (const delay of [0, 7, 20]) {
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "--no-check",
          `--allow-read=${folder}`,
          `--allow-write=${folder}`,
          `${folder}/program.ts`,
        ],
        stdout: "piped",
        stderr: "null",
      }).spawn();
      const reader = child.stdout.getReader();
      await reader.read();
      // Until it is writing.
      while (!namesIn(folder).some((name) => name.endsWith(".tmp"))) {
        await new Promise((done) => setTimeout(done, 1));
      }
      await new Promise((done) => setTimeout(done, delay));
      child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
      const { w } = await load(path);
      assertEquals(w.numel, 4_000_000);
      assertEquals(w.min().itemSync(), w.max().itemSync());
    }
  });
});

const USE = `
  const calls = [];
  for (const name of ["open", "readFile", "rename", "writeFile", "remove", "stat"]) {
    const real = Deno[name];
    Deno[name] = (...args) => { calls.push(name); return real(...args); };
  }
  const request = Deno.permissions.request;
  Deno.permissions.request = (...args) => { calls.push("request"); return request.apply(Deno.permissions, args); };
  const { save, load, tensor, PermissionError } = await import(MOD);
  for (const use of [() => save("there/w.safetensors", { w: tensor([1]) }), () => load("w.safetensors")]) {
    try {
      await use();
    } catch (e) {
      console.log(e instanceof PermissionError, e.message);
    }
  }
  console.log(JSON.stringify(calls));
`;
const MOD = JSON.stringify(new URL("../mod.ts", import.meta.url).href);
const WANTED = [
  'true Cannot save "there/w.safetensors": access to its folder was not granted',
  "--allow-read=there/ --allow-write=there/",
  'true Cannot load "w.safetensors": read access was not granted; run with --allow-read=w.safetensors',
  "[]",
];

Deno.test("without permission nothing is tried and the error names the flags", async () => {
  await withTemp(async (folder) => {
    await Deno.writeTextFile(`${folder}/use.ts`, USE.replace("MOD", MOD));
    const { out, err } = await deno(["run", "--no-check", `${folder}/use.ts`], { cwd: folder });
    for (const text of WANTED) assertStringIncludes(out, text, err);
  });
});

testIf(hasTerminal, "needs script of util-linux", "at a terminal nobody is asked", async () => {
  await withTemp(async (folder) => {
    await Deno.writeTextFile(`${folder}/use.ts`, USE.replace("MOD", MOD));
    const { text, asked } = await denoInTerminal(["run", "--no-check", `${folder}/use.ts`], {
      cwd: folder,
    });
    assertEquals(asked, false, text);
    for (const wanted of WANTED) assertStringIncludes(text, wanted);
  });
});

Deno.test("a permission for the file alone is not enough to save, and said to be so", async () => {
  await withTemp(async (folder) => {
    const path = `${folder}/w.safetensors`;
    const program = `
      import { save, tensor } from ${MOD};
      await save(${
      JSON.stringify(path)
    }, { w: tensor([1]) }).catch((e) => console.log(e.name, e.message));
    `;
    await Deno.writeTextFile(`${folder}/use.ts`, program);
    const run = (...flags: string[]) => deno(["run", "--no-check", ...flags, `${folder}/use.ts`]);
    const { out } = await run(`--allow-write=${path}`, `--allow-read=${path}`);
    assertStringIncludes(out, PermissionError.name);
    assertStringIncludes(out, `--allow-read=${folder}/ --allow-write=${folder}/`);
    const good = await run(`--allow-write=${folder}`, `--allow-read=${folder}`);
    assertEquals([good.out, good.code], ["", 0], good.err);
    assertEquals(values((await load(path)).w), [1]);
  });
});
