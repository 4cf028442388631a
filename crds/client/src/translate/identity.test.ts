import assert from "node:assert/strict";
import { test } from "node:test";
import { deriveId, type ResourceKind } from "@sluice/model";
import { classOf, identityOf, sluiceKindOf } from "./identity.ts";
import { exampleResource, ROUTE } from "./testing-example.ts";

/** A resource's kind, spec and namespace, and the key from which its id is derived. The resource's name is `mine`. */
const keys: readonly (readonly [ResourceKind, object, string, string])[] = [
  ["Service", {}, "home", "mine"],
  ["Service", {}, "team", "team.mine"],
  ["Service", { name: "given" }, "team", "given"],
  ["Route", { name: "" }, "team", "team.mine"],
  ["Plugin", { instanceName: "instance" }, "home", "instance"],
  ["Plugin", { name: "given", instanceName: "instance" }, "home", "given"],
  ["Plugin", {}, "home", "mine"],
  ["Consumer", { username: "demo" }, "team", "demo"],
  ["Consumer", { name: "given", username: "demo" }, "team", "given"],
  ["Consumer", { customId: "7" }, "team", "team.mine"],
  ["Consumer", { username: 5 }, "team", "team.mine"],
];
for (const [kind, spec, namespace, key] of keys) {
  test(`the id of a ${kind} with ${JSON.stringify(spec)} in ${namespace} is derived from the key ${key}`, () => {
    const identity = identityOf(exampleResource(kind, spec, namespace), "home");
    assert.equal(identity.key, key);
    assert.equal(identity.id, deriveId(identity.collection, key));
  });
}

test("a given id is used in lower case, whatever the name is", () => {
  assert.equal(identityOf(exampleResource("Route", { id: ROUTE.toUpperCase(), name: "x" }), "home").id, ROUTE);
});

test("an invalid id is ignored", () => {
  assert.equal(identityOf(exampleResource("Route", { id: "1" }), "home").id, deriveId("routes", "mine"));
});

test("sluiceKindOf returns undefined for a core Service, and for a kind with the name of a property that all objects inherit", () => {
  assert.equal(sluiceKindOf({ apiVersion: "v1", kind: "Service" }), undefined);
  assert.equal(sluiceKindOf({ apiVersion: "sluice.dev/v1alpha1", kind: "toString" }), undefined);
});

test("the class is sluice when none is given", () => {
  assert.equal(classOf(exampleResource("Route", {})), "sluice");
  assert.equal(classOf(exampleResource("Route", { class: "other" })), "other");
});
