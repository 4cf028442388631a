/** Property test: entities and their ids are unchanged after they were written in any form and read again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseResources, printResource } from "@sluice/crds";
import {
  type Collection,
  checkDocument,
  checkEntity,
  collections,
  type Entity,
  kongPassword,
  loadText,
} from "@sluice/model";
import fc from "fast-check";
import { arbitraries } from "../../../crds/client/src/translate/testing-arbitraries.ts";
import { CERTIFICATE, CONSUMER, ROUTE, SERVICE, UPSTREAM } from "../../../crds/client/src/translate/testing-example.ts";
import { fromResources } from "../../../gateway/src/commands/config/from-resources.ts";
import { toResources } from "../../../gateway/src/commands/config/to-resources.ts";
import { declarativeText } from "../../../gateway/src/stores/file/export.ts";
import { withPasswordsAs } from "../../../gateway/src/stores/passwords.ts";
import { type EntityLists, entitiesOf } from "../../../gateway/src/stores/read-all.ts";
import { applyWrite, createTables, type Tables } from "../../../gateway/src/stores/tables/index.ts";

/** The ids of the entities that other entities refer to. */
const anchors: { readonly [Name in Collection]?: string } = {
  certificates: CERTIFICATE,
  upstreams: UPSTREAM,
  services: SERVICE,
  routes: ROUTE,
  consumers: CONSUMER,
};

const raws: fc.Arbitrary<readonly (readonly [Collection, object])[]> = fc
  .tuple(
    ...collections.map((name) => {
      const id = anchors[name];
      const others = fc.array(arbitraries[name], { maxLength: 3 });
      const lists =
        id === undefined
          ? others
          : fc
              .tuple(arbitraries[name], others)
              .map(([one, more]): object[] => [Object.assign({}, one, { id }), ...more]);
      // In some of the lists, ids are derived from names.
      return fc
        .tuple(lists, fc.boolean())
        .map(([items, derived]) =>
          items.map((item, index): [Collection, object] => [
            name,
            derived && (id === undefined || index > 0) ? { ...item, id: null } : item,
          ]),
        );
    }),
  )
  .map((lists) => lists.flat());

/**
 * Whether the entity names a CA certificate that is not in `kept`. A custom resource must not do this; in other forms a
 * service may name any id, as in Kong.
 */
function refersToAbsentAuthority(entity: Entity, kept: ReadonlyMap<Collection, readonly Entity[]>): boolean {
  const ids = "ca_certificates" in entity ? (entity.ca_certificates ?? []) : [];
  return ids.some((id) => !kept.get("ca_certificates")?.some((authority) => authority.id === id));
}

/** The entities of `items` that are valid together. */
function listsOf(items: readonly (readonly [Collection, object])[]): EntityLists {
  let tables: Tables = createTables([]);
  const kept = new Map<Collection, Entity[]>(collections.map((name) => [name, []]));
  for (const [collection, raw] of items) {
    const { value: entity } = checkEntity(collection, raw);
    const written = entity && applyWrite(tables, [{ op: "create", collection, entity }]);
    if (!entity || !written?.tables || refersToAbsentAuthority(entity, kept)) continue;
    tables = written.tables;
    kept.get(collection)?.push(entity);
  }
  const lists = Object.fromEntries(kept) as EntityLists;
  // Nodes check more rules than `applyWrite`, so lists that a node would refuse are skipped.
  fc.pre(checkDocument({ _format_version: "3.0", ...lists }).violations === undefined);
  return lists;
}

const sorted = (lists: EntityLists): unknown =>
  Object.fromEntries(
    collections.map((name) => [name, [...(lists[name] ?? [])].sort((a, b) => (a.id < b.id ? -1 : 1))]),
  );

test("entities are unchanged after a round trip through a declarative file, except for passwords, which are hashed as in Kong", () => {
  fc.assert(
    fc.property(raws, (items) => {
      const lists = listsOf(items);
      const { value, violations } = loadText(declarativeText(lists));
      assert.ok(value, JSON.stringify(violations));
      assert.deepEqual(sorted(entitiesOf(value.document)), sorted(withPasswordsAs(kongPassword, lists)));
    }),
    { numRuns: 20 },
  );
});

for (const [what, namespace, ofClass] of [
  ["the default namespace", "default", undefined],
  ["another namespace and class", "home", "other"],
] as const) {
  test(`entities are unchanged after a round trip through custom resources in ${what}`, () => {
    fc.assert(
      fc.property(raws, (items) => {
        const lists = listsOf(items);
        const { resources, faults } = toResources(lists, { namespace, class: ofClass });
        assert.deepEqual(faults, []);
        const text = resources.map(printResource).join("---\n");
        const parsed = parseResources(text);
        assert.deepEqual(parsed.faults, []);
        const held = parsed.resources.map(({ content }) => content);
        const read = fromResources(held, { homeNamespace: namespace, class: ofClass ?? "sluice" });
        assert.deepEqual(read.faults, undefined);
        assert.deepEqual(sorted(read.lists ?? {}), sorted(lists));
      }),
      { numRuns: 12 },
    );
  });
}
