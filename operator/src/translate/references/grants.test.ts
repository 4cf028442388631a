import assert from "node:assert/strict";
import { test } from "node:test";
import { type CrossNamespaceReference, grantsFromKey, grantsIntoKey } from "@sluice/crds";
import { grantBetween, testClusterState } from "../testing-cluster-state.ts";
import { createGrantIndex } from "./grant-index.ts";

type Kind = CrossNamespaceReference["to"]["kind"];
const crossing = (from: CrossNamespaceReference["from"]["kind"], to: Kind, name = "a"): CrossNamespaceReference => ({
  from: { kind: from, namespace: "team" },
  to: { kind: to, namespace: "shop", name },
});
const team = (kind: string) => [{ kind, namespace: "team" }];

/** Grants in the namespace shop, references from the namespace team, and whether the grants allow them. */
const cases: readonly (readonly [string, ReturnType<typeof grantBetween>, CrossNamespaceReference, boolean])[] = [
  ["for a whole kind", grantBetween(team("Route"), [{ kind: "Service" }]), crossing("Route", "Service"), true],
  [
    "for a kind and the referenced name",
    grantBetween(team("Route"), [{ kind: "Service", name: "a" }]),
    crossing("Route", "Service"),
    true,
  ],
  [
    "for a kind and a different name",
    grantBetween(team("Route"), [{ kind: "Service", name: "b" }]),
    crossing("Route", "Service"),
    false,
  ],
  [
    "for a kind and an empty name",
    grantBetween(team("Route"), [{ kind: "Service", name: "" }]),
    crossing("Route", "Service"),
    true,
  ],
  ["for a different kind", grantBetween(team("Route"), [{ kind: "Route" }]), crossing("Route", "Service"), false],
  [
    "for referrers of a different kind",
    grantBetween(team("Plugin"), [{ kind: "Service" }]),
    crossing("Route", "Service"),
    false,
  ],
  [
    "for a different namespace",
    grantBetween([{ kind: "Route", namespace: "other" }], [{ kind: "Service" }]),
    crossing("Route", "Service"),
    false,
  ],
  [
    "for the core kind of the same name",
    grantBetween(team("Route"), [{ group: "", kind: "Service" }]),
    crossing("Route", "Service"),
    false,
  ],
  [
    "for Sluice's kind of the same name",
    grantBetween(team("Service"), [{ kind: "Service" }]),
    crossing("Service", "CoreService"),
    false,
  ],
  [
    "for core Services",
    grantBetween(team("Service"), [{ group: "", kind: "Service" }]),
    crossing("Service", "CoreService"),
    true,
  ],
  [
    "for Secrets",
    grantBetween(team("Certificate"), [{ group: "", kind: "Secret" }]),
    crossing("Certificate", "Secret"),
    true,
  ],
  [
    "for referrers of a different API group",
    {
      spec: {
        from: [{ group: "x", kind: "Route", namespace: "team" }],
        to: [{ group: "sluice.dev", kind: "Service" }],
      },
    },
    crossing("Route", "Service"),
    false,
  ],
  ["with an invalid spec", { spec: { from: "team", to: { kind: "Service" } } }, crossing("Route", "Service"), false],
  ["without a spec", {}, crossing("Route", "Service"), false],
];
for (const [what, members, asked, allowed] of cases)
  test(`a grant ${what} ${allowed ? "allows" : "does not allow"} a reference from a ${asked.from.kind} to a ${asked.to.kind}`, () => {
    const { clusterState, put } = testClusterState();
    put("ReferenceGrant", "shop/grant", members);
    assert.equal(createGrantIndex(clusterState.ReferenceGrant.values()).isReferenceAllowed(asked), allowed);
  });

test("a grant applies only to references into its own namespace", () => {
  const { clusterState, put } = testClusterState();
  put("ReferenceGrant", "other/grant", grantBetween(team("Route"), [{ kind: "Service" }]));
  assert.equal(
    createGrantIndex(clusterState.ReferenceGrant.values()).isReferenceAllowed(crossing("Route", "Service")),
    false,
  );
});

test("a namespace is open to the keys of another namespace while a grant lets the Consumers of that other namespace refer to all Routes", () => {
  const { put } = testClusterState();
  const grants = createGrantIndex([]);
  const consumers = grantBetween(team("Consumer"), [{ kind: "Route" }]);
  const keysOf = (key: string, members: ReturnType<typeof grantBetween>) =>
    grants.set(key, put("ReferenceGrant", key, members));
  assert.deepEqual(keysOf("shop/one", consumers), [grantsIntoKey("shop"), grantsFromKey("team")]);
  keysOf("shop/two", consumers);
  keysOf("bank/one", consumers);
  keysOf("team/own", consumers);
  keysOf("park/named", grantBetween(team("Consumer"), [{ kind: "Route", name: "a" }]));
  assert.deepEqual(grants.namespacesOpenTo("team"), ["bank", "shop"]);
  assert.deepEqual(grants.namespacesOpenTo("shop"), []);
  assert.deepEqual(grants.set("shop/one", undefined), [grantsIntoKey("shop"), grantsFromKey("team")]);
  assert.deepEqual(grants.namespacesOpenTo("team"), ["bank", "shop"]);
  keysOf("shop/two", grantBetween(team("Route"), [{ kind: "Route" }]));
  assert.deepEqual(grants.namespacesOpenTo("team"), ["bank"]);
  assert.deepEqual(grants.set("shop/absent", undefined), [grantsIntoKey("shop")]);
});
