/** Explanations of connections to stream listeners, each compared with what the listener then does. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import type { DocumentListener, Explanation } from "@sluice/model";
import { firstKeyPair } from "../../../tools/programs/pairs.ts";
import { type ExplainRig, startExplainRig } from "./testing-worker.ts";

let rig: ExplainRig;
let [plain, secure] = [0, 0];
before(async () => {
  rig = await startExplainRig({
    plan: { listenStreams: [false, true].map((tls) => ({ host: "127.0.0.1", port: 0, tls })) },
  });
  [plain = 0, secure = 0] = rig.worker.proxy.streamAddresses.map(({ port }) => port);
});
after(() => rig[Symbol.asyncDispose]());

const db = (members: object = {}) => ({ name: "db", url: `tcp://127.0.0.1:${rig.upstreamPort}`, ...members });
const route = (members: object = {}) => ({
  ...{ name: "r", protocols: ["tcp"], sources: [{ ip: "127.0.0.0/8" }], service: { name: "db" } },
  ...members,
});
const serve = (members: object = {}) => rig.serve({ services: [db()], routes: [route()], ...members });
const certificates = [{ cert: firstKeyPair.cert, key: firstKeyPair.key, snis: [{ name: "a.example" }] }];

const explainPlain = (members: object = {}) => rig.explain({ url: `tcp://127.0.0.1:${plain}`, ...members });
const explainSecure = (name = "a.example", members: object = {}) =>
  rig.explain({ url: `tls://${name}:${secure}`, ...members });

/** Whether a connection is forwarded: the upstream answers requests. */
async function isForwarded(serverName?: string): Promise<boolean> {
  const socket: Socket =
    serverName === undefined
      ? connect(plain, "127.0.0.1")
      : connectTls({ port: secure, host: "127.0.0.1", servername: serverName, rejectUnauthorized: false });
  socket.on("error", () => {}).write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const isAnswered = await new Promise<boolean>((resolve) =>
    socket.once("data", () => resolve(true)).once("close", () => resolve(false)),
  );
  socket.destroy();
  return isAnswered;
}

const resultOf = ({ route: chosen, closed, upstream }: Explanation) => [
  chosen?.name ?? null,
  closed?.status ?? upstream?.url ?? null,
];

describe("the explanation of a connection", () => {
  it("shows the connection, its route, its service and the target", async () => {
    serve();
    const explained = await explainPlain({ client_address: "::ffff:127.0.0.9", client_port: 700 });
    assert.deepEqual(explained.connection, {
      protocol: "tcp",
      client_address: "127.0.0.9",
      client_port: 700,
      destination_address: "127.0.0.1",
      port: plain,
      server_name: null,
    });
    const address = `127.0.0.1:${rig.upstreamPort}`;
    assert.deepEqual(explained.upstream, {
      ...{ method: null, url: `tcp://${address}`, path_changes: [], headers: [], algorithm: "round-robin" },
      targets: [{ address, weight: null, healthy: null, refusal: null }],
      target: address,
    });
    const { request, handshake, consumer, response, closed, unknown, service, candidates, warnings, log } = explained;
    assert.deepEqual(
      { request, handshake, consumer, response, closed, unknown, service: service?.name, warnings, log },
      {
        ...{ request: null, handshake: null, consumer: null, response: null, closed: null, unknown: null },
        ...{ service: "db", warnings: [], log: [] },
      },
    );
    assert.deepEqual(
      candidates.map(({ route: { name }, path, result }) => [name, path, result]),
      [["r", null, "chosen"]],
    );
    assert.equal(await isForwarded(), true);
  });

  it("shows the certificate of TLS that ends at the gateway, and none of TLS that is passed through", async () => {
    const routes = [
      route({ name: "end", protocols: ["tls"], snis: ["A.example"] }),
      route({ name: "pass", protocols: ["tls_passthrough"], snis: ["b.example"] }),
    ];
    serve({ routes, certificates });
    const [end, pass, none] = [await explainSecure(), await explainSecure("b.example"), await explainSecure("c.test")];
    assert.deepEqual(
      [end, pass, none].map(({ connection, handshake }) => [connection?.protocol, handshake?.sni]),
      [
        ["tls", "a.example"],
        ["tls_passthrough", undefined],
        ["tls", undefined],
      ],
    );
    assert.deepEqual([end, pass, none].map(resultOf), [
      ["end", `tcp://127.0.0.1:${rig.upstreamPort}`],
      ["pass", `tcp://127.0.0.1:${rig.upstreamPort}`],
      [null, 404],
    ]);
    assert.equal(await isForwarded("a.example"), true);
    assert.equal(await isForwarded("c.test"), false);
  });

  it("warns if the handshake fails, because no SNI matches", async () => {
    serve({ routes: [route({ protocols: ["tls"], snis: ["a.example"] })] });
    const { warnings } = await explainSecure();
    assert.deepEqual(warnings, ["a TLS handshake with the node fails: no SNI matches the server name a.example"]);
    assert.equal(await isForwarded("a.example"), false);
  });

  it("takes the server name of a URL with an address from server_name", async () => {
    const named = route({ name: "named", protocols: ["tls"], snis: ["a.example"], sources: null });
    const other = route({ name: "other", protocols: ["tls"] });
    serve({ routes: [named, other], certificates });
    assert.equal((await explainSecure("127.0.0.1")).route?.name, "other");
    assert.equal((await explainSecure("127.0.0.1", { server_name: "A.example" })).route?.name, "named");
  });

  it("says why routes do not match, the nearest first", async () => {
    serve({
      routes: [
        route({ name: "secure", protocols: ["tls"] }),
        route({ name: "port", sources: null, destinations: [{ port: 1 }] }),
        route({ name: "client", sources: [{ ip: "10.0.0.0/8" }] }),
      ],
    });
    const explained = await explainPlain();
    assert.deepEqual(
      explained.candidates.map(({ route: { name }, result, attribute, reason }) => [name, result, attribute, reason]),
      [
        ["client", "no match", "source", "the source 127.0.0.1 is not 10.0.0.0/8"],
        ["port", "no match", "destination", `the destination 127.0.0.1:${plain} is not port 1`],
        ["secure", "no match", "protocol", "the connection has no TLS, and the route has the protocol tls"],
      ],
    );
    assert.deepEqual(resultOf(explained), [null, 404]);
    assert.deepEqual(explained.closed, { status: 404, reason: "no Route matched with those values" });
    assert.deepEqual(explained.log, ["a connection was closed: no Route matched with those values"]);
    assert.equal(await isForwarded(), false);
    assert.equal((await explainPlain({ size: 1 })).other_candidates, 2);
  });

  it("says which rule of precedence decides", async () => {
    serve({ routes: [route({ name: "wide" }), route({ name: "narrow", sources: [{ ip: "127.0.0.1" }] })] });
    const { candidates } = await explainPlain();
    assert.match(
      candidates[1]?.reason ?? "",
      /^it matches, but the route narrow takes precedence: its sources are more/,
    );
  });

  it("matches a destination that the node has besides the address of the listener", async () => {
    serve({ routes: [route({ sources: null, destinations: [{ ip: "10.0.0.7" }] })] });
    assert.equal((await explainPlain()).route, null);
    assert.equal((await rig.explain({ url: `tcp://10.0.0.7:${plain}` })).route?.name, "r");
  });

  const ofRoute = { route: { name: "r" } };
  const deny = { config: { deny: ["127.0.0.0/8"] } };
  const log = { name: "tcp-log", config: { host: "127.0.0.1", port: 9 }, protocols: ["tcp"] };
  const rows: readonly (readonly [
    does: string,
    plugins: readonly object[],
    closed: { readonly status: number; readonly reason: RegExp } | null,
    results: readonly (readonly [name: string, result: string, reason: string | null])[],
  ])[] = [
    [
      "names the plugin that closes it, and plugins that act later",
      [{ name: "ip-restriction", ...deny }, log],
      { status: 403, reason: /^IP address not allowed: 127\.0\.0\.1$/ },
      [
        ["ip-restriction", "answered", "IP address not allowed: 127.0.0.1"],
        ["tcp-log", "applies", "it acts when the connection has ended"],
      ],
    ],
    [
      "names plugins that let it pass",
      [{ name: "concurrency-limiting", config: { limit: 1 }, protocols: ["tcp"] }],
      null,
      [["concurrency-limiting", "ran", null]],
    ],
    [
      "names plugins that act on requests only, the plugin of the route first",
      [
        { name: "cors", ...ofRoute },
        { ...log, protocols: ["http"] },
      ],
      null,
      [
        ["cors", "other protocol", "it acts on requests only"],
        ["tcp-log", "other protocol", "its protocols are those of requests: add tcp, tls or tls_passthrough"],
      ],
    ],
    [
      "names a plugin that protects the route, but acts on requests only",
      [{ name: "key-auth", ...ofRoute }, log],
      { status: 503, reason: /^the plugin key-auth protects the route, but acts on HTTP only/ },
      [
        [
          "key-auth",
          "answered",
          "the plugin key-auth protects the route, but acts on HTTP only: remove the plugin from the route or Gateway",
        ],
        ["tcp-log", "not reached", null],
      ],
    ],
    [
      "names a plugin that another one overrides",
      [
        { name: "ip-restriction", ...deny },
        { name: "ip-restriction", config: { deny: ["10.0.0.1"] }, ...ofRoute },
      ],
      null,
      [
        ["ip-restriction", "ran", null],
        ["ip-restriction", "overridden", "the plugin ip-restriction of route r is more specific"],
      ],
    ],
    [
      "names a disabled plugin",
      [{ name: "ip-restriction", ...deny, enabled: false }],
      null,
      [["ip-restriction", "disabled", null]],
    ],
  ];
  for (const [does, plugins, closed, results] of rows)
    it(does, async () => {
      serve({ plugins });
      const explained = await explainPlain();
      assert.deepEqual(
        explained.plugins.map(({ name, result, reason }) => [name, result, reason]),
        results,
      );
      assert.equal(explained.closed?.status ?? null, closed?.status ?? null);
      assert.match(explained.closed?.reason ?? "", closed?.reason ?? /^$/);
      assert.equal(await isForwarded(), closed === null);
    });

  it("warns if a disabled plugin would protect the route, and changes no counter", async () => {
    const limit = { name: "concurrency-limiting", config: { limit: 1 }, protocols: ["tcp"] };
    serve({ plugins: [limit] });
    for (const _each of [1, 2]) assert.equal((await explainPlain()).closed, null);
    serve({ plugins: [{ ...limit, enabled: false }] });
    assert.match(
      (await explainPlain()).warnings.join(),
      /^the plugin concurrency-limiting on all requests is disabled/,
    );
  });

  for (const [why, members, status, reason] of [
    ["the service is disabled", { services: [{ ...{ name: "db", host: "a", enabled: false } }] }, 404, /no Route/],
    [
      "the route has no service",
      { routes: [{ name: "r", protocols: ["tcp"], sources: [{ ip: "127.0.0.0/8" }] }] },
      503,
      /^the route has no service$/,
    ],
    [
      "no target accepts connections",
      { services: [{ name: "db", host: "pool", protocol: "tcp" }], upstreams: [{ name: "pool" }] },
      503,
      /^no target accepts connections$/,
    ],
    [
      "the address of the upstream is refused",
      { services: [{ name: "db", url: "tcp://169.254.169.254:80" }] },
      503,
      /is a link-local address/,
    ],
  ] as const)
    it(`says that ${why}`, async () => {
      serve(members);
      const { closed, upstream } = await explainPlain();
      assert.deepEqual([closed?.status, upstream], [status, null]);
      assert.match(closed?.reason ?? "", reason);
      assert.equal(await isForwarded(), false);
    });

  it("names the target that the hash of the client's address selects", async () => {
    const targets = ["127.0.0.1", "127.0.0.2", "127.0.0.3"].map((host) => ({ target: `${host}:${rig.upstreamPort}` }));
    const pool = { name: "pool", algorithm: "consistent-hashing", hash_on: "ip", targets };
    serve({ services: [{ name: "db", host: "pool", protocol: "tls" }], upstreams: [pool] });
    const { upstream } = await explainPlain();
    assert.equal(upstream?.url, "tls://pool:80");
    assert.notEqual(upstream?.target, null);
    assert.equal((await explainPlain()).upstream?.target, upstream?.target);
    serve({
      services: [{ name: "db", host: "pool", protocol: "tcp" }],
      upstreams: [{ ...pool, algorithm: "round-robin" }],
    });
    assert.equal((await explainPlain()).upstream?.target, null);
  });

  const unknown: readonly (readonly [url: () => string, members: object, reason: RegExp])[] = [
    [
      () => "tcp://127.0.0.1:1",
      {},
      /^the node has no stream listener on the port 1 \(SLUICE_STREAM_LISTEN\); there are \d+, \d+ ssl$/,
    ],
    [
      () => `tls://a.example:${plain}`,
      {},
      /^the stream listener of the port \d+ is for connections without TLS: describe one with tcp:\/\/$/,
    ],
    [
      () => `tcp://127.0.0.1:${secure}`,
      {},
      /^the stream listener of the port \d+ is for connections with TLS: describe one with tls:\/\/$/,
    ],
    [
      () => "tls://a.example:443",
      { port: 444 },
      /^no listener has the port 444; there are 9443 \(a\/tls\), 9443 \(a\/web\)$/,
    ],
    [() => "tcp://a.example:443", { port: 443 }, /^the listeners of the port 443 do not serve tcp URLs$/],
    [
      () => "tls://web.example:443",
      { port: 443 },
      /^the listener a\/web has the protocol https: it serves requests; describe a request \(https:\/\/\)$/,
    ],
    [() => "tls://other.test:443", { port: 443 }, /^no listener of the port 443 serves other\.test$/],
  ];
  const tls: DocumentListener = { name: "a/tls", port: 9443, public_port: 443, protocol: "tls", hostname: "a.example" };
  const listeners = [tls, { ...tls, name: "a/web", protocol: "https", hostname: "web.example" } as const];
  for (const [url, members, reason] of unknown)
    it(`has an unknown result, with the reason: ${reason.source}`, async () => {
      rig.serve({}, listeners);
      const explained = await rig.explain({ url: url(), ...members });
      assert.match(explained.unknown ?? "", reason);
      assert.deepEqual([explained.connection, explained.candidates, explained.closed], [null, [], null]);
    });

  it("shows the listener of a Gateway and its routes", async () => {
    const on = (name: string, members: object) =>
      route({ name, protocols: ["tls"], sources: null, _sluice: { listeners: ["a/tls"] }, ...members });
    const routes = [on("any", {}), on("named", { hosts: ["a.example"] }), route({ name: "own", protocols: ["tls"] })];
    rig.serve({ services: [db()], routes }, listeners);
    const explained = await rig.explain({ url: "tls://A.example:443", port: 443 });
    assert.deepEqual(
      [
        explained.listener,
        explained.route?.name,
        explained.connection?.destination_address,
        explained.connection?.port,
      ],
      ["a/tls", "named", null, 9443],
    );
    assert.deepEqual(
      explained.candidates.map(({ route: { name }, result }) => [name, result]),
      [
        ["named", "chosen"],
        ["any", "lost"],
      ],
    );
  });

  it("warns if a share of the connections is closed", async () => {
    serve({ routes: [route({ _sluice: { refused_percentage: 40 } })] });
    const { warnings, closed } = await explainPlain();
    assert.deepEqual(
      [warnings, closed],
      [["40 % of the connections are for backends that cannot be used: these are closed"], null],
    );
    serve({ routes: [route({ _sluice: { refused_percentage: 100 } })] });
    assert.equal((await explainPlain()).closed?.status, 503);
  });
});
