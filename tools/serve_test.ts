import { assertEquals } from "jsr:@std/assert@1";
import { serve } from "./serve.ts";

Deno.test("serve: files with their types, nothing above the folder", async () => {
  const root = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${root}/tree/ops`, { recursive: true });
    await Deno.writeTextFile(`${root}/secret.ts`, "no");
    await Deno.writeTextFile(`${root}/tree/mod.ts`, 'export { x } from "./ops/a.ts";\n');
    await Deno.writeTextFile(`${root}/tree/ops/a.ts`, 'export const x: string = "é";\n');
    await Deno.writeFile(`${root}/tree/a.bin`, new Uint8Array([1, 2, 3]));
    await using served = serve(`${root}/tree`);
    const get = async (path: string, method = "GET") => {
      const response = await fetch(served.origin + path, { method });
      const body = await response.bytes();
      return [response.status, response.headers.get("content-type"), body.length];
    };
    assertEquals(await get("/mod.ts"), [200, "application/typescript; charset=utf-8", 32]);
    assertEquals(await get("/a.bin"), [200, "application/octet-stream", 3]);
    assertEquals(await get("/mod.ts", "HEAD"), [200, "application/typescript; charset=utf-8", 0]);
    assertEquals(await get("/mod.ts", "POST"), [405, null, 0]);
    assertEquals(await get("/ops"), [404, null, 0]);
    assertEquals(await get("/none.ts"), [404, null, 0]);
    assertEquals(await get("/..%2fsecret.ts"), [400, null, 0]);
    assertEquals(await get("/%zz"), [400, null, 0]);
    assertEquals(served.requests[0], "/mod.ts");

    const script = `import { x } from "${served.origin}/mod.ts";\nconsole.log(x);\n`;
    await Deno.writeTextFile(`${root}/user.ts`, script);
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", `--allow-import=${served.host}`, "user.ts"],
      cwd: root,
    }).output();
    assertEquals(new TextDecoder().decode(stdout), "é\n");
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
