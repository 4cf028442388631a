/** forward-auth in the real proxy, with HTTP servers that act as authorization servers. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { type CollectorAnswer, startLogCollector } from "../../../test/plugins/log-servers.ts";
import { startProxyWith } from "../../../test/plugins/proxy.ts";
import { getTarget, startRawServer } from "../../../test/plugins/raw-http.ts";
import { forwardAuth } from "./index.ts";

/** An authorization server. Without `answer`, it admits every request. */
async function startServer(test: TestContext, answer?: CollectorAnswer) {
  const { received, origin } = await startLogCollector(test, answer);
  return { asked: received, address: `http://${origin}/auth` };
}

async function start(test: TestContext, config: object = {}, answer?: CollectorAnswer) {
  const { asked, address } = await startServer(test, answer);
  const forwardAuth = { name: "forward-auth", config: { address, ...config } };
  const consumers = [{ username: "alice" }, { username: "guest" }, { username: "bob", keys: ["bob-key"] }];
  const gateway = await startProxyWith(test, forwardAuth, { consumers });
  return { asked, gateway, address };
}

/** The headers that the upstream received. */
async function echoed(response: Response): Promise<Readonly<Record<string, string>>> {
  assert.equal(response.status, 200);
  return ((await response.json()) as { headers: Readonly<Record<string, string>> }).headers;
}

test("the authorization server receives the client's headers, and the method, scheme, host, URI and client address of the request", async (test) => {
  const { asked, gateway } = await start(test);
  await echoed(await gateway.fetch("/a%20b/é?x=%2F", { method: "POST", body: "text", headers: { cookie: "a=1" } }));
  const [{ method, url, headers, body } = assert.fail()] = asked;
  assert.deepEqual([method, url, body, asked.length], ["GET", "/auth", "", 1]);
  assert.equal(headers["x-forwarded-method"], "POST");
  assert.equal(headers["x-forwarded-proto"], "http");
  assert.equal(headers["x-forwarded-host"], new URL(gateway.url).host);
  assert.equal(headers["x-forwarded-uri"], "/a%20b/%C3%A9?x=%2F");
  assert.equal(headers["x-forwarded-for"], "127.0.0.1");
  assert.equal(headers.cookie, "a=1");
  assert.match(headers["content-type"] ?? "", /^text\/plain/);
});

test("the authorization server receives the normalized path on which routes match", async (test) => {
  const { asked, gateway } = await start(test);
  assert.equal(await getTarget(gateway.url, "/public/..//%61dmin/%2e%2E/admin?a=/../"), 200);
  assert.equal(asked[0]?.headers["x-forwarded-uri"], "/admin?a=/../");
});

test("the authorization server receives no forged headers, conditions or ranges", async (test) => {
  const { asked, gateway } = await start(test);
  const forged = {
    "X-Forwarded-Uri": "/public",
    X_Forwarded_Method: "GET",
    "X-Forwarded-For": "10.0.0.1",
    "X-Forwarded-User": "admin",
    "X-Original-URL": "http://app.test/public",
    "X-Real-IP": "10.0.0.1",
    Forwarded: "for=10.0.0.1",
    "X-Consumer-Username": "admin",
    "If-None-Match": "*",
    Range: "bytes=0-1",
  };
  await echoed(await gateway.fetch("/private", { headers: { ...forged, "X-Tenant": "a" } }));
  const { headers = {} } = asked[0] ?? {};
  const seen = Object.keys(forged).map((name) => headers[name.toLowerCase()]);
  assert.deepEqual(seen, ["/private", undefined, "127.0.0.1", ...Array(7).fill(undefined)]);
  assert.equal(headers["x-tenant"], "a");
});

test("with auth_request_headers, the authorization server receives only the listed headers of the client", async (test) => {
  const { asked, gateway } = await start(test, { auth_request_headers: ["Authorization"] });
  await echoed(await gateway.fetch("/", { headers: { authorization: "Bearer a", cookie: "a=1" } }));
  const { authorization, cookie, "x-forwarded-uri": uri } = asked[0]?.headers ?? {};
  assert.deepEqual([authorization, cookie, uri], ["Bearer a", undefined, "/"]);
});

test("the upstream receives the authorization server's headers instead of the client's, in any spelling", async (test) => {
  const names = ["Remote-User", "Remote-Groups", "Authorization"];
  const { asked, gateway } = await start(test, { auth_response_headers: names }, (response) => {
    response.writeHead(204, { "Remote-User": "alice", Authorization: "Bearer b", "X-Other": "1" }).end();
  });
  const forged = { "Remote-User": "admin", remote_user: "admin", "Remote-Groups": "admins", REMOTE_GROUPS: "admins" };
  const headers = await echoed(await gateway.fetch("/", { headers: { ...forged, authorization: "Bearer a" } }));
  assert.equal(headers["remote-user"], "alice");
  assert.equal(headers.authorization, "Bearer b");
  for (const absent of ["remote_user", "remote-groups", "remote_groups", "x-other"]) {
    assert.equal(headers[absent], undefined, absent);
  }
  assert.equal(asked[0]?.headers.authorization, "Bearer a");
});

test("a cached response is served again only if the authorization server sets the same headers", async (test) => {
  const { address } = await startServer(test, (response) => {
    const { cookie = "" } = response.req.headers;
    response.writeHead(204, { "Remote-User": cookie.replace("user=", "") }).end();
  });
  const config = { address, auth_response_headers: ["Remote-User"] };
  const cache = { name: "proxy-cache", config: { strategy: "memory" } };
  const gateway = await startProxyWith(test, { name: "forward-auth", config }, { plugins: [cache] });
  const seen: unknown[] = [];
  for (const user of ["alice", "bob", "alice"]) {
    const response = await gateway.fetch("/", { headers: { cookie: `user=${user}` } });
    seen.push([response.headers.get("x-cache-status"), (await echoed(response))["remote-user"]]);
  }
  assert.deepEqual(seen, [
    ["Miss", "alice"],
    ["Miss", "bob"],
    ["Hit", "alice"],
  ]);
});

test("the client receives only the cookies that add_auth_cookies_to_response lists, if the authorization server admits a request", async (test) => {
  const config = { add_auth_cookies_to_response: ["session"] };
  const { gateway } = await start(test, config, (response) => {
    response.writeHead(200, { "Set-Cookie": ["session=1; Path=/", "other=2"] }).end("a body");
  });
  const response = await gateway.fetch("/");
  assert.deepEqual(response.headers.getSetCookie(), ["session=1; Path=/"]);
  await echoed(response);
});

for (const status of [401, 403, 302, 304, 404, 429, 500]) {
  test(`the client receives a response of the authorization server with the status ${status}`, async (test) => {
    const { gateway } = await start(test, {}, (response) => {
      const headers = { "WWW-Authenticate": "Basic", "Set-Cookie": ["a=1", "b=2"], Location: "/login?a=b" };
      response.writeHead(status, { ...headers, Connection: "X-Hop", "X-Hop": "1" }).end(status === 304 ? "" : "no");
    });
    const response = await gateway.fetch("/", { redirect: "manual" });
    assert.equal(response.status, status);
    assert.equal(await response.text(), status === 304 ? "" : "no");
    assert.equal(response.headers.get("www-authenticate"), "Basic");
    assert.deepEqual(response.headers.getSetCookie(), ["a=1", "b=2"]);
    assert.match(response.headers.get("location") ?? "", /^http:\/\/127\.0\.0\.1:\d+\/login\?a=b$/);
    assert.equal(response.headers.get("x-hop"), null);
    assert.equal((await gateway.fetch("/", { method: "HEAD", redirect: "manual" })).status, status);
  });
}

test("with preserve_location_header, the client receives a relative Location unchanged", async (test) => {
  const { gateway } = await start(test, { preserve_location_header: true }, (response) => {
    response.writeHead(302, { Location: "/login" }).end();
  });
  assert.equal((await gateway.fetch("/", { redirect: "manual" })).headers.get("location"), "/login");
});

test("the gateway does not follow redirects of the authorization server", async (test) => {
  const { asked, gateway } = await start(test, {}, (response) => {
    response.writeHead(302, { Location: "/other" }).end();
  });
  await gateway.fetch("/", { redirect: "manual" });
  assert.equal(asked.length, 1);
});

test("gRPC clients receive a refusal as a gRPC status", async (test) => {
  const { gateway } = await start(test, {}, (response) => response.writeHead(403).end("<html>"));
  const response = await gateway.fetch("/", { method: "POST", headers: { "content-type": "application/grpc" } });
  assert.equal(response.headers.get("grpc-status"), "7");
});

test("with forward_body, the authorization server and the upstream receive the body, and a body above max_body_size is refused", async (test) => {
  const { asked, address } = await startServer(test);
  const config = { address, forward_body: true, max_body_size: 8, preserve_request_method: true };
  const forwarded: string[] = [];
  const gateway = await startProxyWith(
    test,
    { name: "forward-auth", config },
    {
      async upstream(request, response) {
        forwarded.push(Buffer.concat(await request.toArray()).toString());
        response.end();
      },
    },
  );
  assert.equal((await gateway.fetch("/", { method: "PUT", body: "12345678" })).status, 200);
  assert.deepEqual([asked[0]?.method, asked[0]?.body], ["PUT", "12345678"]);
  assert.equal((await gateway.fetch("/", { method: "PUT", body: "123456789" })).status, 413);
  assert.deepEqual([asked.length, forwarded], [1, ["12345678"]]);
});

describe("with consumer_header", () => {
  const config = { consumer_header: "Remote-User" };
  const named =
    (name: string | null, status = 200): CollectorAnswer =>
    (response) =>
      void response.writeHead(status, name === null ? {} : { "Remote-User": name }).end("no");

  test("a request is attributed to the consumer whom the authorization server names", async (test) => {
    const { gateway } = await start(test, config, named("alice"));
    const headers = await echoed(await gateway.fetch("/"));
    assert.equal(headers["x-consumer-username"], "alice");
    assert.notEqual(headers["x-credential-identifier"], undefined);
  });

  for (const [what, name, status, anonymous, expected] of [
    ["whose consumer does not exist is refused", "eve", 200, null, 403],
    ["whose consumer does not exist is refused, even with an anonymous consumer", "eve", 200, "guest", 403],
    ["for which the server names no consumer is refused", null, 200, null, 403],
    ["for which the server names no consumer is attributed to the anonymous consumer", null, 200, "guest", "guest"],
    ["that the server answers with 401 is refused", null, 401, null, 401],
    ["that the server answers with 401 is attributed to the anonymous consumer", "alice", 401, "guest", "guest"],
    ["that the server answers with 403 is refused, even with an anonymous consumer", null, 403, "guest", 403],
    ["that the server redirects is redirected, even with an anonymous consumer", null, 302, "guest", 302],
  ] as const) {
    test(`a request ${what}`, async (test) => {
      const { gateway } = await start(
        test,
        { ...config, anonymous, auth_response_headers: ["Remote-User"] },
        named(name, status),
      );
      const response = await gateway.fetch("/", { redirect: "manual", headers: { "Remote-User": "admin" } });
      if (typeof expected === "number") return assert.equal(response.status, expected);
      const headers = await echoed(response);
      assert.deepEqual([headers["x-consumer-username"], headers["remote-user"]], [expected, undefined]);
    });
  }

  test("with an anonymous consumer, the server is not asked about a request that another plugin has authenticated", async (test) => {
    const { asked, address } = await startServer(test);
    const plugin = { ...config, address, anonymous: "guest", auth_response_headers: ["Remote-User"] };
    const gateway = await startProxyWith(
      test,
      { name: "forward-auth", config: plugin },
      { plugins: [{ name: "key-auth" }], consumers: [{ username: "bob", keys: ["bob-key"] }, { username: "guest" }] },
    );
    const headers = await echoed(await gateway.fetch("/", { headers: { apikey: "bob-key", "Remote-User": "admin" } }));
    assert.deepEqual([headers["x-consumer-username"], headers["remote-user"], asked.length], ["bob", undefined, 0]);
  });
});

const ok = "HTTP/1.1 200 OK\r\n";
const faults: readonly (readonly [what: string, answer: Parameters<typeof startRawServer>[1]])[] = [
  ["closes the connection", (socket) => void socket.destroy()],
  ["does not answer", () => {}],
  ["sends its response slowly", (socket) => void socket.write(`${ok}Content-Length: 2\r\n\r\n1`)],
  ["sends informational responses only", (socket) => void socket.write("HTTP/1.1 103 Early Hints\r\n\r\n")],
  [
    "switches the protocol",
    (socket) => void socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\nConnection: Upgrade\r\n\r\n"),
  ],
  ["sends bytes that are not HTTP", (socket) => void socket.end("200 OK\r\n\r\n")],
  ["sends a line break in a header", (socket) => void socket.end(`${ok}Remote-User: a\rX-Role: admin\r\n\r\n`)],
  [
    "sends two Content-Length headers",
    (socket) => void socket.end(`${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`),
  ],
  [
    "sends both Content-Length and Transfer-Encoding",
    (socket) => void socket.end(`${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
  ],
  ["sends an invalid status", (socket) => void socket.write("HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n")],
  ["ends its response early", (socket) => void socket.end(`${ok}Content-Length: 5\r\n\r\nab`)],
  ["sends a head of 1 MB", (socket) => void socket.end(`${ok}A: ${"a".repeat(1e6)}\r\n\r\n`)],
  ["sends a body of 2 MB", (socket) => void socket.end(`${ok}\r\n${"a".repeat(2e6)}`)],
];
for (const [what, answer] of faults) {
  test(`a request is answered with 503 if the authorization server ${what}`, async (test) => {
    const address = await startRawServer(test, answer);
    const gateway = await startProxyWith(test, { name: "forward-auth", config: { address, timeout: 200 } });
    const response = await gateway.fetch("/", { headers: { "Remote-User": "admin" } });
    assert.equal(response.status, 503);
    assert.doesNotMatch(await response.text(), /127\.0\.0\.1/);
    assert.match(JSON.stringify(gateway.log), /forward-auth: the request to the authorization server failed/);
  });
}

test("a request is answered with 503 if the authorization server's address is not allowed or cannot be reached", async (test) => {
  for (const [address, reason] of [
    ["http://169.254.169.254/latest", /is a link-local address/],
    ["http://127.0.0.1:1/", /ECONNREFUSED/],
  ] as const) {
    const gateway = await startProxyWith(test, { name: "forward-auth", config: { address, timeout: 1000 } });
    assert.equal((await gateway.fetch("/")).status, 503);
    assert.match(JSON.stringify(gateway.log), reason);
  }
});

test("a request to the authorization server is sent again if the server closes the reused connection instead of answering", async (test) => {
  const address = await startRawServer(test, (socket, count) => {
    if (count === 2) socket.destroy();
    else socket.write(`${ok}Content-Length: 0\r\n\r\n`);
  });
  const gateway = await startProxyWith(test, { name: "forward-auth", config: { address } });
  await echoed(await gateway.fetch("/"));
  await echoed(await gateway.fetch("/"));
});

test("auth_response_headers are removed from the request before the authorization server has answered", async () => {
  const phases = forwardAuth.phases(
    withConfigDefaults("forward-auth", { address: "http://login.test", auth_response_headers: ["Remote-User"] }),
    fakeContext(),
  );
  const exchange = fakeExchange({ headers: { "remote-user": "admin" } });
  const answer = phases.access?.(exchange);
  assert.deepEqual(exchange.upstreamHeaderValues("remote-user"), []);
  assert.equal((await answer)?.status, 503);
});

describe("the config of forward-auth", () => {
  const address = "http://login.test";
  const own = (name: string) => `the gateway itself sets '${name}': remove it`;
  for (const [config, ...violations] of [
    [{ address: null }, "address: required field missing"],
    [{ address: "login.test" }, "address: missing scheme in url"],
    [{ address: "http://user:password@login.test" }, "address: must not contain a user name or a password"],
    [{ auth_request_headers: ["host"] }, `auth_request_headers.0: ${own("host")}`],
    [{ auth_request_headers: ["a", "X-Forwarded-Uri"] }, `auth_request_headers.1: ${own("X-Forwarded-Uri")}`],
    [
      { auth_response_headers: ["Content-Length", "Transfer-Encoding"] },
      `auth_response_headers.0: ${own("Content-Length")}`,
      `auth_response_headers.1: ${own("Transfer-Encoding")}`,
    ],
    [{ anonymous: "guest" }, "anonymous: needs consumer_header: without it, requests get no consumer"],
    [{ max_body_size: -1 }, "max_body_size: value should be between 1 and 8388608"],
  ] as const) {
    test(`is refused with ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("forward-auth", { address, ...config }), violations);
    });
  }
});
