import assert from "node:assert/strict";
import { test } from "node:test";
import { type CrossNamespaceReference, grantsFromKey, grantsIntoKey } from "@sluice/crds";
import { granting, testClusterState } from "../testing-cluster-state.ts";
import { createGrantIndex } from "./grant-index.ts";

type Kind = CrossNamespaceReference["to"]["kind"];
const crossing = (from: CrossNamespaceReference["from"]["kind"], to: Kind, name = "a"): CrossNamespaceReference => ({
  from: { kind: from, namespace: "team" },
  to: { kind: to, namespace: "shop", name },
});
const team = (kind: string) => [{ kind, namespace: "team" }];

/** Grants of the namespace shop: from, to, and the references that the namespace team may then make. */
const cases: readonly (readonly [string, ReturnType<typeof granting>, CrossNamespaceReference, boolean])[] = [
  ["a kind", granting(team("Route"), [{ kind: "Service" }]), crossing("Route", "Service"), true],
  [
    "a kind and the name of the resource",
    granting(team("Route"), [{ kind: "Service", name: "a" }]),
    crossing("Route", "Service"),
    true,
  ],
  [
    "a kind and another name",
    granting(team("Route"), [{ kind: "Service", name: "b" }]),
    crossing("Route", "Service"),
    false,
  ],
  [
    "any name, spelled empty",
    granting(team("Route"), [{ kind: "Service", name: "" }]),
    crossing("Route", "Service"),
    true,
  ],
  ["another kind", granting(team("Route"), [{ kind: "Route" }]), crossing("Route", "Service"), false],
  ["another kind of referrer", granting(team("Plugin"), [{ kind: "Service" }]), crossing("Route", "Service"), false],
  [
    "another namespace",
    granting([{ kind: "Route", namespace: "other" }], [{ kind: "Service" }]),
    crossing("Route", "Service"),
    false,
  ],
  [
    "the core kind of that name",
    granting(team("Route"), [{ group: "", kind: "Service" }]),
    crossing("Route", "Service"),
    false,
  ],
  [
    "Sluice's Service for a core Service",
    granting(team("Service"), [{ kind: "Service" }]),
    crossing("Service", "CoreService"),
    false,
  ],
  [
    "a core Service",
    granting(team("Service"), [{ group: "", kind: "Service" }]),
    crossing("Service", "CoreService"),
    true,
  ],
  ["a Secret", granting(team("Certificate"), [{ group: "", kind: "Secret" }]), crossing("Certificate", "Secret"), true],
  [
    "a referrer of another group",
    {
      spec: {
        from: [{ group: "x", kind: "Route", namespace: "team" }],
        to: [{ group: "sluice.dev", kind: "Service" }],
      },
    },
    crossing("Route", "Service"),
    false,
  ],
  ["an invalid grant", { spec: { from: "team", to: { kind: "Service" } } }, crossing("Route", "Service"), false],
  ["nothing", {}, crossing("Route", "Service"), false],
];
for (const [what, members, asked, allowed] of cases)
  test(`a grant of ${what} ${allowed ? "allows" : "does not allow"} a ${asked.from.kind} that refers to a ${asked.to.kind}`, () => {
    const { clusterState, put } = testClusterState();
    put("ReferenceGrant", "shop/grant", members);
    assert.equal(createGrantIndex(clusterState.ReferenceGrant.values()).isReferenceAllowed(asked), allowed);
  });

test("a grant applies only to its own namespace", () => {
  const { clusterState, put } = testClusterState();
  put("ReferenceGrant", "other/grant", granting(team("Route"), [{ kind: "Service" }]));
  assert.equal(
    createGrantIndex(clusterState.ReferenceGrant.values()).isReferenceAllowed(crossing("Route", "Service")),
    false,
  );
});

test("keys open the routes of namespaces that allow their Consumers, until the last such grant is deleted", () => {
  const { put } = testClusterState();
  const grants = createGrantIndex([]);
  const consumers = granting(team("Consumer"), [{ kind: "Route" }]);
  const told = (key: string, members: ReturnType<typeof granting>) =>
    grants.set(key, put("ReferenceGrant", key, members));
  assert.deepEqual(told("shop/one", consumers), [grantsIntoKey("shop"), grantsFromKey("team")]);
  told("shop/two", consumers);
  told("bank/one", consumers);
  told("team/own", consumers);
  told("park/named", granting(team("Consumer"), [{ kind: "Route", name: "a" }]));
  assert.deepEqual(grants.namespacesOpenTo("team"), ["bank", "shop"]);
  assert.deepEqual(grants.namespacesOpenTo("shop"), []);
  assert.deepEqual(grants.set("shop/one", undefined), [grantsIntoKey("shop"), grantsFromKey("team")]);
  assert.deepEqual(grants.namespacesOpenTo("team"), ["bank", "shop"]);
  told("shop/two", granting(team("Route"), [{ kind: "Route" }]));
  assert.deepEqual(grants.namespacesOpenTo("team"), ["bank"]);
  assert.deepEqual(grants.set("shop/absent", undefined), [grantsIntoKey("shop")]);
});
