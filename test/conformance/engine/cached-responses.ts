/** Responses from the cache of proxy-cache: what reaches the client. */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { describe, it, type TestContext } from "node:test";
import type { PluginPhases } from "@sluice/plugin-sdk";
import { fakeContext, pluginInstance } from "../../plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { sendRaw, sendRequest } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { requestHttp2 } from "./http2-client.ts";
import { type Engine, startRig } from "./proxy-rig.ts";

export const plainText = { "Content-Type": "text/plain" };

/** An upstream that answers every request differently: "1 GET /", "2 GET /", and so on. */
export function counting(headers: Readonly<Record<string, string | string[]>> = {}, status = 200): RequestListener {
  let count = 0;
  return ({ method, url }, response) => {
    response.writeHead(status, { ...plainText, ...headers }).end(`${++count} ${method} ${url}`);
  };
}

export interface Cached {
  readonly config?: object;
  readonly upstream?: RequestListener;
  readonly plugins?: Readonly<Record<string, PluginPhases>>;
  /** Whether the client is a trusted proxy. Default: false. */
  readonly isTrusted?: boolean;
}

const cachePlugin = (config: object = {}): PluginPhases =>
  pluginInstance("proxy-cache", withConfigDefaults("proxy-cache", { strategy: "memory", ...config }), fakeContext());

export const startCache = (
  test: TestContext,
  engine: Engine,
  { config, upstream = counting(), plugins, isTrusted = false }: Cached = {},
) =>
  startRig(test, engine, {
    upstream,
    plugins: { "proxy-cache": cachePlugin(config), ...plugins },
    ...(isTrusted && { settings: { trustedIps: ["127.0.0.0/8"] } }),
  });

export function cachedResponseSuite(engine: Engine): void {
  describe(`cached responses (${engine.name})`, () => {
    it("are those of the upstream, with the headers Age, X-Cache-Status and X-Cache-Key", async (test) => {
      const upstream: RequestListener = (_request, response) => {
        response.writeHead(200, [
          ...["Content-Type", "text/plain", "Date", "Mon, 01 Jan 2024 00:00:00 GMT", "Server", "up", "X-Many", "1"],
          ...["X-Many", "2", "Connection", "X-Hop", "X-Hop", "1", "Via", "1.1 up", "X-Cache-Status", "forged"],
        ]);
        response.end("hello \u20ac");
      };
      const { port } = await startCache(test, engine, { upstream });
      const miss = await sendRequest(port);
      const hit = await sendRequest(port);
      assert.deepEqual([miss.headers["x-cache-status"], hit.headers["x-cache-status"]], ["Miss", "Hit"]);
      assert.match(hit.headers["x-cache-key"] as string, /^[\da-f]{64}$/);
      assert.equal(hit.headers["x-cache-key"], miss.headers["x-cache-key"]);
      assert.deepEqual([miss.headers.age, hit.headers.age], [undefined, "0"]);
      assert.deepEqual([hit.status, hit.body, hit.headers["content-length"]], [200, "hello \u20ac", "9"]);
      const names = (raw: readonly string[]) =>
        raw.filter((_text, at) => at % 2 === 0).map((name) => name.toLowerCase());
      const own = ["age", "content-length", "transfer-encoding"];
      const without = (raw: readonly string[]) =>
        names(raw)
          .filter((name) => !own.includes(name))
          .sort();
      assert.deepEqual(without(hit.rawHeaders), without(miss.rawHeaders));
      assert.deepEqual(
        [hit.headers.server, hit.headers.date, hit.headers.via, hit.headers["x-many"], hit.headers["x-hop"]],
        ["up", "Mon, 01 Jan 2024 00:00:00 GMT", "1.1 up, 1.1 sluice/1.2.3", "1, 2", undefined],
      );
    });

    it("have the headers that other plugins set for each request", async (test) => {
      let count = 0;
      const numbering: PluginPhases = {
        responseHeaders: ({ responseHeaders }) => responseHeaders.set("X-Number", String(++count)),
      };
      const { port } = await startCache(test, engine, { plugins: { cors: numbering } });
      const [first, second] = [await sendRequest(port), await sendRequest(port)];
      assert.deepEqual([first.headers["x-number"], second.headers["x-number"]], ["1", "2"]);
      assert.equal(second.headers["x-cache-status"], "Hit");
    });

    it("are filtered once for each request, because the cache stores the unfiltered response", async (test) => {
      const filtering: PluginPhases = {
        responseBody: () => ({ limit: 100, longer: "refused", whole: (body) => Buffer.from(`<${body}>`) }),
      };
      const { port } = await startCache(test, engine, { plugins: { "response-transformer": filtering } });
      const [first, second] = [await sendRequest(port), await sendRequest(port)];
      assert.equal(second.headers["x-cache-status"], "Hit");
      assert.deepEqual([first.body, second.body, second.headers["content-length"]], ["<1 GET />", "<1 GET />", "9"]);
    });

    it("keep the framing of the upstream's response while it is stored", async (test) => {
      const { port } = await startCache(test, engine, {
        upstream: (_request, response) =>
          void response.writeHead(200, { ...plainText, "Content-Length": 5 }).end("hello"),
      });
      const { headers, body } = await sendRequest(port);
      assert.deepEqual([headers["content-length"], headers["transfer-encoding"], body], ["5", undefined, "hello"]);
    });

    it("to HEAD have the Content-Length of the upstream's response and no body", async (test) => {
      const { port } = await startCache(test, engine, {
        upstream: (_request, response) => void response.writeHead(200, { ...plainText, "Content-Length": 5 }).end(),
      });
      for (const status of ["Miss", "Hit"]) {
        const { headers, body } = await sendRequest(port, { method: "HEAD" });
        assert.deepEqual([headers["x-cache-status"], headers["content-length"], body], [status, "5", ""]);
      }
    });

    it("are framed by the lengths of their bodies, whatever the stored headers say", async (test) => {
      const kept = ["Content-Length", "2", "content-length", "50", "Transfer-Encoding", "chunked", "X-A", "1"];
      const restoring: PluginPhases = { access: () => ({ status: 200, keptHeaders: kept, body: "hello" }) };
      const { port } = await startRig(test, engine, { plugins: { "proxy-cache": restoring } });
      const { rawHeaders, headers, body } = await sendRequest(port);
      assert.equal(rawHeaders.filter((name) => name.toLowerCase() === "content-length").length, 1);
      assert.deepEqual([headers["content-length"], headers["transfer-encoding"]], ["5", undefined]);
      assert.deepEqual([headers["x-a"], body], ["1", "hello"]);
    });

    it("are sent completely if they are large", async (test) => {
      const large = Buffer.alloc(1_048_576, "0123456789");
      const { port } = await startCache(test, engine, {
        upstream: (_request, response) => void response.writeHead(200, plainText).end(large),
      });
      for (const status of ["Miss", "Hit"]) {
        const { headers, body } = await sendRequest(port);
        assert.deepEqual([headers["x-cache-status"], body === large.toString()], [status, true]);
      }
    });

    it("leave the connection usable for further requests", async (test) => {
      const { port } = await startCache(test, engine);
      await sendRequest(port);
      const head = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n";
      const host = `127.0.0.1:${port}`;
      const text = await sendRaw(
        test,
        port,
        `${head.replace("127.0.0.1", host)}\r\n`.repeat(2) +
          `${head.replace("127.0.0.1", host)}Connection: close\r\n\r\n`,
      );
      assert.equal(text.match(/X-Cache-Status: Hit/g)?.length, 3);
    });

    it("are shared by requests that differ only in parts that are not in the key", async (test) => {
      const { port } = await startCache(test, engine, {
        config: { vary_query_params: ["q"], ignore_uri_case: true },
        isTrusted: true,
      });
      await sendRequest(port, { path: "/A?q=1&x=1" });
      const { headers, body } = await sendRequest(port, {
        path: "/a?x=2&q=1",
        headers: { "user-agent": "other", "x-forwarded-for": "10.1.2.3" },
      });
      assert.deepEqual([headers["x-cache-status"], body], ["Hit", "1 GET /A?q=1&x=1"]);
    });

    it("are shared by requests with the same parameters in another order", async (test) => {
      const { port } = await startCache(test, engine);
      await sendRequest(port, { path: "/?a=1&b=2" });
      assert.equal((await sendRequest(port, { path: "/?b=2&a=1" })).headers["x-cache-status"], "Hit");
    });

    it("are kept for each value of the headers in Vary", async (test) => {
      const { port } = await startCache(test, engine, { upstream: counting({ vary: "Accept-Language" }) });
      const at = async (language: string) => {
        const { headers, body } = await sendRequest(port, { headers: { "accept-language": language } });
        return [headers["x-cache-status"], body];
      };
      assert.deepEqual(
        [await at("de"), await at("en"), await at("de"), await at("en")],
        [
          ["Miss", "1 GET /"],
          ["Miss", "2 GET /"],
          ["Hit", "1 GET /"],
          ["Hit", "2 GET /"],
        ],
      );
    });

    it("are requested from the upstream separately by each of several simultaneous misses", async (test) => {
      let waiting: (() => void)[] = [];
      let count = 0;
      const { port } = await startCache(test, engine, {
        upstream(_request, response) {
          count++;
          waiting.push(() => response.writeHead(200, plainText).end("same"));
          if (waiting.length < 3) return;
          for (const release of waiting) release();
          waiting = [];
        },
      });
      const seen = await Promise.all([sendRequest(port), sendRequest(port), sendRequest(port)]);
      assert.deepEqual(
        seen.map(({ headers }) => headers["x-cache-status"]),
        ["Miss", "Miss", "Miss"],
      );
      assert.equal((await sendRequest(port)).headers["x-cache-status"], "Hit");
      assert.equal(count, 3);
    });

    if (engine.name !== "http1") return;
    it("are served over HTTP/2, including to HEAD but not to a GET with a body, and shared with HTTP/1.1", async (test) => {
      const { rig, session } = await startHttp2(test, engine, {
        upstream: counting({ "x-many": ["1", "2"] }),
        plugins: { "proxy-cache": cachePlugin() },
      });
      const authority = { ":authority": "a.test" };
      assert.equal((await requestHttp2(session, { headers: authority })).headers["x-cache-status"], "Miss");
      const hit = await requestHttp2(session, { headers: authority });
      assert.deepEqual([hit.headers["x-cache-status"], hit.body.toString(), hit.rstCode], ["Hit", "1 GET /", 0]);
      assert.equal((await sendRequest(rig.port, { headers: { host: "a.test" } })).headers["x-cache-status"], "Hit");
      for (const status of ["Miss", "Hit"]) {
        const { headers, headOnly } = await requestHttp2(session, { headers: { ":method": "HEAD", ...authority } });
        assert.deepEqual([headers["x-cache-status"], headOnly], [status, true]);
      }
      const fat = await requestHttp2(session, { headers: { ":authority": "b.test" }, body: "evil" });
      assert.equal(fat.headers["x-cache-status"], "Bypass");
    });
  });
}
