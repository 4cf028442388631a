import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as listenPlain, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { splitLines } from "../watch/lister-watcher.ts";
import { ApiServerError } from "./api-server-error.ts";
import { type ClusterConnection, type CompletedRequest, createConnection } from "./connection.ts";
import { createCredentials } from "./credentials.ts";
import { createKubeConfig } from "./kube-config.ts";

interface Served {
  readonly connection: ClusterConnection;
  readonly requests: string[];
  /** The arguments of `onRequestEnd`. */
  readonly answered: readonly CompletedRequest[];
  /** The number of TCP connections made. */
  sockets(): number;
}

async function serving(answer: RequestListener, run: (served: Served) => Promise<void>): Promise<void> {
  const requests: string[] = [];
  let sockets = 0;
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    request.resume();
    answer(request, response);
  });
  server.on("connection", () => sockets++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const config = createKubeConfig();
  config.loadFromClusterAndUser(
    {
      name: "test",
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}/prefix/`,
      skipTLSVerify: true,
    },
    { name: "test", token: "t0ken" },
  );
  const answered: CompletedRequest[] = [];
  const connection = createConnection(createCredentials(config), { onRequestEnd: (one) => answered.push(one) });
  try {
    await run({ connection, requests, answered, sockets: () => sockets });
  } finally {
    await connection.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

test("calls reuse TCP connections and carry the credentials of the kubeconfig", () =>
  serving(
    (_, response) => response.end('{"ok":true}'),
    async ({ connection, requests, sockets }) => {
      for (let call = 0; call < 20; call++)
        assert.deepEqual(await connection.call({ method: "GET", path: "/api/v1/secrets", query: { limit: 5 } }), {
          ok: true,
        });
      // When a response has been read, its connection may still be busy for a moment.
      assert.ok(sockets() <= 2, `${sockets()} connections`);
      assert.deepEqual(new Set(requests), new Set(["GET /prefix/api/v1/secrets?limit=5 Bearer t0ken"]));
    },
  ));

test("a call that is still connecting rejects when its signal aborts", async (t) => {
  const accepted = Promise.withResolvers<Socket>();
  // The server never answers the TLS handshake.
  const server = listenPlain(accepted.resolve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const config = createKubeConfig();
  const { port } = server.address() as AddressInfo;
  config.loadFromClusterAndUser(
    { name: "test", server: `https://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: "test", token: "t0ken" },
  );
  const connection = createConnection(createCredentials(config));
  t.after(async () => {
    (await accepted.promise).destroy();
    server.close();
    await connection.close();
  });
  const abort = new AbortController();
  const call = connection.call({ method: "GET", path: "/api", signal: abort.signal });
  await accepted.promise;
  abort.abort();
  await assert.rejects(call, { name: "AbortError" });
});

test("every request is reported, even without a response", () =>
  serving(
    (request, response) => {
      if (request.url?.endsWith("/broken")) request.socket.destroy();
      else response.writeHead(request.url?.endsWith("/absent") ? 404 : 200).end("{}");
    },
    async ({ connection, answered }) => {
      await connection.call({ method: "GET", path: "/there" });
      await assert.rejects(connection.call({ method: "GET", path: "/absent" }), ApiServerError);
      await assert.rejects(connection.call({ method: "PATCH", path: "/broken" }));
      assert.deepEqual(
        answered.map(({ method, code }) => `${method} ${code}`),
        ["GET 200", "GET 404", "PATCH <error>"],
      );
      const [{ host, seconds } = { host: "", seconds: -1 }] = answered;
      assert.match(host, /^127\.0\.0\.1:\d+$/);
      assert.ok(seconds >= 0 && seconds < 60);
    },
  ));

test("characters that YAML forbids or reads as line breaks are escaped, because the API server reads applied objects as YAML", () => {
  const sent = { text: "\u007f\u0080\u0085\u009f\u2028\u2029\ufeff\ufffe\uffff" };
  let body = "";
  return serving(
    async (request, response) => {
      body = await text(request);
      response.end("{}");
    },
    async ({ connection }) => {
      await connection.call({ method: "PATCH", path: "/x", body: sent });
      assert.match(body, /^[\x20-\x7e]*$/);
      assert.deepEqual(JSON.parse(body), sent);
    },
  );
});

test("a request is retried when the server answers with Retry-After", () => {
  let calls = 0;
  return serving(
    (_, response) => {
      if (++calls < 3) response.writeHead(429, { "retry-after": "0" });
      response.end('{"message":"too many requests"}');
    },
    async ({ connection }) => {
      await connection.call({ method: "PATCH", path: "/x", body: {} });
      assert.equal(calls, 3);
    },
  );
});

test("a read is repeated after a broken connection, and a write that may have taken effect is not", () => {
  let calls = 0;
  return serving(
    (request, response) => (++calls === 1 || request.method !== "GET" ? request.socket.destroy() : response.end("{}")),
    async ({ connection }) => {
      await connection.call({ method: "GET", path: "/x" });
      assert.equal(calls, 2);
      await assert.rejects(connection.call({ method: "PATCH", path: "/x", body: {} }));
      assert.equal(calls, 3);
    },
  );
});

test("an error has the server's message, whether the response is JSON or not", async () => {
  const status = { reason: "Forbidden", message: "no", code: 403 };
  const table: readonly (readonly [number, string, RegExp])[] = [
    [403, JSON.stringify(status), /^no$/],
    [404, "404 page not found\n", /GET \/x: the API server answered 404 404 page not found/],
  ];
  for (const [code, body, message] of table)
    await serving(
      (_, response) => response.writeHead(code).end(body),
      ({ connection }) =>
        assert.rejects(connection.call({ method: "GET", path: "/x" }), (error) => {
          assert.ok(error instanceof ApiServerError);
          assert.equal(error.code, code);
          assert.match(error.message, message);
          return true;
        }),
    );
});

test("reading an aborted stream rejects, and yields no partial line", () =>
  serving(
    (_, response) => void response.write('{"a":1}\n{"b":'),
    async ({ connection }) => {
      const stop = new AbortController();
      const seen: string[] = [];
      await assert.rejects(async () => {
        for await (const line of splitLines(
          await connection.open({ method: "GET", path: "/w", signal: stop.signal }),
        )) {
          seen.push(line);
          stop.abort();
        }
      }, /abort/);
      assert.deepEqual(seen, ['{"a":1}']);
    },
  ));

test("a stream is split into its complete non-empty lines, even if a chunk ends inside a line or a character", async () => {
  const bytes = new TextEncoder().encode('{"ä":1}\n\n{"b":"€"}\n{"rest"');
  for (const size of [1, 2, 3, 7, 100]) {
    const chunks = async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
    };
    const cut: string[] = [];
    for await (const line of splitLines(chunks())) cut.push(line);
    assert.deepEqual(cut, ['{"ä":1}', '{"b":"€"}'], `chunks of ${size}`);
  }
});
