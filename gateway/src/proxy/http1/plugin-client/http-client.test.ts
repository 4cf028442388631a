/** The HTTP client of plugins, with real servers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import type { HttpRequest } from "@sluice/plugin-sdk";
import { listenTcp } from "../../../../../test/plugins/log-servers.ts";
import { makeAuthority } from "../../../../../tools/programs/certificates.ts";
import { connectBehind } from "../../../outbound/connect.ts";
import { createGuard } from "../../../outbound/guard.ts";
import { httpClientsBehind } from "./http-client.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

interface RawServer {
  readonly origin: string;
  /** The heads of all requests. */
  readonly heads: readonly string[];
  readonly sockets: readonly Socket[];
}

/** A server that reads requests without bodies. `answer` is called with each request and its number, from 1. */
async function startServer(context: TestContext, answer: (socket: Socket, count: number) => void): Promise<RawServer> {
  const heads: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let received = "";
    socket
      .on("error", () => {})
      .on("data", (data) => {
        received += data;
        const parts = received.split("\r\n\r\n");
        received = parts.pop() ?? "";
        for (const head of parts) answer(socket, heads.push(head));
      });
  });
  const port = await listenTcp(server);
  context.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { origin: `http://127.0.0.1:${port}`, heads, sockets };
}

function openClient(context: TestContext, allowedUpstreams: readonly string[] = ["127.0.0.0/8"]) {
  const client = httpClientsBehind(connectBehind(createGuard({ allowedUpstreams, ownListeners: [] })))();
  context.after(() => client.close());
  return client;
}

const get = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: "GET",
  url,
  timeout: 5000,
  ...more,
});

test("a request has the given path, query and headers, and successive requests share one connection", async (context) => {
  const { origin, heads, sockets } = await startServer(context, (socket) => socket.write(OK));
  const client = openClient(context);
  const headers = { "X-A": "1", "x-a": "2", Host: "other.test", "Transfer-Encoding": "chunked", TE: "trailers" };
  await client.send(get(`${origin}/a%20b?c=d#e`, { headers }));
  await client.send(get(origin));
  assert.deepEqual(heads, [
    "GET /a%20b?c=d HTTP/1.1\r\nHost: other.test\r\nx-a: 2\r\nConnection: keep-alive\r\nContent-Length: 0",
    `GET / HTTP/1.1\r\nHost: ${new URL(origin).host}\r\nConnection: keep-alive\r\nContent-Length: 0`,
  ]);
  assert.equal(sockets.length, 1);
});

const bodies: readonly (readonly [what: string, method: string, response: string, body: string])[] = [
  ["with a length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", "body"],
  ["in chunks", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n", "body"],
  ["after an interim response", "GET", `HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n${OK}`, ""],
  ["to HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", ""],
];

for (const [what, method, response, body] of bodies) {
  test(`a response ${what} is read, and its connection is used again`, async (context) => {
    const { origin, sockets } = await startServer(context, (socket) => socket.write(response));
    const client = openClient(context);
    for (let count = 0; count < 2; count++) {
      const received = await client.send(get(origin, { method }));
      assert.deepEqual([received.status, received.body.toString()], [200, body]);
    }
    assert.equal(sockets.length, 1);
  });
}

test("a response without a length ends with its connection", async (context) => {
  const { origin } = await startServer(context, (socket) => socket.end("HTTP/1.1 200 OK\r\n\r\nbody"));
  assert.equal((await openClient(context).send(get(origin))).body.toString(), "body");
});

test("headers have lower-case names; several values are joined, except cookies and those that may not repeat", async (context) => {
  const lines = ["X-A: 1", "x-a: 2", "Set-Cookie: a=1", "Set-Cookie: b=2", "ETag: 1", "ETag: 2", "__proto__: 3"];
  const response = `HTTP/1.1 200 OK\r\nContent-Length: 0\r\n${lines.join("\r\n")}\r\n\r\n`;
  const { origin } = await startServer(context, (socket) => socket.write(response));
  const { headers } = await openClient(context).send(get(origin));
  assert.deepEqual(Object.entries(headers), [
    ["content-length", "0"],
    ["x-a", "1, 2"],
    ["set-cookie", ["a=1", "b=2"]],
    ["etag", "1"],
    ["__proto__", "3"],
  ]);
});

const failing: readonly (readonly [what: string, response: string, message: RegExp])[] = [
  ["is not HTTP", "SMTP\r\n\r\n", /response is unusable/],
  ["has the status 700", "HTTP/1.1 700 No\r\nContent-Length: 0\r\n\r\n", /invalid status 700/],
  ["switches protocols", "HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", /switches to a protocol/],
  ["has two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", /response is unusable/],
  ["is too long", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n01234567890", /has more than 10 bytes/],
];

for (const [what, response, message] of failing) {
  test(`a request fails if its response ${what}, and the error names only the server`, async (context) => {
    const { origin } = await startServer(context, (socket) => socket.write(response));
    const sent = openClient(context).send(get(`${origin}/secret`, { maxResponse: 10 }));
    await assert.rejects(sent, (error: Error) => {
      assert.match(error.message, message);
      assert.ok(error.message.startsWith(`${origin}: `));
      assert.doesNotMatch(error.message, /secret|upstream/);
      return true;
    });
  });
}

const invalid: readonly (readonly [string, Partial<HttpRequest>, RegExp])[] = [
  ["a method", { method: "GET /" }, /method .* is invalid/],
  ["CONNECT", { method: "CONNECT" }, /method .* is invalid/],
  ["the name of a header", { headers: { "a b": "secret" } }, /name of a header .* is invalid/],
  ["the value of a header", { headers: { a: "secret\r\nb: c" } }, /header a .* invalid value/],
  ["a header without a value", { headers: { a: undefined } as never }, /header a .* invalid value/],
  ["a character beyond Latin-1", { headers: { a: "secret\u0100" } }, /header a .* invalid value/],
  ["a URL", { url: "ftp://secret" }, /URL .* is invalid/],
];

for (const [what, more, message] of invalid) {
  test(`${what} that the client does not allow is refused before anything is sent`, async (context) => {
    const { origin, sockets } = await startServer(context, (socket) => socket.write(OK));
    const sent = openClient(context).send(get(origin, more));
    await assert.rejects(sent, (error: Error) => message.test(error.message) && !error.message.includes("secret"));
    assert.equal(sockets.length, 0);
  });
}

for (const [method, attempts] of [
  ["GET", 3],
  ["POST", 2],
] as const) {
  test(`if the server closes a kept connection, a request with ${method} is sent ${attempts - 1} times`, async (context) => {
    const { origin, heads } = await startServer(context, (socket, count) => {
      if (count === 2) socket.destroy();
      else socket.write(OK);
    });
    const client = openClient(context);
    await client.send(get(origin));
    const again = client.send(get(origin, { method }));
    if (method === "GET") assert.equal((await again).status, 200);
    else await assert.rejects(again, /the server closed the connection|ECONNRESET/);
    assert.equal(heads.length, attempts);
  });
}

const idleTimes: readonly (readonly [what: string, keepAlive: number, response: string])[] = [
  ["the client does not keep connections", 0, OK],
  ["the server closes it", 5000, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"],
  ["the server keeps it for one second", 5000, "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 0\r\n\r\n"],
  ["bytes follow the response", 5000, `${OK}more`],
];

for (const [what, keepAlive, response] of idleTimes) {
  test(`a connection is not used again if ${what}`, async (context) => {
    const { origin, sockets } = await startServer(context, (socket) => socket.write(response));
    const client = openClient(context);
    for (let count = 0; count < 2; count++) await client.send(get(origin, { keepAlive }));
    assert.equal(sockets.length, 2);
  });
}

test("a connection is closed if the response arrives before the body was sent, and no further request waits behind the body", async (context) => {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  // This server reads only the beginning of each request.
  const server = createServer((socket) => {
    sockets.push(socket);
    socket
      .on("error", () => {})
      .once("data", (data) => {
        requests.push(String(data).slice(0, 6));
        socket.pause().write(OK);
      });
  });
  const port = await listenTcp(server);
  context.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const client = openClient(context);
  const post = { ...get(`http://127.0.0.1:${port}`), method: "POST", body: Buffer.alloc(64 * 1024 * 1024, "x") };
  assert.equal((await client.send(post)).status, 200);
  assert.equal((await client.send(get(`http://127.0.0.1:${port}`))).status, 200);
  assert.deepEqual([requests, sockets.length], [["POST /", "GET / "], 2]);
});

test("a GET request succeeds although the server has forgotten several idle connections", async (context) => {
  const { origin, sockets } = await startServer(context, (socket, count) => {
    if (count <= 3) socket.write(OK);
    else if (sockets.indexOf(socket) < 3) socket.resetAndDestroy();
    else socket.write(OK);
  });
  const client = openClient(context);
  await Promise.all([1, 2, 3].map(() => client.send(get(origin))));
  assert.equal((await client.send(get(origin))).status, 200);
  assert.equal(sockets.length, 4);
});

test("a method may be written in lower case, and a body may be any Uint8Array", async (context) => {
  const { origin, heads } = await startServer(context, (socket) => socket.write(OK));
  const client = openClient(context);
  await client.send({ ...get(origin), method: "put", body: new Uint8Array([72, 105]) as Buffer });
  assert.match(heads[0] ?? "", /^PUT \/ .*Content-Length: 2$/s);
});

test("an idle connection is closed after its time", async (context) => {
  const { origin, sockets } = await startServer(context, (socket) => socket.write(OK));
  await openClient(context).send(get(origin, { keepAlive: 10 }));
  const [socket] = sockets;
  assert.ok(socket !== undefined);
  if (!socket.readableEnded) await once(socket, "end");
});

test("at most 32 requests are sent to a server at a time, the others wait, and four connections are kept", async (context) => {
  const held: Socket[] = [];
  const arrived = Promise.withResolvers<void>();
  const { origin, heads, sockets } = await startServer(context, (socket, count) => {
    if (count > 32) socket.write(OK);
    else if (held.push(socket) === 32) arrived.resolve();
  });
  const client = openClient(context);
  const sent = Array.from({ length: 40 }, () => client.send(get(origin)));
  await arrived.promise;
  await assert.rejects(client.send(get(origin, { timeout: 20 })), /no complete response within 20 ms/);
  assert.equal(heads.length, 32);
  for (const socket of held) socket.write(OK);
  await Promise.all(sent);
  assert.deepEqual([heads.length, sockets.length], [40, 32]);
  while (sockets.filter(({ readableEnded }) => !readableEnded).length > 4) await new Promise(setImmediate);
});

test("a request that waits is sent on a new connection if a busy connection breaks", async (context) => {
  const { origin, heads, sockets } = await startServer(context, (socket, count) => {
    if (count === 32) for (const each of sockets) each.destroy();
    if (count > 32) socket.write(OK);
  });
  const client = openClient(context);
  const sent = Array.from({ length: 34 }, () => client.send(get(origin, { method: "POST" })));
  const results = await Promise.allSettled(sent);
  assert.deepEqual([results.filter(({ status }) => status === "fulfilled").length, heads.length], [2, 34]);
});

test("a request without a complete response fails after its timeout, and the connection is closed", async (context) => {
  const { origin, sockets } = await startServer(context, (socket) => socket.write("HTTP/1.1 200 OK\r\n"));
  await assert.rejects(openClient(context).send(get(origin, { timeout: 20 })), /no complete response within 20 ms/);
  const [socket] = sockets;
  assert.ok(socket !== undefined);
  if (!socket.readableEnded) await once(socket, "end");
});

test("closing the client fails the requests under way and those that follow", async (context) => {
  const arrived = Promise.withResolvers<void>();
  const { origin } = await startServer(context, () => arrived.resolve());
  const client = openClient(context);
  const sent = client.send(get(origin));
  await arrived.promise;
  client.close();
  await assert.rejects(sent, /the HTTP client is closed/);
  await assert.rejects(client.send(get(origin)), /the HTTP client is closed/);
});

test("an address that no setting allows is refused", async (context) => {
  const sent = openClient(context, []).send(get("http://127.0.0.1:1/"));
  await assert.rejects(sent, /127\.0\.0\.1:1 is a loopback address/);
});

const authority = await makeAuthority();
const { certificate: cert, key } = await authority.issue({
  name: "up",
  sans: ["localhost", "127.0.0.1"],
  usage: "server",
});
const other = await authority.issue({ name: "up", sans: ["other.test"], usage: "server" });

/**
 * The host and the certificate of the server, whether the client trusts the certificate's authority and verifies the
 * certificate, and the outcome.
 */
const secure: readonly (readonly [what: string, options: SecureOptions, outcome: RegExp])[] = [
  ["with a trusted certificate for the name", { host: "localhost" }, /^200$/],
  ["with a trusted certificate for the address", { host: "127.0.0.1" }, /^200$/],
  ["with a certificate of an unknown authority", { host: "localhost", trusts: false }, /unable to verify|self-signed/],
  ["with a certificate for another name", { host: "localhost", certificate: other }, /does not match/],
  ["with a certificate for another address", { host: "127.0.0.1", certificate: other }, /does not match/],
  ["without verification", { host: "localhost", certificate: other, trusts: false, verify: false }, /^200$/],
];

interface SecureOptions {
  readonly host: string;
  readonly certificate?: { readonly certificate: string; readonly key: string };
  readonly trusts?: boolean;
  readonly verify?: boolean;
}

for (const [
  what,
  { host, certificate = { certificate: cert, key }, trusts = true, verify = true },
  outcome,
] of secure) {
  test(`two requests over TLS ${what} end as ${outcome}, on one connection if they succeed`, async (context) => {
    let connections = 0;
    const server = createTlsServer({ cert: certificate.certificate, key: certificate.key }, (socket) => {
      connections++;
      socket.on("error", () => {}).on("data", () => socket.write(OK));
    });
    server.on("tlsClientError", () => {});
    const port = await listenTcp(server);
    const guard = createGuard({ allowedUpstreams: ["127.0.0.0/8", "::1"], ownListeners: [] });
    const client = httpClientsBehind(connectBehind(guard, trusts ? [authority.certificate] : []))();
    context.after(() => {
      client.close();
      server.close();
    });
    for (let count = 0; count < 2; count++) {
      const sent = client.send(get(`https://${host}:${port}/`, { verify }));
      const received = await sent.then(
        ({ status }) => `${status}`,
        (error: Error) => error.message,
      );
      assert.match(received, outcome);
    }
    if (outcome.test("200")) assert.equal(connections, 1);
  });
}
