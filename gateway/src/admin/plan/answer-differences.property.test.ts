/** A plan compares two configurations as a node does that serves one after the other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  canonicalJson,
  checkDocument,
  checkEntity,
  collections,
  type ExplainRequest,
  type Explanation,
  readExplainRequest,
} from "@sluice/model";
import fc from "fast-check";
import { describedRequest } from "../../explain/testing-client.ts";
import { explainedDocuments, randomRequests } from "../../explain/testing-documents.ts";
import { startExplainRig } from "../../explain/testing-worker.ts";
import { createGuard } from "../../outbound/guard.ts";
import type { EntityLists } from "../../stores/read-all.ts";
import type { Effect } from "../../stores/store.ts";
import { affectedParts } from "./affected-routes.ts";
import type { DifferenceKind } from "./answer-differences.ts";
import { entityChangesOf } from "./plan.ts";
import { differencesFor, type PlannedRuntimes, plannedRuntimes } from "./planned-runtimes.ts";
import { describedSample, type SampleRequest, sampleRequestsFor } from "./sample-requests.ts";
import { effectsBetween, planBetween } from "./testing-plans.ts";

const SEED = 20_261_129;
const PAIRS = 15;
const REQUESTS = 8;
const PLANS = 30;

/** The entities of a document, with their members below `_sluice`. */
function entitiesIn(raw: object): EntityLists {
  const { value } = checkDocument({ _format_version: "3.0", ...raw });
  const entities = collections.map((collection) => [
    collection,
    (value?.document[collection] ?? []).map((item) => checkEntity(collection, item).value),
  ]);
  return Object.fromEntries(entities) as EntityLists;
}

interface RandomDocument {
  readonly plugins: readonly object[];
}

/** Pairs of documents, most of which have much in common. */
const pairsOf = <Random extends RandomDocument>(from: fc.Arbitrary<Random>) =>
  fc
    .record({
      one: from,
      other: from,
      replaced: fc.subarray(["services", "upstreams", "consumers"] as const),
      removed: fc.integer({ min: 0, max: 3 }),
      isWhole: fc.integer({ min: 0, max: 4 }).map((roll) => roll === 0),
    })
    .map(({ one, other, replaced, removed, isWhole }): readonly [object, object] => {
      if (isWhole) return [one, other];
      const parts = Object.entries(other).filter(([section]) => replaced.some((name) => name === section));
      return [one, { ...one, ...Object.fromEntries(parts), plugins: one.plugins.slice(removed) }];
    });

/** Headers that differ for each request. */
const unstable = /^(?:date|content-length|x-(?:sluice|kong)-.*)$/;

/** The parts by which a plan distinguishes answers, without random values. */
function answerIn({ route, service, consumer, upstream, response, unknown }: Explanation): string {
  const stable = (headers: readonly (readonly [string, string])[]) =>
    headers
      .map(([name, value]) => [name.toLowerCase(), value.replace(/^[\da-f-]{36}#\d+$/, "ID")] as const)
      .filter(([name]) => !unstable.test(name))
      .sort();
  return canonicalJson({
    route,
    service,
    consumer,
    unknown,
    upstream: upstream && { ...upstream, headers: stable(upstream.headers) },
    response: response && {
      ...response,
      headers: stable(response.headers),
      body: response.body.replaceAll(/[\da-f]{32}/g, "ID"),
    },
  });
}

/** The kinds of differences between the explanations of a request without credentials. */
async function differingKinds(request: ExplainRequest, planned: PlannedRuntimes): Promise<readonly DifferenceKind[]> {
  const { before, after } = planned;
  const [was, will] = [(await before.explain(request, null)).result, (await after.explain(request, null)).result];
  const isRouted = was.route?.id !== will.route?.id || was.service?.id !== will.service?.id;
  const differences = await differencesFor(request, null, planned);
  return [...(isRouted ? (["routed"] as const) : []), ...differences.map(({ kind }) => kind)];
}

test(`for ${PAIRS * REQUESTS} random requests to random pairs of configurations, a plan says that the answer differs if and only if the explanations of a node that serves both do`, async () => {
  await using rig = await startExplainRig();
  const { reasonToRefuse } = createGuard({ allowedUpstreams: ["127.0.0.0/8"], ownListeners: [] });
  const tally = { same: 0, different: 0 };
  const list = fc.array(randomRequests, { minLength: REQUESTS, maxLength: REQUESTS });
  const check = async (
    [one, other]: readonly [object, object],
    all: readonly Parameters<typeof describedRequest>[0][],
  ) => {
    const before = entitiesIn(one);
    const changes = entityChangesOf(effectsBetween(before, entitiesIn(other)));
    const planned = plannedRuntimes({ entities: before, changes, reasonToRefuse, now: rig.clock });
    for (const request of all) {
      const described = describedRequest({ ...request, listener: null }, rig);
      const answers: string[] = [];
      for (const served of [one, other]) {
        rig.serve(served);
        answers.push(answerIn(await rig.explain(described)));
      }
      const { value: explained } = readExplainRequest(described);
      assert.ok(explained);
      const differs = answers[0] !== answers[1];
      const kinds = await differingKinds(explained, planned);
      const said = kinds.includes("routed") || kinds.includes("answered");
      assert.equal(said, differs, JSON.stringify({ described, answers, kinds }, null, 1));
      tally[differs ? "different" : "same"]++;
    }
    planned.close();
  };
  await fc.assert(fc.asyncProperty(pairsOf(explainedDocuments(rig.upstreamPort)), list, check), {
    numRuns: PAIRS,
    seed: SEED,
  });
  assert.ok(Math.min(tally.same, tally.different) > 20, JSON.stringify(tally));
});

test(`for ${PLANS} random pairs of configurations, a plan counts all sample requests of affected routes whose explanations differ`, async () => {
  const allowedUpstreams = ["127.0.0.0/8"];
  const { reasonToRefuse } = createGuard({ allowedUpstreams, ownListeners: [] });
  const tally = { same: 0, different: 0 };
  const check = async ([one, other]: readonly [object, object]) => {
    const [before, after] = [entitiesIn(one), entitiesIn(other)];
    const { requests } = await planBetween(before, after, { allowedUpstreams });
    const effects = effectsBetween(before, after);
    const planned = plannedRuntimes({ entities: before, changes: entityChangesOf(effects), reasonToRefuse });
    const snapshots = [planned.before, planned.after].map(({ runtime }) => runtime.snapshot);
    const isChange = (effect: Effect) => canonicalJson(effect.before) !== canonicalJson(effect.after);
    const affected = affectedParts(effects.filter(isChange), snapshots);
    const areAll = affected.routes === null || affected.reroutes || affected.consumers.size > 0;
    const routes = snapshots
      .flatMap((snapshot) => [...snapshot.routes.values()])
      .filter(({ id }) => areAll || affected.routes?.has(id));
    const samples = new Map(routes.flatMap(sampleRequestsFor).map((sample) => [JSON.stringify(sample), sample]));
    const different: SampleRequest[] = [];
    for (const sample of samples.values())
      if ((await differingKinds(describedSample(sample), planned)).length > 0) different.push(sample);
    planned.close();
    const shown = (requests?.changed ?? []).filter(({ request }) => request.consumer === null);
    const counted = shown.reduce((sum, { similar }) => sum + 1 + similar, 0);
    assert.equal(counted, different.length, JSON.stringify({ shown, different }, null, 1));
    assert.notEqual(requests?.incomplete, true);
    tally.different += different.length;
    tally.same += samples.size - different.length;
  };
  await fc.assert(fc.asyncProperty(pairsOf(explainedDocuments(80)), check), { numRuns: PLANS, seed: SEED });
  assert.ok(Math.min(tally.same, tally.different) > 20, JSON.stringify(tally));
});
