/** The record of log plugins, as an HTTP log server receives it from a node. */
import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { startObservedNode } from "../testing-observed-node.ts";

async function listen(context: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

interface LogRecord {
  readonly [member: string]: unknown;
  readonly request: Readonly<Record<string, unknown>>;
  readonly response: { readonly headers: Readonly<Record<string, unknown>>; readonly size: number };
  readonly latencies: Readonly<Record<string, number>>;
  readonly tries: readonly Readonly<Record<string, unknown>>[];
}

/** Starts a node with a global http-log; `logged` sends a request and returns its record. */
async function startLoggedNode(context: TestContext, document: object, engine = "http1") {
  let receive: (record: LogRecord) => void = () => {};
  const collector = await listen(context, async (request, response) => {
    receive(JSON.parse(Buffer.concat(await request.toArray()).toString()));
    response.end();
  });
  const { plugins = [], ...rest } = document as { readonly plugins?: readonly object[] };
  const httpLog = { name: "http-log", config: { http_endpoint: `http://127.0.0.1:${collector}/` } };
  const node = await startObservedNode(context, {
    document: { ...rest, plugins: [...plugins, httpLog] },
    settings: { SLUICE_ENGINE: engine },
  });
  return {
    port: node.gateway.proxy.port,
    async logged(sent: Parameters<typeof node.send>[0]): Promise<LogRecord> {
      const { promise, resolve } = Promise.withResolvers<LogRecord>();
      receive = resolve;
      await node.send(sent);
      return promise;
    },
  };
}

const consumers = [
  { id: "33333333-3333-4333-8333-333333333333", username: "demo", keyauth_credentials: [{ key: "secret" }] },
];

for (const engine of ["http1", "reply-from"]) {
  test(`a forwarded request is recorded in Kong's format, without its secrets: ${engine}`, async (context) => {
    const upstream = await listen(context, (_request, response) => {
      response
        .writeHead(
          201,
          [
            ["X-Many", "a"],
            ["X-Many", "b"],
            ["Content-Length", "2"],
          ].flat(),
        )
        .end("ok");
    });
    const { port, logged } = await startLoggedNode(
      context,
      {
        services: [
          {
            name: "up",
            url: `http://127.0.0.1:${upstream}/base`,
            upstream_headers: [{ name: "X-Api", value: "secret" }],
            retry_budget: { percent: 20, min_concurrency: 3 },
            routes: [{ name: "r", paths: ["/a"], plugins: [{ name: "key-auth" }] }],
          },
        ],
        consumers,
      },
      engine,
    );
    const before = Date.now();
    const record = await logged({
      method: "POST",
      path: "/a/b?x=1&x=2&flag&apikey=secret",
      headers: { Authorization: "secret", "Proxy-Authorization": "secret", "X-One": "1" },
      body: "body",
    });
    const { request, response, latencies, tries, ...rest } = record;
    assert.doesNotMatch(JSON.stringify(record), /secret/);
    assert.match(String(request.id), /^[0-9a-f]{32}$/);
    assert.deepEqual(
      [request.method, request.uri, request.url, request.querystring],
      [
        "POST",
        "/a/b?x=1&x=2&flag&apikey=REDACTED",
        `http://127.0.0.1:${port}/a/b?x=1&x=2&flag&apikey=REDACTED`,
        { x: ["1", "2"], flag: true, apikey: "REDACTED" },
      ],
    );
    const headers = request.headers as Readonly<Record<string, unknown>>;
    assert.deepEqual(
      [headers.authorization, headers["proxy-authorization"], headers["x-one"]],
      ["REDACTED", "REDACTED", "1"],
    );
    assert.equal(response.headers["content-length"], "2");
    assert.deepEqual(response.headers["x-many"], ["a", "b"]);
    assert.ok(Number(request.size) > 50 && response.size > 50);
    assert.deepEqual(Object.keys(latencies), ["request", "kong", "proxy", "receive"]);
    assert.ok(Object.values(latencies).every((value) => Number.isInteger(value) && value >= 0));
    const [{ balancer_start: start, ...tried } = {}] = tries;
    assert.deepEqual(tried, { ip: "127.0.0.1", port: upstream });
    for (const time of [rest.started_at, start]) assert.ok(Math.abs(Number(time) - before) < 2000);
    const { route, service, consumer, started_at: _, authenticated_entity: credential, ...others } = rest;
    assert.deepEqual(others, {
      upstream_uri: "/base/b?x=1&x=2&flag&apikey=REDACTED",
      upstream_status: "201",
      client_ip: "127.0.0.1",
      source: "upstream",
      workspace: "0dc6f45b-8f8d-40d2-a504-473544ee190b",
      workspace_name: "default",
    });
    const named = (entity: unknown) => {
      const { name, username, path, ws_id: workspace } = entity as Readonly<Record<string, unknown>>;
      return { name: name ?? username, path, workspace: workspace === others.workspace };
    };
    assert.deepEqual([route, service, consumer].map(named), [
      { name: "r", path: undefined, workspace: true },
      { name: "up", path: "/base", workspace: true },
      { name: "demo", path: undefined, workspace: true },
    ]);
    assert.equal((credential as { readonly consumer_id: string }).consumer_id, consumers[0]?.id);
  });

  test(`a request that the gateway answers is recorded without an upstream: ${engine}`, async (context) => {
    const document = {
      routes: [{ name: "r", paths: ["/"], plugins: [{ name: "request-termination", config: { status_code: 404 } }] }],
    };
    const { logged } = await startLoggedNode(context, document, engine);
    const { response, latencies, tries, upstream_uri, upstream_status, source, service } = await logged({ path: "/" });
    assert.match(String(response.headers["content-type"]), /^application\/json/);
    assert.deepEqual(
      { tries, upstream_uri, upstream_status, source, service, proxy: latencies.proxy },
      { tries: [], upstream_uri: "", upstream_status: "", source: "kong", service: undefined, proxy: -1 },
    );
  });
}

test("tokens of jwt are redacted in the parameters, headers and cookies that its config names", async (context) => {
  const config = { uri_param_names: ["token"], header_names: ["X-Token"], cookie_names: ["session"] };
  const { logged } = await startLoggedNode(context, {
    routes: [{ name: "r", paths: ["/"], plugins: [{ name: "jwt", config }] }],
  });
  const { request } = await logged({
    path: "/?token=secret",
    headers: { "X-Token": "secret", Cookie: "a=1; session=secret;session =secret; b=2" },
  });
  assert.doesNotMatch(JSON.stringify(request), /secret/);
  const { "x-token": token, cookie } = request.headers as Readonly<Record<string, unknown>>;
  assert.deepEqual([token, cookie], ["REDACTED", "a=1; session=REDACTED;session=REDACTED; b=2"]);
});

test("cookies and tokens that a response sends are redacted if a plugin reads them", async (context) => {
  const upstream = await listen(context, (_request, response) => {
    const location = "https://login.test/end?a=1&id_token_hint=secret#top";
    response.writeHead(302, { "Set-Cookie": ["session=secret; Path=/", "a=1"], Location: location }).end();
  });
  const config = { issuer: "https://login.test", auth_methods: ["bearer"], anonymous: "demo" };
  const { logged } = await startLoggedNode(context, {
    services: [
      {
        name: "up",
        url: `http://127.0.0.1:${upstream}`,
        routes: [{ paths: ["/"], plugins: [{ name: "openid-connect", config }] }],
      },
    ],
    consumers,
  });
  const { response } = await logged({ path: "/" });
  assert.deepEqual(response.headers["set-cookie"], ["session=REDACTED; Path=/", "a=1"]);
  assert.match(String(response.headers.location), /^https:\/\/login\.test\/end\?a=1&id_token_hint=REDACTED/);
});

test("a failed attempt is recorded as failed, in addition to the attempt that succeeds", async (context) => {
  const upstream = await listen(context, (_request, response) => response.end());
  const targets = [{ target: "127.0.0.1:1" }, { target: `127.0.0.1:${upstream}` }];
  const { logged } = await startLoggedNode(context, {
    upstreams: [{ name: "pool", targets }],
    services: [{ name: "up", host: "pool", routes: [{ paths: ["/"] }] }],
  });
  const ports: unknown[] = [];
  for (let count = 0; count < 2; count++) {
    const { tries } = await logged({ path: "/" });
    ports.push(...tries.map(({ port, state }) => [port, state]));
  }
  assert.deepEqual(
    ports.filter((tried) => String(tried).startsWith("1,")),
    [[1, "failed"]],
  );
  assert.equal(ports.filter((tried) => String(tried) === `${upstream},`).length, 2);
});
