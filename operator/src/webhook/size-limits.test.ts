import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatPath } from "@sluice/crds";
import { kindFacts, type ResourceKind } from "@sluice/model";
import { sizeViolation } from "./size-limits.ts";
import { validateResource } from "./validate-resource.ts";

const many = <Item>(count: number, item: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => item(index));
const members = (count: number) => Object.fromEntries(many(count, (index) => [`m${index}`, 1]));

const table: readonly (readonly [kind: ResourceKind, spec: object, found: string | undefined])[] = [
  ["Route", { paths: many(256, () => "/a") }, undefined],
  ["Route", { paths: many(257, () => "/a") }, "spec.paths 256 items"],
  ["Route", { paths: ["a".repeat(1025)] }, "spec.paths[0] 1024 characters"],
  ["Consumer", { username: "\u{1f600}".repeat(256) }, undefined],
  ["Consumer", { username: "\u{1f600}".repeat(257) }, "spec.username 256 characters"],
  ["Route", { headers: members(17) }, "spec.headers 16 members"],
  ["Route", { headers: { a: many(65, () => "a") } }, "spec.headers.a 64 items"],
  ["Route", members(1001), "spec 1000 members"],
  ["Route", { unknown: many(1001, () => 1) }, "spec.unknown 1000 items"],
  ["Upstream", { targets: many(1024, (index) => ({ target: `a${index}` })) }, undefined],
  ["Upstream", { targets: [{ target: "a", tags: many(65, () => "a") }] }, "spec.targets[0].tags 64 items"],
  ["Plugin", { config: { origins: many(900, () => "*") } }, undefined],
  ["Plugin", { config: { origins: many(1001, () => "*") } }, "spec.config 1000 values"],
  ["Plugin", { config: { a: { b: many(600, () => [1]) } } }, "spec.config 1000 values"],
];

describe("the size limits", () => {
  for (const [index, [kind, spec, expected]] of table.entries())
    test(`${expected ? "refuse" : "accept"} a ${kind} ${expected ? `above the limit ${expected}` : "within them"} (row ${index})`, () => {
      const found = sizeViolation(kindFacts[kind].spec, spec);
      assert.equal(found && `${formatPath(found.path)} ${found.message.replace("holds more than ", "")}`, expected);
    });

  test("report a single size violation quickly, instead of all violations of a resource that is too large", () => {
    const spec = { paths: many(300_000, () => "~/(") };
    const resource = {
      apiVersion: "sluice.dev/v1alpha1",
      kind: "Route",
      metadata: { name: "a", namespace: "b" },
      spec,
    };
    const before = performance.now();
    const { violations } = validateResource(resource, "default");
    assert.ok(performance.now() - before < 1000, "validation took more than a second");
    assert.deepEqual(
      violations.map(({ path, message }) => `${formatPath(path)}: ${message}`),
      ["spec.paths: holds more than 256 items"],
    );
  });
});
