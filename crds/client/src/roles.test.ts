/**
 * The chart's roles grant exactly the permissions for Sluice's kinds that the clients of this folder need; test/cluster
 * tests the roles on a real API server.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { kindFacts, pluralOf, resourceKinds } from "@sluice/model";
import { parse } from "yaml";

const files = new URL("../../../charts/sluice/files/", import.meta.url);

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const role = (name: string): Readonly<Record<string, readonly Rule[]>> =>
  parse(readFileSync(new URL(`${name}-role.yaml`, files), "utf8"));
const plurals = resourceKinds.map((kind) => pluralOf(kindFacts[kind])).sort();

/** Resources and verbs of each rule for Sluice's kinds; with `/status`, of each rule for the status of these kinds. */
const verbsOf = (rules: readonly Rule[] | undefined, status: "" | "/status") =>
  rules
    ?.filter(
      ({ apiGroups, resources }) =>
        apiGroups[0] === "sluice.dev" && resources.every((name) => name.includes("/") === (status !== "")),
    )
    .map(({ resources, verbs }) => ({ resources: resources.map((name) => name.replace(status, "")).sort(), verbs }));

test("the operator's role permits reading all Sluice kinds, and patching only the status of those that have one", () => {
  const { cluster } = role("operator");
  assert.deepEqual(verbsOf(cluster, ""), [
    { resources: plurals, verbs: ["get", "list", "watch"] },
    { resources: ["gatewayparameters"], verbs: ["list", "watch"] },
  ]);
  assert.deepEqual(verbsOf(cluster, "/status"), [{ resources: plurals, verbs: ["patch"] }]);
});

test("the rules under cluster and home contain no cluster-scoped resource, so that Roles can have these rules", () => {
  const unscoped = ["tokenreviews", "subjectaccessreviews", "validatingwebhookconfigurations", "namespaces"];
  for (const name of ["operator", "admin"]) {
    const { cluster, home } = role(name);
    const resources = [...(cluster ?? []), ...(home ?? [])].flatMap((rule) => rule.resources);
    assert.deepEqual(
      resources.filter((resource) => unscoped.includes(resource)),
      [],
    );
  }
});

test("the admin listener's role permits reading and writing all Sluice kinds, but not their status; in the home namespace, it has rules for Secrets, Leases and revisions only", () => {
  const { cluster, home } = role("admin");
  const verbs = ["get", "list", "watch", "create", "patch", "delete"];
  assert.deepEqual(verbsOf(cluster, ""), [{ resources: plurals, verbs }]);
  assert.deepEqual(verbsOf(cluster, "/status"), []);
  assert.deepEqual(
    home?.map(({ resources }) => resources),
    [["secrets"], ["leases"], ["leases"], ["controllerrevisions"]],
  );
});
