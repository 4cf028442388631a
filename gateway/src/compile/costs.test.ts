/** The cost of a change in a configuration of thousands of entities: no whole collection is iterated over. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BucketMap, type Snapshot } from "@sluice/model";
import { pluginsWithPhases } from "../../../test/plugins/fake-exchange.ts";
import { balancingRequest, targetOf, upstreamNamed } from "../balance/testing.ts";
import type { WorkerServices } from "../plugin-services/instance-context.ts";
import { compile } from "./compile.ts";
import { applySteps, type ChangeStep, initialSnapshot } from "./testing-changes.ts";
import { consumerNamed, keyCredential, pluginEntityNamed, routeNamed, serviceNamed } from "./testing-entities.ts";

const MANY = 1000;

let made = 0;
const phases = () => {
  made++;
  return {};
};
const plugins = pluginsWithPhases(phases);
const tools = { plugins, services: { now: () => 0 } as WorkerServices };

const put = (section: ChangeStep["section"], value: { readonly id: string }): ChangeStep => ({
  section,
  key: value.id,
  value,
});
const pool = upstreamNamed("pool");
const service = (at: number, members = {}) =>
  serviceNamed(`s${at}`, { host: at % 2 === 0 ? "pool" : "up", ...members });
const route = (at: number, members = {}) =>
  routeNamed(`r${at}`, { hosts: [`h${at % 50}.test`], paths: [`/${at}`], service: { id: service(at).id }, ...members });
const consumer = (at: number) => consumerNamed(`c${at}`);
const limit = (at: number, config = {}) => pluginEntityNamed("rate-limiting", { route: { id: route(at).id }, config });

const full: Snapshot = applySteps(
  initialSnapshot,
  Array.from({ length: MANY }, (_, at) => [
    put("services", service(at)),
    put("routes", route(at)),
    put("plugins", limit(at)),
    put("consumers", consumer(at)),
    put("keyauth_credentials", keyCredential(consumer(at), `k${at}`)),
    put("upstreams", at === 0 ? pool : upstreamNamed(`u${at}`)),
    put("targets", targetOf(pool, `10.0.${at >> 8}.${at & 255}:80`)),
  ]).flat(),
);

const endpoints: ChangeStep = { section: "endpoints", key: service(1).id, value: [{ address: "10.1.0.1", port: 80 }] };
const gone = ({ section, key }: ChangeStep): ChangeStep => ({ section, key, value: undefined });

/** Changes, with the number of plugin instances that each creates. */
const changes: readonly (readonly [what: string, change: ChangeStep, plugins: number])[] = [
  ["an added route", put("routes", route(MANY)), 0],
  ["the removal of a route", gone(put("routes", route(1))), 0],
  ["a disabled service", put("services", service(1, { enabled: false })), 0],
  ["a changed plugin of a route", put("plugins", limit(1, { minute: 1 })), 1],
  ["an added plugin of a service", put("plugins", pluginEntityNamed("cors", { service: { id: service(1).id } })), 1],
  ["an added global plugin", put("plugins", pluginEntityNamed("cors")), 1],
  ["an added plugin of a consumer", put("plugins", pluginEntityNamed("cors", { consumer: { id: consumer(1).id } })), 1],
  ["an added consumer", put("consumers", consumer(MANY)), 0],
  ["an added credential", put("keyauth_credentials", keyCredential(consumer(1), "new")), 0],
  ["added endpoints of a core Service", endpoints, 0],
  ["an added target", put("targets", targetOf(pool, "10.9.9.9:80")), 0],
];

for (const [what, change, plugins] of changes) {
  test(`neither compiling a change nor the next request iterates over a whole collection (${what})`, (context) => {
    const before = compile(null, full, tools);
    const next = applySteps(full, [change]);
    for (const name of ["entries", "keys", "values"] as const)
      context.mock.method(BucketMap.prototype, name, () => assert.fail("a whole collection is iterated over"));
    made = 0;
    const runtime = compile(before, next, tools);
    const match = runtime.match({
      method: "GET",
      path: "/2",
      scheme: "http",
      host: "h2.test",
      serverName: null,
      query: "",
      documentPort: null,
      headerValues: () => [],
    });
    assert.equal(match?.compiledRoute.route.name, "r2");
    assert.equal(match.compiledRoute.upstream?.attempts(balancingRequest()).next()?.service, service(2).id);
    assert.ok(match.compiledRoute.chains.http.base.steps.length > 0);
    assert.equal(made, plugins);
  });
}
