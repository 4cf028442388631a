import assert from "node:assert/strict";
import { test } from "node:test";
import type { Snapshot, SnapshotCredential, SnapshotRoute } from "@sluice/model";
import type { PluginContext, PluginPhases, PluginScope } from "@sluice/plugin-sdk";
import { pluginsWithPhases } from "../../../test/plugins/fake-exchange.ts";
import type { WorkerServices } from "../plugin-services/instance-context.ts";
import { compile } from "./compile.ts";
import type { Runtime } from "./runtime.ts";
import {
  consumerNamed,
  graphqlDocumentsNamed,
  keyCredential,
  pluginEntityNamed,
  routeNamed,
  serviceNamed,
  snapshotOfEntities,
} from "./testing-entities.ts";

interface Made extends PluginPhases {
  readonly scope: PluginScope;
}

const phases = (_config: unknown, { scope }: PluginContext): Made => ({ scope });
const plugins = pluginsWithPhases(phases);
let clock = 0;
const tools = { plugins, services: { now: () => clock } as WorkerServices };

const service = serviceNamed("s", { host: "up.example", port: 8080 });
const [first, second] = ["first", "second"].map((name) =>
  routeNamed(name, { paths: [`/${name}`], service: { id: service.id } }),
);
assert.ok(first && second);
const content = { services: [service], routes: [first, second], plugins: [pluginEntityNamed("cors")] };

const request = (path: string) => ({
  method: "GET",
  path,
  scheme: "http" as const,
  host: "",
  serverName: null,
  query: "",
  documentPort: null,
  headerValues: () => [],
});
const matched = (runtime: Runtime, path: string) => runtime.match(request(path))?.compiledRoute.route.name ?? null;
const with_ = (snapshot: Snapshot, members: Partial<Snapshot>): Snapshot => ({ ...snapshot, ...members });

test("unchanged upstreams, routes and plugin instances are shared with the previous runtime", () => {
  const before = snapshotOfEntities(content);
  const old = compile(null, before, tools);
  const changed = { ...second, paths: ["/moved"] };
  const next = compile(old, with_(before, { routes: new Map(before.routes).set(second.id, changed) }), tools);
  assert.equal(next.upstreams.get(service.id), old.upstreams.get(service.id));
  assert.equal(next.compiledRoute(first.id), old.compiledRoute(first.id));
  assert.notEqual(next.compiledRoute(second.id), old.compiledRoute(second.id));
  const step = (runtime: Runtime) => runtime.compiledRoute(second.id)?.chains.http.base.steps[0]?.phases;
  assert.equal(step(next), step(old));
  assert.deepEqual([matched(old, "/second"), matched(old, "/moved")], ["second", null]);
  assert.deepEqual([matched(next, "/second"), matched(next, "/moved")], [null, "second"]);
});

test("only a changed plugin gets a new instance", () => {
  const before = snapshotOfEntities({
    ...content,
    plugins: [pluginEntityNamed("cors"), pluginEntityNamed("prometheus")],
  });
  const old = compile(null, before, tools);
  const changed = pluginEntityNamed("cors", { config: { max_age: 1 } });
  const next = compile(old, with_(before, { plugins: new Map(before.plugins).set(changed.id, changed) }), tools);
  const instances = (runtime: Runtime) =>
    runtime.compiledRoute(first.id)?.chains.http.base.steps.map((step) => step.phases);
  assert.notEqual(instances(next)?.[0], instances(old)?.[0]);
  assert.equal(instances(next)?.[1], instances(old)?.[1]);
});

test("GraphQL documents are found by name, or by id, which takes precedence over an equal name", () => {
  const named = graphqlDocumentsNamed("web");
  const other = graphqlDocumentsNamed(named.id);
  const runtime = compile(null, snapshotOfEntities({ graphqlDocuments: [other, named] }), tools);
  assert.deepEqual(
    ["web", named.id].map((nameOrId) => runtime.graphqlDocuments(nameOrId)),
    [named, named],
  );
});

test("routes use the new version of a changed service", () => {
  const before = snapshotOfEntities(content);
  const old = compile(null, before, tools);
  const moved = { ...service, port: 9090 };
  const next = compile(old, with_(before, { services: new Map([[service.id, moved]]) }), tools);
  assert.equal(next.match(request("/first"))?.compiledRoute.upstream?.service, moved);
});

test("routes of a disabled service match no requests until it is enabled; routes without a service match", () => {
  const bare = routeNamed("bare", { paths: ["/bare"] });
  const before = snapshotOfEntities({ ...content, services: [{ ...service, enabled: false }], routes: [first, bare] });
  const off = compile(null, before, tools);
  assert.deepEqual([matched(off, "/first"), matched(off, "/bare")], [null, "bare"]);
  const on = compile(off, with_(before, { services: new Map([[service.id, service]]) }), tools);
  assert.equal(matched(on, "/first"), "first");
});

test("compiling a snapshot that holds an unknown plugin throws, and the previous runtime is unaffected", () => {
  let current = compile(null, snapshotOfEntities(content), tools);
  const kept = current;
  const broken = snapshotOfEntities({ ...content, plugins: [pluginEntityNamed("no-such-plugin")] });
  assert.throws(() => {
    current = compile(kept, broken, tools);
  }, /unknown plugin no-such-plugin/);
  assert.equal(current, kept);
  current = compile(kept, snapshotOfEntities({}), tools);
  assert.equal(matched(current, "/first"), null);
});

/** Asserts that the lookups of a credential by its value and by its id have the same result, and returns it. */
function assertSame<Value>(byValue: Value, byId: unknown): Value {
  assert.equal(byId, byValue);
  return byValue;
}

test("a credential is valid in its namespaces until it expires; a consumer is found by id and by name", () => {
  const demo = consumerNamed("demo");
  const find = (credential: SnapshotCredential, route: SnapshotRoute) =>
    assertSame(
      identities.credential("keyauth_credentials", credential._sluice?.key_hash ?? "", route),
      identities.credentialById(credential.id, route),
    );
  const [anywhere, scoped] = [
    keyCredential(demo, "a", { ttl: 10 }),
    keyCredential(demo, "b", { namespaces: ["team"] }),
  ];
  const { identities } = compile(
    null,
    snapshotOfEntities({ consumers: [demo], credentials: [anywhere, scoped] }),
    tools,
  );
  const inTeam = routeNamed("team", { _sluice: { namespace: "team" } });
  // The credential was created at an unknown time in second 0, and its ttl is 10 s: it expires when second 11 begins.
  clock = 10_999;
  assert.equal(find(anywhere, first), anywhere);
  clock = 11_000;
  assert.equal(find(anywhere, first), undefined);
  assert.equal(find(scoped, inTeam), scoped);
  assert.equal(find(scoped, routeNamed("other", { _sluice: { namespace: "o" } })), undefined);
  assert.equal(find(scoped, first), undefined, "a route without a namespace belongs to no namespace");
  assert.equal(identities.consumer("demo"), demo);
  assert.equal(identities.consumer(demo.id), demo);
});

test("whyInvalid returns the reason why a credential is not valid for a route", () => {
  const demo = consumerNamed("demo");
  const expiring = keyCredential(demo, "a", { ttl: 10 });
  const scoped = keyCredential(demo, "b", { namespaces: ["team", "lab"] });
  const { identities } = compile(
    null,
    snapshotOfEntities({ consumers: [demo], credentials: [expiring, scoped] }),
    tools,
  );
  const reason = ({ _sluice }: SnapshotCredential, namespace: string) =>
    identities.whyInvalid("keyauth_credentials", _sluice?.key_hash ?? "", routeNamed("r", { _sluice: { namespace } }));
  clock = 10_999;
  assert.equal(reason(expiring, "o"), null);
  clock = 11_000;
  assert.equal(reason(expiring, "o"), "the credential has expired");
  assert.equal(reason(scoped, "team"), null);
  assert.equal(
    reason(scoped, "o"),
    "the credential belongs to the consumer demo, which routes of the namespace o do not accept: " +
      "create a ReferenceGrant in the namespace o from Consumer of the namespace team to Route",
  );
  assert.equal(identities.whyInvalid("keyauth_credentials", "none", first), null);
});

test("a consumer is found by its custom_id, also after changes", () => {
  const [one, two] = [consumerNamed("one"), consumerNamed("two")].map((consumer) => ({
    ...consumer,
    custom_id: "crm-7",
  }));
  assert.ok(one && two);
  const before = compile(null, snapshotOfEntities({ consumers: [one, consumerNamed("other")] }), tools);
  assert.equal(before.identities.consumerByCustomId("crm-7"), one);
  assert.equal(before.identities.consumerByCustomId("one"), undefined);
  const after = compile(before, snapshotOfEntities({ consumers: [two] }), tools);
  assert.equal(after.identities.consumerByCustomId("crm-7"), two);
  assert.equal(before.identities.consumerByCustomId("crm-7"), one);
  assert.equal(compile(after, snapshotOfEntities({}), tools).identities.consumerByCustomId("crm-7"), undefined);
});

test("upstreams are found by the id or name of their service, also after a change; disabled services have none", () => {
  const before = snapshotOfEntities({ services: [service] });
  const old = compile(null, before, tools);
  const named = (runtime: Runtime, idOrName: string) => runtime.upstreams.named(idOrName)?.service.host ?? null;
  assert.deepEqual(
    [service.id, "s", "t"].map((name) => named(old, name)),
    ["up.example", "up.example", null],
  );
  const renamed = { ...service, name: "t" };
  const disabled = serviceNamed("off", { enabled: false });
  const services = new Map([renamed, disabled].map((one) => [one.id, one]));
  const next = compile(old, with_(before, { services }), tools);
  assert.deepEqual(
    [service.id, "s", "t", "off"].map((name) => named(next, name)),
    ["up.example", null, "up.example", null],
  );
});
