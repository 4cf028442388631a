import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketDifferences, type Consumer, type ConsumerGroup, type Plugin } from "@sluice/model";
import type { PluginContext, PluginPhases, PluginScope } from "@sluice/plugin-sdk";
import { pluginsWithPhases } from "../../../test/plugins/fake-exchange.ts";
import type { WorkerServices } from "../plugin-services/instance-context.ts";
import { ConsumerGroups } from "./identities/consumer-groups.ts";
import { CompiledIdentities } from "./identities/identities.ts";
import { continuedChain, type PluginChanges, PluginTable, RoutePlugins } from "./plugin-chains.ts";
import type { PluginChain } from "./runtime.ts";
import {
  consumerNamed,
  groupNamed,
  idOf,
  membershipOf,
  pluginEntityNamed,
  routeNamed,
  snapshotOfEntities,
} from "./testing-entities.ts";

interface Made extends PluginPhases {
  readonly scope: PluginScope;
}

const phases = (_config: unknown, { scope }: PluginContext): Made => ({ scope, access: () => undefined });
const plugins = pluginsWithPhases(phases);
const tools = { plugins, services: {} as WorkerServices };

const service = { id: idOf("service s") };
const demo = consumerNamed("demo");
const route = routeNamed("r", { service });
const gold = groupNamed("gold");
const own = { route: { id: route.id }, service, consumer: { id: demo.id }, consumer_group: { id: gold.id } };

/** The precedence of scopes in Kong Enterprise's documentation ("Plugin precedence"), the most specific first. */
const precedence: readonly (readonly (keyof typeof own)[])[] = [
  ["route", "service", "consumer"],
  ["route", "service", "consumer_group"],
  ["route", "consumer"],
  ["service", "consumer"],
  ["route", "consumer_group"],
  ["service", "consumer_group"],
  ["route", "service"],
  ["consumer"],
  ["consumer_group"],
  ["route"],
  ["service"],
  [],
];

const attached = (name: string, to: readonly (keyof typeof own)[], members: Partial<Plugin> = {}) =>
  pluginEntityNamed(name, { ...Object.fromEntries(to.map((kind) => [kind, own[kind]])), ...members });

/** Pairs of a consumer and a group to which the consumer belongs. */
type Members = readonly (readonly [Consumer, ConsumerGroup])[];

function groupsOf(members: Members): ConsumerGroups {
  const { memberships } = CompiledIdentities.of(
    snapshotOfEntities({ memberships: members.map(([consumer, group]) => membershipOf(consumer, group)) }),
    { previous: null, now: Date.now },
  );
  return new ConsumerGroups(memberships, new Map(members.map(([, group]) => [group.id, group])));
}

const changing = (plugins: PluginChanges["plugins"]): PluginChanges => ({
  plugins,
  vaults: [],
  snapshot: snapshotOfEntities({}),
});

const tableOf = (all: readonly Plugin[], members: Members = [[demo, gold]]) =>
  PluginTable.empty
    .with(changing(bucketDifferences(new Map(), new Map(all.map((plugin) => [plugin.id, plugin])))), tools)
    .withGroups(groupsOf(members));

/** The name of each plugin in the chain and the scope of its instance, in the order of the chain. */
const namesIn = ({ steps }: PluginChain) =>
  steps.map(({ priority, phases }) => {
    const { scope } = phases as Made;
    const name = [...plugins.values()].find((facts) => facts.priority === priority)?.name;
    const parts = [
      ...[scope.routeId && "route", scope.serviceId && "service", scope.consumerId && "consumer"],
      scope.consumerGroupId && "consumer_group",
    ];
    return `${name} ${parts.filter(Boolean).join("+") || "global"}`;
  });

const afterAuth = plugins.get("key-auth")?.priority ?? 0;

for (const [place, scope] of precedence.entries()) {
  const name = scope.join("+") || "global";
  test(`an instance with the scope ${name} runs if no instance of the plugin has a more specific scope`, () => {
    const all = precedence.slice(place).map((to) => attached("rate-limiting", to));
    for (const order of [all, all.toReversed()]) {
      const chain = new RoutePlugins(tableOf(order), route).http.identified(demo, afterAuth);
      assert.deepEqual(namesIn(chain), [`rate-limiting ${name}`]);
    }
  });
}

const [alpha, beta] = [groupNamed("alpha"), groupNamed("beta")];
const ofGroup = (group: ConsumerGroup, members: Partial<Plugin> = {}) =>
  pluginEntityNamed("rate-limiting", { consumer_group: { id: group.id }, ...members });
/** The ids of the groups whose plugins run for the consumer. */
const groupsIn = (table: PluginTable, consumer = demo) =>
  new RoutePlugins(table, route).http
    .identified(consumer, afterAuth)
    .steps.map(({ phases }) => (phases as Made).scope.consumerGroupId);

for (const order of [
  [alpha, beta],
  [beta, alpha],
]) {
  test(`if several groups of a consumer have the same plugin, the instance of the first group by name runs (order of joining: ${order.map(({ name }) => name).join(", ")})`, () => {
    const members = order.map((group) => [demo, group] as const);
    assert.deepEqual(
      groupsIn(
        tableOf(
          order.map((group) => ofGroup(group)),
          members,
        ),
      ),
      [alpha.id],
    );
  });
}

test("a group's instance with a more specific scope runs, even if another group of the consumer is first by name", () => {
  const members = [
    [demo, alpha],
    [demo, beta],
  ] as const;
  assert.deepEqual(groupsIn(tableOf([ofGroup(alpha), ofGroup(beta, { route: own.route })], members)), [beta.id]);
});

test("a plugin of a group runs for the group's consumers only", () => {
  const table = tableOf([ofGroup(gold)]);
  assert.deepEqual(groupsIn(table), [gold.id]);
  const chains = new RoutePlugins(table, route).http;
  assert.deepEqual(namesIn(chains.base), []);
  assert.equal(chains.identified(consumerNamed("other"), afterAuth), chains.base);
});

test("consumers without plugins of their own share the chain of their groups", () => {
  const second = consumerNamed("second");
  const chains = new RoutePlugins(
    tableOf(
      [ofGroup(gold)],
      [
        [demo, gold],
        [second, gold],
      ],
    ),
    route,
  ).http;
  assert.equal(chains.identified(demo, afterAuth), chains.identified(second, afterAuth));
});

test("a changed membership changes the chains only while a plugin is attached to a group", () => {
  const [none, some] = [groupsOf([]), groupsOf([[demo, gold]])];
  const plain = tableOf([attached("rate-limiting", ["consumer"])], []);
  assert.equal(plain.withGroups(some), plain);
  const grouped = tableOf([ofGroup(gold)], []).withGroups(none);
  const chains = new RoutePlugins(grouped, route);
  assert.deepEqual(groupsIn(grouped), []);
  assert.equal(chains.isOf(grouped.withGroups(some)), false);
  assert.deepEqual(groupsIn(grouped.withGroups(some)), [gold.id]);
});

test("plugins of a consumer run once the consumer is known; one instance of each plugin runs, in descending order of priority", () => {
  const table = tableOf([
    attached("prometheus", []),
    attached("rate-limiting", ["service"]),
    attached("rate-limiting", ["consumer"]),
    attached("key-auth", ["route"]),
    attached("cors", []),
  ]);
  const chains = new RoutePlugins(table, route).http;
  const before = ["cors global", "key-auth route", "rate-limiting service", "prometheus global"];
  assert.deepEqual(namesIn(chains.base), before);
  assert.deepEqual(namesIn(chains.identified(demo, afterAuth)), before.with(2, "rate-limiting consumer"));
  assert.equal(chains.identified(consumerNamed("other"), afterAuth), chains.base);
});

test("the document can give a plugin another priority than its own", () => {
  const limits = { ...attached("rate-limiting", ["route"]), _sluice: { priority: 1580 } };
  const { base } = new RoutePlugins(tableOf([attached("key-auth", ["route"]), limits]), route).http;
  assert.deepEqual(
    base.steps.map(({ priority }) => priority),
    [1580, 1250],
  );
});

test("plugins that ran before the consumer was known do not run again", () => {
  const table = tableOf([attached("cors", []), attached("cors", ["consumer"]), attached("key-auth", [])]);
  assert.deepEqual(namesIn(new RoutePlugins(table, route).http.identified(demo, afterAuth)), [
    "cors global",
    "key-auth global",
  ]);
});

test("a disabled plugin is ignored, so an instance with a wider scope applies", () => {
  const table = tableOf([attached("cors", ["route"], { enabled: false }), attached("cors", ["service"])]);
  assert.deepEqual(namesIn(new RoutePlugins(table, route).http.base), ["cors service"]);
});

test("a plugin acts on requests of its protocols only; to other requests an instance with a wider scope applies", () => {
  const table = tableOf([
    attached("key-auth", ["route"], { protocols: ["https"] }),
    attached("key-auth", ["service"]),
    attached("cors", [], { protocols: ["grpc", "http"] }),
    attached("prometheus", [], { protocols: ["grpcs"] }),
  ]);
  const { http, https } = new RoutePlugins(table, route);
  assert.deepEqual(namesIn(http.base), ["cors global", "key-auth service"]);
  assert.deepEqual(namesIn(https.base), ["key-auth route"]);
  const calls = new RoutePlugins(table, routeNamed("g", { service, protocols: ["grpc", "grpcs"] }));
  assert.deepEqual(namesIn(calls.http.base), ["cors global", "key-auth service"]);
  assert.deepEqual(namesIn(calls.https.base), ["key-auth service", "prometheus global"]);
});

test("plugins of other routes, services and consumers do not apply", () => {
  const strange = { id: idOf("strange") };
  const table = tableOf([
    pluginEntityNamed("cors", { route: strange }),
    pluginEntityNamed("cors", { service: strange }),
    pluginEntityNamed("cors", { consumer: strange }),
    pluginEntityNamed("cors", { route: own.route, service: strange }),
  ]);
  assert.deepEqual(namesIn(new RoutePlugins(table, route).http.identified(demo, afterAuth)), []);
});

test("the chains of a route are built once", () => {
  const chains = new RoutePlugins(tableOf([attached("rate-limiting", ["consumer"])]), route).http;
  assert.equal(chains.base, chains.base);
  assert.equal(chains.identified(demo, afterAuth), chains.identified(demo, afterAuth));
});

test("a plugin table is the same object while its enabled plugins are unchanged", () => {
  const [cors, off] = [attached("cors", []), attached("prometheus", [], { enabled: false })];
  const table = tableOf([cors, off]);
  const changed = (before: Plugin, after: Plugin) => table.with(changing([{ key: before.id, before, after }]), tools);
  assert.equal(table.with(changing([]), tools), table);
  assert.equal(changed(off, { ...off, config: { per_consumer: true } }), table);
  assert.notEqual(changed(cors, { ...cors }), table, "an equal plugin is a different object");
});

const other = { id: idOf("other") };
/** An added plugin, and whether it changes the chains of the route. */
const additions: readonly (readonly [what: string, Plugin, boolean])[] = [
  ["a global plugin", attached("cors", []), true],
  ["a plugin of the service", attached("cors", ["service"]), true],
  ["a plugin of the route and its service", attached("cors", ["route", "service"]), true],
  ["a plugin of another service", pluginEntityNamed("cors", { service: other }), false],
  ["a plugin of another route of the service", pluginEntityNamed("cors", { service, route: other }), false],
  [
    "a plugin of the route with another service",
    pluginEntityNamed("cors", { service: other, route: own.route }),
    false,
  ],
];
for (const [what, plugin, changes] of additions) {
  test(`${what} ${changes ? "changes" : "does not change"} a route's chains`, () => {
    const table = tableOf([attached("prometheus", []), attached("key-auth", ["route"])]);
    const chains = new RoutePlugins(table, route);
    const next = table.with(changing([{ key: plugin.id, before: undefined, after: plugin }]), tools);
    assert.equal(chains.isOf(next), !changes);
    const back = next.with(changing([{ key: plugin.id, before: plugin, after: undefined }]), tools);
    assert.equal(new RoutePlugins(next, route).isOf(back), !changes);
  });
}

test("if a second plugin replaces the consumer, plugins that have run stay in the chain, and later ones are those of the new consumer", () => {
  const other = consumerNamed("other");
  const table = tableOf(
    [
      attached("key-auth", []),
      attached("request-size-limiting", ["consumer"]),
      attached("rate-limiting", []),
      attached("response-transformer", ["consumer"]),
      pluginEntityNamed("request-transformer", { consumer: { id: other.id } }),
    ],
    [],
  );
  const chains = new RoutePlugins(table, route).http;
  const first = chains.identified(demo, afterAuth);
  const second = first.steps.find(({ priority }) => priority === plugins.get("rate-limiting")?.priority);
  assert.ok(second);
  const chain = continuedChain(first, second, chains.identified(other, second.priority));
  assert.deepEqual(namesIn(chain), [
    "key-auth global",
    "request-size-limiting consumer",
    "rate-limiting global",
    "request-transformer consumer",
  ]);
});
