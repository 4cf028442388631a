/** A plan names the sample requests that the gateway would answer or handle differently, and how. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkDocument, registerPlugins } from "@sluice/model";
import { record } from "@sluice/plugin-sdk";
import { type EntityLists, entitiesOf } from "../../stores/read-all.ts";
import { planBetween } from "./testing-plans.ts";

type Raw = Readonly<Record<string, readonly object[]>>;

function entitiesIn(raw: Raw): EntityLists {
  const { value, violations } = checkDocument({ _format_version: "3.0", ...raw });
  if (!value) throw new Error(JSON.stringify(violations));
  return entitiesOf(value.document);
}

const plugin = (name: string, config: object = {}, scope: object = { route: { name: "shop" } }) => ({
  name,
  config,
  instance_name: name,
  ...scope,
});

const service = { name: "shop", host: "shop.example", path: "/base" };
const shop = { name: "shop", paths: ["/shop"], service: { name: "shop" } };
const other = { name: "other", paths: ["/other"] };
const consumers = [{ username: "ann", keyauth_credentials: [{ key: "ann-key" }] }];
const base: Raw = { services: [service], routes: [shop, other], consumers };
const keyAuth = plugin("key-auth");
const anonymous = plugin("key-auth", { anonymous: "ann" });
const ofAnn = { consumer: { username: "ann" } };
const grouped: Raw = {
  ...base,
  consumer_groups: [{ name: "gold" }],
  consumers: consumers.map((consumer) => ({ ...consumer, groups: [{ name: "gold" }] })),
};
const ofGold = { consumer_group: { name: "gold" } };
const secured = { ...base, plugins: [keyAuth] };
const limited = (minute: number) => ({
  ...base,
  plugins: [plugin("rate-limiting", { minute, policy: "local" }, { service: { name: "shop" } })],
});
const balanced = (targets: readonly string[]): Raw => ({
  ...base,
  services: [{ ...service, host: "up.example" }],
  upstreams: [{ name: "up.example", targets: targets.map((target) => ({ target })) }],
});

const documents = { id: "5c1d7c2e-3f60-4f0e-9a55-2f3c8b1d7a10", name: "web", manifest: "{}" };
const redis = { host: "redis.example", password: "{vault://env/secret}" };
registerPlugins([
  {
    name: "own-plugin",
    version: "1.0.0",
    priority: 1,
    protects: false,
    schema: record({}, { description: "The config." }),
  },
]);
const unknown = (name: string, reason: string) =>
  `unknown: the plugin ${name} (ID) decides, but an explanation cannot run it: ${reason}`;

interface Row {
  readonly does: string;
  readonly before: Raw;
  readonly after: Raw;
  /** `KIND CONSUMER about: before -> after`, without those of headers. */
  readonly has: readonly string[];
}

const rows: readonly Row[] = [
  {
    does: "the refusal of a new authentication plugin, and that credentials pass it",
    before: base,
    after: secured,
    has: [
      'answered - answer: "the service answers" -> "401: No API key found in request"',
      'answered - plugin key-auth: null -> "of route shop"',
      'answered sample consumer: null -> "sample"',
      'answered sample plugin key-auth: null -> "of route shop"',
    ],
  },
  {
    does: "the answer of a plugin behind an authentication plugin",
    before: secured,
    after: { ...base, plugins: [keyAuth, plugin("request-termination", { status_code: 503, message: "closed" })] },
    has: [
      'answered sample answer: "the service answers" -> "503: closed"',
      'answered sample plugin request-termination: null -> "of route shop"',
      'handled - plugin request-termination: null -> "of route shop"',
    ],
  },
  {
    does: "a plugin that is disabled",
    before: secured,
    after: { ...base, plugins: [{ ...keyAuth, enabled: false }] },
    has: [
      'answered - answer: "401: No API key found in request" -> "the service answers"',
      'answered - plugin key-auth: "of route shop" -> null',
      'answered sample consumer: "sample" -> null',
      'answered sample plugin key-auth: "of route shop" -> null',
    ],
  },
  {
    does: "a limit that changes, without a count",
    before: limited(5),
    after: limited(3),
    has: [
      "handled - limit of rate-limiting per minute: 5 -> 3",
      "handled - plugin rate-limiting: config.minute: 5 -> 3",
    ],
  },
  {
    does: "the limit that a plugin of a consumer sets, for the credentials of this consumer only",
    before: secured,
    after: { ...base, plugins: [keyAuth, plugin("rate-limiting", { minute: 2, policy: "local" }, ofAnn)] },
    has: [
      'handled ann plugin rate-limiting: null -> "of consumer ann"',
      "handled ann limit of rate-limiting per minute: null -> 2",
    ],
  },
  {
    does: "the limit that a plugin of a consumer group sets, for the credentials of its members",
    before: { ...grouped, plugins: [keyAuth] },
    after: { ...grouped, plugins: [keyAuth, plugin("rate-limiting", { minute: 2, policy: "local" }, ofGold)] },
    has: [
      'handled ann plugin rate-limiting: null -> "of consumer group gold"',
      "handled ann limit of rate-limiting per minute: null -> 2",
    ],
  },
  {
    does: "that the credentials of a removed consumer are refused",
    before: secured,
    after: { ...secured, consumers: [] },
    has: [
      'answered ann answer: "the service answers" -> "401: No API key found in request"',
      'answered ann consumer: "ann" -> null',
    ],
  },
  {
    does: "the URL of a service, whose members that do not show in a request are named too",
    before: base,
    after: { ...base, services: [{ ...service, host: "next.example", path: "/v2", read_timeout: 100 }] },
    has: [
      'answered - sent to: "http://shop.example" -> "http://next.example"',
      'answered - path sent: "/base" -> "/v2"',
      'answered - target: "shop.example:80" -> "next.example:80"',
      'answered - targets: ["shop.example:80"] -> ["next.example:80"]',
      "answered - service shop: read_timeout: 60000 -> 100",
    ],
  },
  {
    does: "the targets of an upstream",
    before: balanced(["192.0.2.7:80"]),
    after: balanced(["192.0.2.7:80", "192.0.2.8:80"]),
    has: [
      'answered - target: "192.0.2.7:80" -> null',
      'answered - targets: ["192.0.2.7:80 (weight 100)"] -> ["192.0.2.7:80 (weight 100)","192.0.2.8:80 (weight 100)"]',
    ],
  },
  {
    does: "that the answer is unknown if only nodes can read a value of a config",
    before: base,
    after: { ...base, plugins: [plugin("rate-limiting", { minute: 1, policy: "redis", redis })] },
    has: [
      `answered - answer: "the service answers" -> "${unknown("rate-limiting", "its config refers to a vault, whose values only nodes read")}"`,
      'answered - plugin rate-limiting: null -> "of route shop"',
    ],
  },
  {
    does: "that the answer is unknown if only nodes have the code of a plugin",
    before: base,
    after: { ...base, plugins: [plugin("own-plugin")] },
    has: [
      `answered - answer: "the service answers" -> "${unknown("own-plugin", "only nodes have the code of this plugin")}"`,
      'answered - plugin own-plugin: null -> "of route shop"',
    ],
  },
  {
    does: "the consumer of a request without credentials on a route with an anonymous consumer",
    before: base,
    after: { ...base, plugins: [anonymous] },
    has: [
      'answered - consumer: null -> "ann"',
      'answered - plugin key-auth: null -> "of route shop"',
      'answered sample consumer: null -> "sample"',
      'answered sample plugin key-auth: null -> "of route shop"',
    ],
  },
  {
    does: "the consumer of a request without credentials although many consumers change too",
    before: base,
    after: {
      ...base,
      consumers: [...Array.from({ length: 30 }, (_, at) => ({ username: `new-${at}` })), ...consumers],
      plugins: [anonymous],
    },
    has: [
      'answered - consumer: null -> "ann"',
      'answered - plugin key-auth: null -> "of route shop"',
      'answered sample consumer: null -> "sample"',
      'answered sample plugin key-auth: null -> "of route shop"',
    ],
  },
  {
    does: "the limit that a plugin of the anonymous consumer sets, for requests without credentials",
    before: { ...base, plugins: [anonymous] },
    after: { ...base, plugins: [anonymous, plugin("rate-limiting", { minute: 2, policy: "local" }, ofAnn)] },
    has: [
      'handled - plugin rate-limiting: null -> "of consumer ann"',
      "handled - limit of rate-limiting per minute: null -> 2",
      'handled ann plugin rate-limiting: null -> "of consumer ann"',
      "handled ann limit of rate-limiting per minute: null -> 2",
    ],
  },
  {
    does: "the refusal of a plugin that a consumer's groups do not satisfy",
    before: secured,
    after: { ...base, plugins: [keyAuth, plugin("acl", { allow: ["gold"] })] },
    has: [
      'answered sample answer: "the service answers" -> "403: You cannot consume this service"',
      'answered sample plugin acl: null -> "of route shop"',
      'handled - plugin acl: null -> "of route shop"',
    ],
  },
  ...[["name", "web"] as const, ["id", documents.id] as const].map(([what, named]) => {
    const trusting = { ...base, plugins: [plugin("graphql", { trusted_documents: { documents: [named] } })] };
    return {
      does: `that a route is closed whose plugin names missing GraphQL documents by ${what}`,
      before: { ...trusting, graphql_documents: [documents] },
      after: trusting,
      has: [`answered - answer: "the service answers" -> "503: Service unavailable"`],
    };
  }),
  {
    does: "nothing for a change that affects no request",
    before: base,
    after: { ...base, services: [{ ...service, tags: ["new"] }] },
    has: [],
  },
];

test("a plan shows that a plugin that no process has closes its routes", async () => {
  const before = entitiesIn(base);
  const after = entitiesIn({ ...base, plugins: [plugin("cors")] });
  const plugins = after.plugins?.map((each) => ({ ...each, name: "gone" })) ?? [];
  const { requests } = await planBetween(before, { ...after, plugins });
  const answer = requests?.changed[0]?.differences.find(({ about }) => about === "answer");
  assert.match(String(answer?.after), /^503/);
});

test("a plan that affects more than ten consumers with credentials says that it is incomplete", async () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ username: `c${at}`, keyauth_credentials: [{ key: `key-${at}` }] }));
  for (const [count, incomplete] of [
    [10, false],
    [11, true],
  ] as const) {
    const after = entitiesIn({ ...secured, consumers: [...consumers, ...many(count)] });
    const { requests } = await planBetween(entitiesIn(secured), after);
    assert.equal(requests?.incomplete, incomplete);
  }
});

for (const { does, before, after, has } of rows) {
  test(`a plan shows ${does}`, async () => {
    const { requests } = await planBetween(entitiesIn(before), entitiesIn(after));
    const told = requests?.changed.flatMap(({ kind, request, differences }) =>
      differences
        .filter(({ about }) => !about.startsWith("request header") && !about.startsWith("response header"))
        .map(({ about, before: was, after: will }) =>
          `${kind} ${request.consumer ?? "-"} ${about}: ${JSON.stringify(was)} -> ${JSON.stringify(will)}`.replace(
            /\([\da-f-]{36}\)/,
            "(ID)",
          ),
        ),
    );
    assert.deepEqual(told, has);
    assert.equal(requests?.incomplete, false);
  });
}
