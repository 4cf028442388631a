import assert from "node:assert/strict";
import { test } from "node:test";
import { acmeSecretName } from "@sluice/crds";
import { buildSnapshot, emptyBuild } from "../document/build-snapshot.ts";
import { testClusterState } from "../translate/testing-cluster-state.ts";
import { createTranslate } from "../translate/translator.ts";
import { createOrderedCertificates } from "./ordered-certificates.ts";

function scene() {
  const { clusterState, put, remove } = testClusterState();
  const translate = createTranslate({ homeNamespace: "default", class: "sluice" });
  const index = createOrderedCertificates();
  let built = emptyBuild;
  return {
    put,
    remove,
    /** One line for each certificate with `acme`: its resource, and its SNIs or why nothing is ordered. */
    lines(): readonly string[] {
      ({ built } = buildSnapshot(built, { ...translate(clusterState), listeners: new Map() }));
      const found = index.of({ built, resources: clusterState }).values();
      return Array.from(
        found,
        ({ ordered, refusal }) => `${ordered.name}: ${refusal ?? ordered.snis.join(" ")}`,
      ).sort();
    },
  };
}

const names = (...snis: readonly string[]) => snis.map((name) => ({ name }));
const madeFor = (certificate: string) => ({
  name: "",
  namespace: "",
  annotations: { "sluice.dev/certificate": certificate },
});

test("Certificates with acme are ordered for their SNIs, and others are not", () => {
  const { put, remove, lines } = scene();
  put("Certificate", "web", { spec: { acme: {}, snis: names("www.test", "a.test") } });
  put("Certificate", "plain", { spec: { secretRef: { name: "absent" }, snis: names("plain.test") } });
  assert.deepEqual(lines(), ["default/web: a.test www.test"]);
  put("Certificate", "web", { spec: { acme: {}, snis: names("b.test") } });
  put("Certificate", "team/web", { spec: { acme: {}, snis: names("a.test") } });
  assert.deepEqual(lines(), ["default/web: b.test", "team/web: a.test"]);
  remove("Certificate", "web");
  assert.deepEqual(lines(), ["team/web: a.test"]);
});

const NEEDS = "each name needs an SNI of this Certificate that is served";
const refusals: readonly (readonly [what: string, spec: Record<string, unknown>, line: string])[] = [
  [
    "a name without an SNI",
    { acme: { domains: ["c.test"] }, snis: names("b.test") },
    `no certificate is ordered for c.test: ${NEEDS}`,
  ],
  [
    "names of the SNIs of another namespace",
    { acme: { domains: ["own.test", "A.test"] }, snis: names("own.test", "a.test") },
    `no certificate is ordered for A.test: ${NEEDS}`,
  ],
  [
    "a name for which another namespace has an SNI, although a wildcard of its own matches",
    { acme: { domains: ["x.team.test"] }, snis: names("*.team.test") },
    `no certificate is ordered for x.team.test: ${NEEDS}`,
  ],
  [
    "only SNIs that older Certificates have",
    { acme: {}, snis: names("a.test") },
    "no certificate is ordered, because no SNI of this Certificate is served",
  ],
];
for (const [what, spec, line] of refusals)
  test(`nothing is ordered for ${what}`, () => {
    const { put, lines } = scene();
    put("Certificate", "team/old", { spec: { acme: {}, snis: names("a.test", "x.team.test") } });
    put("Certificate", "web", { spec });
    assert.equal(lines()[0], `default/web: ${line}`);
  });

test("a wildcard SNI of its own allows a name that it matches", () => {
  const { put, lines } = scene();
  put("Certificate", "web", { spec: { acme: { domains: ["x.team.test"] }, snis: names("*.team.test") } });
  assert.deepEqual(lines(), ["default/web: *.team.test"]);
});

test("nothing is ordered while a Secret that was not created for the Certificate has the name", () => {
  const { put, lines } = scene();
  put("Certificate", "web", { spec: { acme: {}, snis: names("a.test") } });
  const name = acmeSecretName("web");
  put("Secret", name, { type: "kubernetes.io/tls", data: {} });
  assert.match(
    lines()[0] ?? "",
    /^default\/web: the Secret web-acme in the namespace default was not created for this/,
  );
  put("Secret", name, { type: "kubernetes.io/tls", data: {}, metadata: madeFor("other") });
  assert.match(lines()[0] ?? "", /was not created for this Certificate/);
  put("Secret", name, { type: "kubernetes.io/tls", data: {}, metadata: madeFor("web") });
  assert.deepEqual(lines(), ["default/web: a.test"]);
});

test("a Certificate is ordered if the name of its Secret, which is five characters longer than its own, is not too long", () => {
  const { put, lines } = scene();
  put("Certificate", "a".repeat(248), { spec: { acme: {}, snis: names("a.test") } });
  put("Certificate", "b".repeat(249), { spec: { acme: {}, snis: names("b.test") } });
  const [one, other] = lines();
  assert.match(one ?? "", /^default\/a+: a\.test$/);
  assert.match(
    other ?? "",
    /because metadata\.name has 249 characters: .* a metadata\.name of at most 248 characters$/,
  );
});
