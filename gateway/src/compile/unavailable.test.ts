import assert from "node:assert/strict";
import { test } from "node:test";
import { applyChange, emptySnapshot } from "@sluice/model";
import { fakeExchange, fakeServices, pluginsByName } from "../../../test/plugins/fake-exchange.ts";
import { compile } from "./compile.ts";
import type { PluginStep } from "./runtime.ts";
import { consumerNamed } from "./testing-entities.ts";

const tools = { plugins: pluginsByName, services: fakeServices() };

const id = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`;

/** The response to clients. The tests add the reason, which is only logged. */
const CLOSED = { status: 503, message: "This route is currently unavailable" };

test("an invalid rate limit answers 503 in its whole scope, and a valid rate limit with a narrower scope still applies", async () => {
  const applied = applyChange(emptySnapshot, {
    put: {
      services: [{ id: id(1), host: "up.test" }],
      routes: [
        { id: id(2), paths: ["/closed"], service: { id: id(1) } },
        { id: id(3), paths: ["/open"], service: { id: id(1) } },
      ],
      plugins: [
        { id: id(4), name: "rate-limiting", service: { id: id(1) }, _sluice: { unavailable: "no minute" } },
        { id: id(5), name: "rate-limiting", route: { id: id(3) }, config: { minute: 5 } },
      ],
    },
    remove: {},
  });
  assert.equal(applied.violations, undefined);
  const runtime = compile(null, applied.value, tools);
  const answerOf = async (path: string) => {
    const match = runtime.match({
      method: "GET",
      path,
      scheme: "http",
      host: "gateway.test",
      serverName: null,
      query: "",
      documentPort: null,
      headerValues: () => [],
    });
    assert.ok(match);
    const [step] = match.compiledRoute.chains.http.base.steps;
    return step?.phases.access?.(fakeExchange());
  };
  assert.deepEqual(await answerOf("/closed"), { ...CLOSED, reason: "no minute" });
  assert.equal(await answerOf("/open"), undefined);
});

const demo = { ...consumerNamed("demo"), id: id(6) };
/** The priority of key-auth, which identified the consumer. */
const AFTER = 1250;

/** The scope of an unknown plugin, and path and consumer of each request that it answers 503. Only /r has a service. */
const scopes: readonly (readonly [
  what: string,
  attached: object,
  closed: readonly ["/r" | "/other", "anonymous" | "demo" | "other"][],
])[] = [
  ["attached to a service", { service: { id: id(1) } }, [["/r", "anonymous"]]],
  ["attached to a route", { route: { id: id(2) } }, [["/r", "anonymous"]]],
  [
    "with global scope",
    {},
    [
      ["/r", "anonymous"],
      ["/other", "anonymous"],
    ],
  ],
  [
    "attached to a consumer",
    { consumer: { id: id(6) } },
    [
      ["/r", "demo"],
      ["/other", "demo"],
    ],
  ],
  ["attached to a service and a consumer", { service: { id: id(1) }, consumer: { id: id(6) } }, [["/r", "demo"]]],
  ["attached to a service, but disabled,", { service: { id: id(1) }, enabled: false }, []],
  ["attached to a service for https only", { service: { id: id(1) }, protocols: ["https"] }, []],
];
for (const [what, attached, closed] of scopes)
  test(`an unknown plugin ${what} ${closed.length === 0 ? "answers no http request" : "answers exactly the requests in its scope with 503, before any plugin counts them"}`, () => {
    const applied = applyChange(emptySnapshot, {
      put: {
        services: [{ id: id(1), host: "up.test" }],
        routes: [
          { id: id(2), paths: ["/r"], service: { id: id(1) } },
          { id: id(3), paths: ["/other"] },
        ],
        consumers: [demo],
        plugins: [
          { id: id(4), name: "key-auth" },
          { id: id(5), name: "rate-limiting", config: { minute: 5 } },
          { id: id(7), name: "oauth2", ...attached, _sluice: { unavailable: "oauth2 is unknown" } },
        ],
      },
      remove: {},
    });
    const { http } =
      compile(null, applied.value ?? emptySnapshot, tools).compiledRoute(id(2))?.chains ??
      assert.fail(JSON.stringify(applied.violations));
    const other = compile(null, applied.value ?? emptySnapshot, tools).compiledRoute(id(3));
    const found: [string, string][] = [];
    for (const [path, chains] of [
      ["/r", http],
      ["/other", other?.chains.http],
    ] as const) {
      const isClosed = (step: PluginStep | undefined) =>
        JSON.stringify(step?.phases.access?.(fakeExchange()) ?? null) ===
        JSON.stringify({ ...CLOSED, reason: "oauth2 is unknown" });
      if (isClosed(chains?.base.steps[0])) found.push([path, "anonymous"]);
      else
        for (const [who, consumer] of [
          ["demo", demo],
          ["other", consumerNamed("other")],
        ] as const) {
          const steps = chains?.identified(consumer, AFTER).steps ?? [];
          // Steps that ran before the consumer was known stay in the chain, so key-auth comes first.
          if (isClosed(steps[1])) found.push([path, who]);
        }
    }
    assert.deepEqual(found, closed);
  });

for (const [name, closes] of [
  ["ip-restriction", true],
  ["plugin-of-the-future", true],
  ["key-auth", false],
] as const)
  test(`an unavailable ${name} that is attached to nothing ${closes ? "closes" : "does not concern"} connections`, () => {
    const applied = applyChange(emptySnapshot, {
      put: {
        services: [{ id: id(1), host: "up.test", protocol: "tcp" }],
        routes: [{ id: id(2), protocols: ["tcp"], destinations: [{ port: 9000 }], service: { id: id(1) } }],
        plugins: [{ id: id(3), name, _sluice: { unavailable: "it is invalid" } }],
      },
      remove: {},
    });
    assert.equal(applied.violations, undefined);
    const { chains } = compile(null, applied.value, tools).compiledRoute(id(2)) ?? {};
    assert.equal(chains?.connections.closed?.reason ?? null, closes ? "it is invalid" : null);
  });
