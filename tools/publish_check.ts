/**
 * `deno publish --dry-run` of what would be published, and a look at the list of files. The checkout
 * itself cannot be asked: the folders of `links` stand inside it, are part of the module graph and are
 * excluded from publishing, which the command refuses. So the files go to a temporary folder, with
 * `links` beside them. No registry is reached. Deliberately not here: publishing.
 *
 * Permissions: `--allow-read --allow-write --allow-run --allow-env`.
 *
 * @module
 */

import { readTree } from "./check_ranks.ts";
import { OUTSIDE, roomOf } from "./ranks.ts";

/** Copies the files that publishing looks at to a folder, and those of `links/` beside it. */
async function stage(root: string, to: string): Promise<string> {
  for (const [path, text] of await readTree(root)) {
    const target = path.startsWith("links/") ? `${to}/${path}` : `${to}/package/${path}`;
    await Deno.mkdir(target.slice(0, target.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(
      target,
      path === "deno.json" ? text.replaceAll('"./links/', '"../links/') : text,
    );
  }
  return `${to}/package`;
}

/** The files that the dry run lists, by their path from the root of the package. */
export function filesIn(output: string): string[] {
  return [...output.matchAll(/^\s+file:\S*?\/package\/(\S+) \(/gm)].map((match) => match[1]);
}

/** What is wrong with a list of published files. */
export function wrongIn(files: readonly string[]): string[] {
  const wanted = ["deno.json", "mod.ts", "README.md", "LICENSE"].filter((x) => !files.includes(x));
  const unwanted = files.filter((path) => {
    if (path.startsWith("examples/") || path.startsWith("docs/")) return false;
    return roomOf(path) === OUTSIDE || path.startsWith(".") || path.includes("goldens");
  });
  return [
    ...wanted.map((path) => `${path} would not be published: see publish in deno.json`),
    ...unwanted.map((path) => `${path} would be published: add it to publish.exclude in deno.json`),
  ];
}

if (import.meta.main) {
  const folder = await Deno.makeTempDir({ prefix: "plesio_publish_" });
  try {
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["publish", "--dry-run", "--allow-dirty", "--no-check"],
      cwd: await stage(`${import.meta.dirname}/..`, folder),
      env: { NO_COLOR: "1" },
    }).output();
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    const files = filesIn(output);
    const wrong = success ? wrongIn(files) : [output];
    for (const line of wrong) console.error(line);
    console.log(`publish_check: ${files.length} files`);
    Deno.exitCode = wrong.length > 0 ? 1 : 0;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
