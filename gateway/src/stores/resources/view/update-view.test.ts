import assert from "node:assert/strict";
import { test } from "node:test";
import { classOf, namespacedName, type Resource } from "@sluice/crds";
import { collections, type ResourceKind, resourceKinds } from "@sluice/model";
import fc from "fast-check";
import { randomCases } from "../../../../../tools/stages/random-cases.ts";
import { buildResourceView, createViewContext, type Resources, type ResourceView } from "./build-view.ts";
import { updateView } from "./update-view.ts";

type Mutable = Record<keyof Resources, Map<string, Resource>>;

const nothing = (): Mutable => ({
  ...(Object.fromEntries(resourceKinds.map((kind) => [kind, new Map()])) as Record<
    ResourceKind,
    Map<string, Resource>
  >),
  Secret: new Map(),
});

const context = () =>
  createViewContext({ homeNamespace: "default", isOwn: (resource) => classOf(resource) === "sluice" });

/** All results of a view, as data. */
function summaryOf(view: ResourceView, resources: Resources) {
  const { rows, claims, ids, faulty } = view.tables;
  const whose = (map: typeof claims) => [...map.keys()].sort().map((key) => [key, map.get(key)?.entity.id]);
  return {
    rows: collections.map((name) => [...rows[name].keys()].sort().map((id) => rows[name].get(id))),
    claims: whose(claims),
    faulty: whose(faulty),
    ids: [...ids.keys()].sort().map((key) => [key, ids.get(key)]),
    held: collections.map((name) =>
      [...rows[name].keys()].sort().map((id) => {
        const held = view.held(name, id);
        return (
          held && [
            resources[held.kind].get(namespacedName("default", held.resource.metadata.name)) === held.resource,
            held,
          ]
        );
      }),
    ),
    within: resourceKinds.map((kind) =>
      [...resources[kind].values()].map((resource) =>
        view.within(resource).map(({ entity, isFaulty }) => [entity, isFaulty]),
      ),
    ),
  };
}

const name = fc.constantFrom("a", "b", "c");
/** Resources that refer to each other, share names, and have missing references. */
const resource = fc.oneof(
  fc.record({
    kind: fc.constant("Service" as const),
    name,
    spec: fc.record({ name, url: fc.constantFrom("http://up", "nonsense") }),
  }),
  fc.record({
    kind: fc.constant("Route" as const),
    name,
    spec: fc.record({ name, serviceRef: fc.record({ name }), paths: fc.constantFrom(["/"], ["no-slash"], ["/a"]) }),
  }),
  fc.record({
    kind: fc.constant("Plugin" as const),
    name,
    spec: fc.record({ plugin: fc.constantFrom("cors", "key-auth") }),
  }),
  fc.record({
    kind: fc.constant("Consumer" as const),
    name,
    spec: fc.record({
      username: name,
      keyAuth: fc.array(fc.record({ secretRef: fc.record({ name, key: fc.constant("key") }) }), { maxLength: 2 }),
    }),
  }),
  fc.record({ kind: fc.constant("Secret" as const), name, spec: fc.record({ key: name }) }),
);
/** `touches`: only writes the status of an existing resource. */
const does = fc.constantFrom("puts", "removes", "touches");
const step = fc.record({ resource, does, age: fc.integer({ min: 0, max: 3 }) });

test("an incrementally updated view equals a newly built view", () => {
  let quick = 0;
  fc.assert(
    fc.property(fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { maxLength: 12 }), (rounds) => {
      const resources = nothing();
      const options = context();
      let view = buildResourceView(resources, options);
      let generation = 0;
      for (const round of rounds) {
        const changed = new Set<string>();
        for (const { resource: made, does, age } of round) {
          const key = namespacedName("default", made.name);
          generation++;
          changed.add(`${made.kind}/${key}`);
          const { spec } = made;
          const metadata = {
            name: made.name,
            namespace: "default",
            uid: `${made.kind}-${made.name}-${generation}`,
            generation,
            creationTimestamp: `2026-01-0${age + 1}T00:00:00Z`,
            ...(made.kind === "Secret" && { labels: { "sluice.dev/credential": "key-auth" } }),
          };
          const content =
            made.kind === "Secret"
              ? { apiVersion: "v1", data: { key: Buffer.from(made.spec.key).toString("base64") } }
              : { apiVersion: "sluice.dev/v1alpha1", spec };
          const there = resources[made.kind].get(key);
          if (does === "touches") {
            if (there) resources[made.kind].set(key, { ...there, status: { conditions: [] } });
          } else if (does === "removes") resources[made.kind].delete(key);
          else resources[made.kind].set(key, { ...content, kind: made.kind, metadata } as Resource);
        }
        const { marked } = view;
        view = updateView(view, changed, options);
        if (view.marked === marked) quick++;
        assert.deepEqual(summaryOf(view, resources), summaryOf(buildResourceView(resources, context()), resources));
      }
    }),
    { numRuns: randomCases(100) },
  );
  assert.ok(quick > 100, `only ${quick} views were updated incrementally`);
});
