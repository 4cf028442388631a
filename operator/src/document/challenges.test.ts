import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketDifferences } from "@sluice/model";
import { testClusterState } from "../translate/testing-cluster-state.ts";
import { createTranslate } from "../translate/translator.ts";
import { buildSnapshot, emptyBuild } from "./build-snapshot.ts";
import { withChallenges } from "./challenges.ts";

const challenge = { type: "http-01", domain: "a.test", token: "t", key_authorization: "t.k" } as const;

function scene() {
  const { clusterState, put } = testClusterState();
  put("Certificate", "web", { spec: { acme: {}, snis: [{ name: "a.test" }] } });
  const translation = createTranslate({ homeNamespace: "default", class: "sluice" })(clusterState);
  const [id = ""] = [...translation.items.certificates.keys()];
  return { translation, items: translation.items, id };
}

test("nodes get the challenges of an order with its certificate, until they are removed", () => {
  const { translation, items, id } = scene();
  let built = emptyBuild;
  const challengesIn = (challenges: Parameters<typeof withChallenges>[1]) => {
    const content = { ...translation, items: withChallenges(items, challenges), listeners: new Map() };
    ({ built } = buildSnapshot(built, content));
    return built.snapshot.certificates.get(id)?._sluice?.challenges;
  };
  assert.deepEqual(challengesIn(new Map([[id, [challenge]]])), [challenge]);
  assert.equal(challengesIn(new Map()), undefined);
});

test("the same challenges of the same certificate give the same item, so that the document does not change", () => {
  const { items, id } = scene();
  const list = [challenge];
  const [one, other] = [1, 2].map(() => withChallenges(items, new Map([[id, list]])));
  assert.ok(one && other);
  assert.equal(one.certificates.get(id), other.certificates.get(id));
  assert.deepEqual(bucketDifferences(one.certificates, other.certificates), []);
});

test("challenges of unknown certificates are left out, and without challenges nothing is copied", () => {
  const { items } = scene();
  assert.equal(withChallenges(items, new Map([["unknown", [challenge]]])), items);
  assert.equal(withChallenges(items, new Map()), items);
});
