/** The plugins of an explanation, and what they must not do. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { type Explanation, registerPlugins } from "@sluice/model";
import { listenTcp } from "../../../test/plugins/log-servers.ts";
import { misbehaving } from "../../../test/plugins/misbehaving.ts";
import type { WorkerServices } from "../plugin-services/instance-context.ts";
import { readOnlyServices } from "./read-only-services.ts";
import { type ExplainRig, startExplainRig } from "./testing-worker.ts";

registerPlugins([misbehaving]);

/** A server that no plugin may connect to. */
let connections = 0;
const trap = createServer((socket) => {
  connections++;
  socket.destroy();
});
let trapPort: number;
let rig: ExplainRig;
before(async () => {
  trapPort = await listenTcp(trap);
  rig = await startExplainRig({
    plan: { plugins: [new URL("../../../test/plugins/misbehaving.ts", import.meta.url).href] },
  });
});
after(async () => {
  await rig[Symbol.asyncDispose]();
  trap.close();
});

const ann = "11111111-1111-4111-8111-111111111111";

/** The routes `r` (`/`) and `o` (`/other`) of the service `s`, and the consumers ann and guest. */
function serve(plugins: readonly object[], more: object = {}): void {
  rig.serve({
    services: [{ name: "s", host: "127.0.0.1", port: rig.upstreamPort }],
    routes: [
      { name: "r", paths: ["/"], service: { name: "s" } },
      { name: "o", paths: ["/other"], service: { name: "s" } },
    ],
    consumers: [
      { id: ann, username: "ann", keyauth_credentials: [{ key: "ann-key" }], acls: [{ group: "staff" }] },
      { username: "guest", keyauth_credentials: [{ key: "guest-key" }, ofTeam] },
    ],
    plugins,
    ...more,
  });
}

const shown = ({ plugins }: Explanation) => plugins.map(({ name, result }) => [name, result]);

const ofRoute = { route: { name: "r" } };
const ofService = { service: { name: "s" } };
const ofAnn = { consumer: { username: "ann" } };
const keyAuth = { name: "key-auth" };
const withKey = { headers: { apikey: "ann-key" } };
const limit = (members: object = {}) => ({ name: "rate-limiting", config: { minute: 5 }, ...members });
const ofTeam = { key: "team-key", _sluice: { namespaces: ["team"] } };
const termination = { name: "request-termination", config: { status_code: 418 } };

type Rows = readonly (readonly [
  what: string,
  plugins: readonly object[],
  request: object,
  expected: readonly (readonly [name: string, result: string])[],
  reason?: RegExp,
])[];

describe("a plugin of the chain", () => {
  const rows: Rows = [
    ["ran", [{ name: "cors" }], {}, [["cors", "ran"]]],
    [
      "answered, and later ones are not reached",
      [termination, keyAuth, limit()],
      {},
      [
        ["key-auth", "answered"],
        ["rate-limiting", "not reached"],
        ["request-termination", "not reached"],
      ],
      /^No API key found in request$/,
    ],
    [
      "refused a key of another namespace",
      [keyAuth],
      { headers: { apikey: "team-key" } },
      [["key-auth", "answered"]],
      /^the credential belongs to the consumer guest of the namespace team, and this route has no namespace$/,
    ],
    [
      "applies without a phase access",
      [{ name: "response-transformer" }, { name: "file-log", config: { path: "/dev/null" } }],
      {},
      [
        ["response-transformer", "applies"],
        ["file-log", "applies"],
      ],
    ],
    [
      "would close the route if it were reached",
      [keyAuth, { ...limit(), _sluice: { unavailable: "the limit is invalid" } }],
      {},
      [
        ["key-auth", "answered"],
        ["rate-limiting", "not reached"],
      ],
      /^when it is reached, it answers 503: the limit is invalid$/,
    ],
    ["is disabled", [{ ...limit(), enabled: false }], {}, [["rate-limiting", "disabled"]]],
    [
      "is disabled on another route, and not listed",
      [{ ...limit(), ...ofRoute, enabled: false }],
      { url: "http://x.example/other" },
      [],
    ],
    [
      "is overridden by one of the route",
      [limit(), limit(ofRoute), limit(ofService)],
      {},
      [
        ["rate-limiting", "ran"],
        ["rate-limiting", "overridden"],
        ["rate-limiting", "overridden"],
      ],
      /^the plugin rate-limiting of route r is more specific$/,
    ],
    [
      "is overridden by one of the consumer",
      [keyAuth, limit(), limit(ofAnn)],
      withKey,
      [
        ["key-auth", "ran"],
        ["rate-limiting", "ran"],
        ["rate-limiting", "overridden"],
      ],
      /^the plugin rate-limiting of consumer ann is more specific$/,
    ],
    [
      "of another consumer is not listed",
      [keyAuth, limit(ofAnn)],
      { headers: { apikey: "guest-key" } },
      [["key-auth", "ran"]],
    ],
    [
      "changes the path",
      [{ name: "request-transformer", config: { replace: { uri: "/v2//17" } } }],
      {},
      [["request-transformer", "ran"]],
      /^the path becomes \/v2\/\/17$/,
    ],
    [
      "adds headers to responses, unless it is overridden",
      [
        { name: "response-transformer", config: { add: { headers: ["X-One:hush", "X-Two:hush"] } } },
        { name: "response-transformer", ...ofRoute },
      ],
      {},
      [
        ["response-transformer", "applies"],
        ["response-transformer", "overridden"],
      ],
      /^the plugin response-transformer of route r is more specific; otherwise it adds response headers: X-One, X-Two$/,
    ],
    [
      "acts on another protocol",
      [limit({ protocols: ["https"] })],
      {},
      [["rate-limiting", "other protocol"]],
      /^it does not act on http$/,
    ],
    [
      "of a consumer is not reached if the consumer is known too late",
      [keyAuth, { name: "correlation-id" }, { name: "correlation-id", ...ofAnn }],
      withKey,
      [
        ["correlation-id", "ran"],
        ["key-auth", "ran"],
        ["correlation-id", "not reached"],
      ],
      /consumer is not known yet$/,
    ],
    [
      "failed",
      [{ name: "misbehaving", config: { does: "throw" } }, termination],
      {},
      [
        ["misbehaving", "failed"],
        ["request-termination", "not reached"],
      ],
      /this plugin always fails/,
    ],
  ];
  for (const [what, plugins, request, expected, reason] of rows)
    test(what, async () => {
      serve(plugins);
      const explanation = await rig.explain({ url: "http://x.example/", ...request });
      assert.deepEqual(shown(explanation), expected);
      if (reason)
        assert.match(explanation.plugins.map((plugin) => plugin.reason ?? "").join("\n"), new RegExp(reason, "m"));
    });

  test("is marked if it may find the consumer", async () => {
    serve([keyAuth, limit(), { name: "session", config: { secret: "0123456789abcdef0123456789abcdef" } }]);
    const { plugins } = await rig.explain({ url: "http://x/" });
    assert.deepEqual(
      plugins.filter(({ identifies }) => identifies).map(({ name }) => name),
      ["session", "key-auth"],
    );
  });

  test("is shown with the entities that it is attached to", async () => {
    serve([keyAuth, limit({ ...ofRoute, ...ofAnn })]);
    const { plugins, consumer } = await rig.explain({ url: "http://x.example/", ...withKey });
    assert.deepEqual(consumer, { id: ann, name: "ann" });
    const [first, second] = plugins.map(({ scope }) => scope);
    assert.deepEqual(first, {});
    assert.partialDeepStrictEqual(second, { route: { name: "r" }, consumer: { id: ann, name: "ann" } });
  });
});

describe("nothing is sent: the result is unknown if", () => {
  const rows: readonly (readonly [what: string, plugins: () => readonly object[], reason: RegExp, request?: object])[] =
    [
      [
        "forward-auth must ask its server",
        () => [{ name: "forward-auth", config: { address: `http://127.0.0.1:${trapPort}/auth?token=secret` } }],
        /^the plugin forward-auth \(.*\) decides, but an explanation cannot run it: it sends GET to http:\/\/127\.0\.0\.1:\d+$/,
      ],
      [
        "openid-connect must ask its provider",
        () => [
          {
            name: "openid-connect",
            config: {
              issuer: `http://127.0.0.1:${trapPort}`,
              client_id: ["c"],
              client_secret: ["s"],
              auth_methods: ["bearer"],
            },
          },
        ],
        /^the plugin openid-connect .* it sends GET to http:/,
        { headers: { authorization: "Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln" } },
      ],
      ...(
        [
          "connect",
          "connect later",
          "connect when created",
          "send a datagram",
          "send and ignore the error",
          "send in the phase responseHeaders",
        ] as const
      ).map(
        (does) =>
          [
            `a plugin of a user would ${does}`,
            () => [
              { name: "misbehaving", config: { does, port: trapPort } },
              ...(does.endsWith("responseHeaders") ? [termination] : []),
            ],
            /^the plugin misbehaving .* it (?:connects to|sends datagrams to|sends POST to) (?:http:\/\/)?127\.0\.0\.1:\d+$/,
          ] as const,
      ),
      [
        "the plugin reads a body of which only the size is known",
        () => [{ name: "key-auth", config: { key_in_body: true } }],
        /it reads the body, which is not given as `body`$/,
        { method: "POST", body_size: 10, headers: { "content-type": "application/json" } },
      ],
    ];
  for (const [what, plugins, reason, request] of rows)
    test(what, async () => {
      serve(plugins());
      // The instance of the worker may connect when it is created.
      await settled();
      const before = connections;
      const explanation = await rig.explain({ url: "http://x.example/", ...request });
      assert.match(explanation.unknown ?? "", reason);
      assert.deepEqual([explanation.upstream, explanation.response], [null, null]);
      assert.ok(explanation.plugins.some(({ result }) => result === "unknown"));
      assert.doesNotMatch(JSON.stringify(explanation), /secret/);
      await settled();
      assert.deepEqual([connections, rig.received(), rig.worker.runtime().exchanges.open], [before, 0, 0]);
    });

  test("a plugin does not end within four seconds", async (context) => {
    serve([{ name: "misbehaving", config: { does: "wait forever" } }]);
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const explained = rig.explain({ url: "http://x.example/" });
    await settled();
    context.mock.timers.tick(4000);
    assert.match((await explained).unknown ?? "", /it did not end within 4 s$/);
    assert.equal(rig.worker.runtime().exchanges.open, 0);
  });
});

test("timers that a plugin starts do not run", async () => {
  const activity = { counted() {}, sending() {}, logged() {} };
  const services = readOnlyServices({} as WorkerServices, { activity, cacheOf: () => null });
  const cancel = services.startTimer?.(0, { repeats: false }, () => assert.fail("the timer has run"));
  await new Promise((resolve) => setTimeout(resolve, 5));
  cancel?.();
});

test("an explanation leaves no timers, connections or exchanges behind", async () => {
  const config = { address: `http://127.0.0.1:${trapPort}` };
  serve([keyAuth, limit(), { name: "forward-auth", config }, { name: "proxy-cache", config: { strategy: "memory" } }]);
  const resources = () => process.getActiveResourcesInfo().toSorted();
  const before = resources();
  for (const headers of [{}, withKey.headers]) await rig.explain({ url: "http://x.example/", headers });
  assert.deepEqual(resources(), before);
  assert.equal(rig.worker.runtime().exchanges.open, 0);
});

test("a plugin that replaces the body can be explained if only the size of the body is known", async () => {
  serve([{ name: "misbehaving", config: { does: "replace the body" } }]);
  const { upstream } = await rig.explain({ url: "http://x.example/", method: "POST", body_size: 10 });
  assert.deepEqual(
    upstream?.headers.find(([name]) => name === "Content-Length"),
    ["Content-Length", "8"],
  );
});

test("an error of a plugin is answered with 500, and the log has the reason", async () => {
  serve([{ name: "misbehaving", config: { does: "throw" } }]);
  const { response, log } = await rig.explain({ url: "http://x.example/" });
  assert.equal(response?.status, 500);
  assert.doesNotMatch(response?.body ?? "", /always fails/);
  assert.deepEqual(log, ["the plugin runs", "a plugin failed: Error: this plugin always fails"]);
});

/** Resolves when connections that were opened before would have arrived. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}
