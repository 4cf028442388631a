import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { array, boolean, integer, nullable, record, type SchemaNode, text } from "@sluice/plugin-sdk";
import { fillDefaults } from "../check/fill-defaults.ts";
import { checkEntity } from "../check/index.ts";
import { type Collection, entities } from "../entities/index.ts";
import { entitySchemaOf, pluginNamed } from "../plugins/index.ts";
import { compactValue, digestOf } from "./compact.ts";

const id = (number: number): string => `00000000-0000-4000-8000-${number.toString().padStart(12, "0")}`;

const examples: Partial<Record<Collection, Readonly<Record<string, unknown>>>> = {
  services: { id: id(1), host: "a", upstream_headers: [{ name: "a", value: "b" }] },
  routes: { id: id(2), paths: ["/"], service: { id: id(1) } },
  consumers: { id: id(3), username: "ann" },
  plugins: { id: id(4), name: "rate-limiting", config: { minute: 5, redis: { host: "r" } }, route: { id: id(2) } },
  keyauth_credentials: { id: id(5), key: "secret", consumer: { id: id(3) } },
  upstreams: { id: id(6), name: "u", healthchecks: { active: { timeout: 2 } } },
  targets: { id: id(7), target: "a:1", upstream: { id: id(6) } },
};

const description = "A member of a later version.";
const later = {
  later_switch: boolean({ description, default: true }),
  later_text: nullable(text({ description })),
  later_list: array(text({ description }), { description, default: [] }),
  later_section: record({ inner: integer({ description, default: 1 }) }, { description, default: {} }),
};

/** Calls `run` while the schema has further members, and returns its result. */
function withLaterMembers<Result>(schema: SchemaNode, run: () => Result): Result {
  const properties = schema.properties as Record<string, SchemaNode>;
  Object.assign(properties, later);
  try {
    return run();
  } finally {
    for (const name of Object.keys(later)) delete properties[name];
  }
}

const { properties: service } = entities.services.schema;
const { schema: configSchema } = pluginNamed("rate-limiting") ?? assert.fail();
const { properties: rateLimiting } = configSchema;
const extended: readonly (readonly [Collection, string, SchemaNode | undefined])[] = [
  ["services", "the entity", entities.services.schema],
  ["services", "the items of a list", service.upstream_headers?.items],
  ["routes", "the entity", entities.routes.schema],
  ["consumers", "the entity", entities.consumers.schema],
  ["plugins", "the entity", entities.plugins.schema],
  ["plugins", "the config", configSchema],
  ["plugins", "a section of the config", rateLimiting.redis],
  ["keyauth_credentials", "the entity", entities.keyauth_credentials.schema],
  ["upstreams", "a section", entities.upstreams.schema.properties.healthchecks],
  ["targets", "the entity", entities.targets.schema],
];

describe("new members that are unset change neither the value that a newer operator pushes nor its digest", () => {
  for (const [collection, where, schema] of extended)
    it(`${collection}: ${where}`, () => {
      assert.ok(schema);
      const { value: entity, violations } = checkEntity(collection, examples[collection]);
      assert.ok(entity, JSON.stringify(violations));
      const [pushed, digest] = [compactValue(collection, entity), digestOf(collection, entity)];
      withLaterMembers(schema, () => {
        const newer = fillDefaults(entitySchemaOf(collection, entity), entity).value as object;
        assert.match(JSON.stringify(newer), /later_section/);
        assert.deepEqual(compactValue(collection, newer), pushed);
        assert.equal(digestOf(collection, newer), digest);
      });
      // An older node restores the entity from the pushed value.
      assert.deepEqual(checkEntity(collection, pushed).value, entity);
    });
});

test("new members that are set are pushed", () => {
  const { value: entity } = checkEntity("routes", examples.routes);
  withLaterMembers(entities.routes.schema, () => {
    const pushed = compactValue("routes", { ...entity, later_switch: false });
    assert.equal(Object(pushed).later_switch, false);
  });
});

test("digests are equal for equal content, whatever the order of members", () => {
  assert.equal(digestOf("services", { a: 1, b: { c: 2, d: null } }), digestOf("services", { b: { c: 2 }, a: 1 }));
  assert.notEqual(digestOf("services", { a: 1 }), digestOf("services", { a: "1" }));
});
