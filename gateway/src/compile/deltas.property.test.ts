/** A runtime that was updated by changes behaves like a runtime that is compiled from the resulting snapshot alone. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import type { Snapshot } from "@sluice/model";
import type { PluginContext, PluginPhases } from "@sluice/plugin-sdk";
import fc from "fast-check";
import { pluginsWithPhases } from "../../../test/plugins/fake-exchange.ts";
import { randomCases } from "../../../tools/stages/random-cases.ts";
import type { WorkerServices } from "../plugin-services/instance-context.ts";
import { compile } from "./compile.ts";
import type { CompiledRoute, PluginChain, RoutableRequest, Runtime, UpstreamTarget } from "./runtime.ts";
import { applySteps, initialSnapshot, randomChanges, testNames } from "./testing-changes.ts";
import { consumerNamed, idOf } from "./testing-entities.ts";

interface Made extends PluginPhases {
  readonly made: string;
}

const phases = (config: unknown, { scope: { id } }: PluginContext): Made => ({
  made: `${id} ${JSON.stringify(config)}`,
});
const plugins = pluginsWithPhases(phases);
const vault = { allowed: ["*"], variables: { A_USER: "ann", B_USER: "bob" } };
const tools = { plugins, services: { now: () => 0, vault } as unknown as WorkerServices };

const requests: readonly RoutableRequest[] = ["a.test", "c.test", "b.test:80", ""].flatMap((host) =>
  ["/", "/a", "/a/b/c", "/b"].map((path) => ({
    method: "GET",
    path,
    scheme: "http" as const,
    host,
    serverName: null,
    query: "",
    documentPort: null,
    headerValues: () => [],
  })),
);
const consumers = testNames.consumers.map(consumerNamed);

const toldChain = ({ steps }: PluginChain) =>
  steps.map(({ priority, phases }) => `${priority} ${(phases as Made).made}`);
const toldTarget = ({ certificate, ...target }: UpstreamTarget) => ({ ...target, certificate: certificate?.key });

function toldPart({ route, upstream, chains }: CompiledRoute) {
  return {
    route,
    host: upstream?.host,
    service: upstream?.service,
    targets: upstream?.targets.map(toldTarget),
    chains: [chains.http, chains.https].map((each) => [
      toldChain(each.base),
      ...consumers.map((consumer) => toldChain(each.identified(consumer, 1250))),
    ]),
  };
}

/** Everything that requests can observe of a runtime, as plain data. */
function summaryOf(runtime: Runtime) {
  const { identities, certificates, balancers, upstreams, snapshot } = runtime;
  return {
    matches: requests.map((request) => {
      const match = runtime.match(request);
      return match && [toldPart(match.compiledRoute), match.matchedPath];
    }),
    parts: [...snapshot.routes.keys()].map((id) => runtime.compiledRoute(id)).map((part) => part && toldPart(part)),
    upstreams: testNames.services.map((name) => upstreams.get(idOf(`service ${name}`))?.targets.map(toldTarget)),
    balancers: [...balancers].map(([id, { upstream, certificate, authorities, trustsMachine, entries }]) => [
      id,
      upstream,
      certificate,
      authorities,
      trustsMachine,
      entries.map(({ member, weight }) => [member.id, member.address, weight]),
    ]),
    credentials: testNames.keys.flatMap((key) =>
      [...snapshot.routes.values()].map((route) =>
        identities.credential("keyauth_credentials", hash("sha256", key), route),
      ),
    ),
    consumers: testNames.consumers.map((name) => identities.consumer(name)),
    documents: testNames.documents.map((name) => runtime.graphqlDocuments(name)),
    certificates: ["a.test", "c.test", "other", null].map((name) => certificates.find(name)?.key),
  };
}

test("after any changes a runtime behaves like a runtime compiled from scratch, and the previous runtime is unchanged", () => {
  fc.assert(
    fc.property(randomChanges, (all) => {
      let snapshot: Snapshot = initialSnapshot;
      let runtime = compile(null, snapshot, tools);
      let before = summaryOf(runtime);
      for (const change of all) {
        const previous = runtime;
        snapshot = applySteps(snapshot, change);
        runtime = compile(previous, snapshot, tools);
        const now = summaryOf(runtime);
        assert.deepEqual(now, summaryOf(compile(null, snapshot, tools)));
        assert.deepEqual(summaryOf(previous), before, "a request under way keeps its runtime");
        before = now;
      }
    }),
    { numRuns: randomCases(60) },
  );
});

test("after any changes a target counts as served if and only if one of the upstreams contains it", () => {
  fc.assert(
    fc.property(randomChanges, (all) => {
      let snapshot: Snapshot = initialSnapshot;
      let runtime = compile(null, snapshot, tools);
      const seen = new Map<string, UpstreamTarget>();
      const targetsOf = () =>
        testNames.services.flatMap((name) => runtime.upstreams.get(idOf(`service ${name}`))?.targets ?? []);
      for (const change of all) {
        snapshot = applySteps(snapshot, change);
        runtime = compile(runtime, snapshot, tools);
        const keys = new Set(targetsOf().map(({ key }) => key));
        for (const target of targetsOf()) seen.set(target.key, target);
        for (const target of seen.values()) assert.equal(runtime.upstreams.serves(target), keys.has(target.key));
      }
    }),
    { numRuns: randomCases(40) },
  );
});
