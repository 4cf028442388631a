/** A plan compares two configurations as a node does that serves one after the other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  canonicalJson,
  checkDocument,
  checkEntity,
  collections,
  type Explanation,
  readExplainRequest,
} from "@sluice/model";
import fc from "fast-check";
import { describedRequest } from "../../explain/testing-client.ts";
import { documents, randomRequests } from "../../explain/testing-documents.ts";
import { startExplainRig } from "../../explain/testing-worker.ts";
import { createGuard } from "../../outbound/guard.ts";
import type { EntityLists } from "../../stores/read-all.ts";
import { entityChangesOf } from "./plan.ts";
import { differencesFor, plannedRuntimes } from "./planned-runtimes.ts";
import { effectsBetween } from "./testing-plans.ts";

const SEED = 20_261_129;
const PAIRS = 15;
const REQUESTS = 8;

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
    const planned = await plannedRuntimes({ entities: before, changes, reasonToRefuse, now: rig.clock });
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
      const [was, will] = [await planned.before.explain(explained, null), await planned.after.explain(explained, null)];
      const isRouted =
        was.result.route?.id !== will.result.route?.id || was.result.service?.id !== will.result.service?.id;
      const differences = await differencesFor(explained, null, planned);
      const said = isRouted || differences.some(({ kind }) => kind === "answered");
      assert.equal(said, differs, JSON.stringify({ described, answers, differences }, null, 1));
      tally[differs ? "different" : "same"]++;
    }
    planned.close();
  };
  await fc.assert(fc.asyncProperty(pairsOf(documents(rig.upstreamPort)), list, check), { numRuns: PAIRS, seed: SEED });
  assert.ok(Math.min(tally.same, tally.different) > 20, JSON.stringify(tally));
});
