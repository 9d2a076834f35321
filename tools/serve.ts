/**
 * Serves a checkout over HTTP on the loopback interface, as a user by URL would get it: sources with
 * the content type of TypeScript, and nothing above the folder. Deliberately not here: listings,
 * caching, and any other interface. It ends by itself after `--minutes` (10 by default).
 *
 *     deno run --allow-read --allow-net=127.0.0.1 tools/serve.ts [--port=8000] [--minutes=10]
 *
 * @module
 */

const TYPES: Readonly<Record<string, string>> = {
  ts: "application/typescript",
  mts: "application/typescript",
  js: "text/javascript",
  mjs: "text/javascript",
  json: "application/json",
  wasm: "application/wasm",
  html: "text/html",
  md: "text/markdown",
};

/** A server that runs. */
export interface Served extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly origin: string;
  /** `127.0.0.1:PORT`, as `--allow-import` wants it. */
  readonly host: string;
  /** The paths that were asked for, in order. */
  readonly requests: readonly string[];
  /** Settles when the server has ended. */
  readonly finished: Promise<void>;
}

/** Serves a folder; port 0 is any free one. */
export function serve(
  root: string,
  { port = 0, minutes = 10 }: { port?: number; minutes?: number } = {},
): Served {
  const requests: string[] = [];
  const handle = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    requests.push(pathname);
    if (request.method !== "GET" && request.method !== "HEAD") return answer(405);
    const path = decode(pathname);
    // A URL has no `..` left, but an encoded slash may bring one back.
    if (path === undefined || /(^|[/\\])\.\.?([/\\]|$)|\0/.test(path)) return answer(400);
    try {
      const file = await Deno.open(`${root}/${path}`);
      if (!(await file.stat()).isFile) {
        file.close();
        return answer(404);
      }
      const type = TYPES[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream";
      const text = type.startsWith("text/") || type.endsWith("script") || type.endsWith("json");
      return new Response(file.readable, {
        headers: { "content-type": text ? `${type}; charset=utf-8` : type },
      });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return answer(404);
      throw error;
    }
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, handle);
  const timer = setTimeout(() => void server.shutdown(), minutes * 60_000);
  const finished = server.finished.finally(() => clearTimeout(timer));
  const host = `127.0.0.1:${server.addr.port}`;
  return {
    origin: `http://${host}`,
    host,
    requests,
    finished,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await finished;
    },
  };
}

function answer(status: number): Response {
  return new Response(null, { status });
}

function decode(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname.slice(1));
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  const option = (name: string, fallback: number): number => {
    const given = Deno.args.find((arg) => arg.startsWith(`--${name}=`));
    return given === undefined ? fallback : Number(given.slice(name.length + 3));
  };
  const served = serve(`${import.meta.dirname}/..`, {
    port: option("port", 8000),
    minutes: option("minutes", 10),
  });
  console.log(`Serving at ${served.origin}/`);
  await served.finished;
}
