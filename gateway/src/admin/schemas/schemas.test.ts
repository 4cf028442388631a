/** Schemas in Kong's format: a client that fills in their defaults gets the entity that the listener would store. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Collection, checkConfig, checkEntity, collections, pluginNames, registerPlugins } from "@sluice/model";
import { deviceTokenFacts } from "../../../../test/plugins/device-token.ts";
import { neededConfigs } from "../../../../test/plugins/filled-configs.ts";
import { describeTable } from "../testing-table.ts";
import { entitySchema, type KongField, type KongFields, kongPluginSchema } from "./index.ts";

registerPlugins([deviceTokenFacts]);

/**
 * Like go-kong's flattening of a schema: a required record has its members, and every other field has its default or
 * null. Records that are not required are Sluice's own, and go-kong's types leave them out.
 */
const defaultsOf = (fields: KongFields): Record<string, unknown> =>
  Object.fromEntries(
    fields.flatMap((one) =>
      Object.entries(one).map(([name, field]): [string, unknown] => [
        name,
        field.type === "record" && field.required && field.fields
          ? defaultsOf(field.fields as KongFields)
          : (field.default ?? null),
      ]),
    ),
  );

/** Like go-kong's completion of a plugin's config: a record that is neither given nor required stays unset. */
const configDefaults = (fields: KongFields): Record<string, unknown> =>
  Object.fromEntries(
    fields.flatMap((one) =>
      Object.entries(one).map(([name, field]): [string, unknown] => [
        name,
        field.type === "record" && field.required === true
          ? configDefaults(field.fields as KongFields)
          : (field.default ?? null),
      ]),
    ),
  );

const fieldIn = (fields: KongFields, name: string): KongField =>
  fields.find((one) => Object.hasOwn(one, name))?.[name] ?? assert.fail(`there is no ${name}`);

const least: Partial<Record<Collection, object>> = {
  services: { host: "a" },
  routes: { paths: ["/"] },
  upstreams: { name: "a.example" },
  targets: { target: "a:1", upstream: { id: "11111111-1111-4111-8111-111111111111" } },
};

describe("a client that fills in defaults", () => {
  for (const [collection, given] of Object.entries(least) as [Collection, object][]) {
    test(`gets an entity of ${collection} as it is stored`, () => {
      const { value: stored } = checkEntity(collection, given);
      assert.ok(stored);
      const filled = { ...defaultsOf(entitySchema(collection).fields), ...given };
      const { id, created_at, updated_at } = { updated_at: undefined, ...stored };
      assert.deepEqual({ ...filled, id, created_at, ...(updated_at !== undefined && { updated_at }) }, stored);
    });
  }

  for (const plugin of pluginNames()) {
    test(`gets the config of ${plugin} as it is stored`, () => {
      const given = neededConfigs[plugin] ?? {};
      const { value: stored } = checkConfig(plugin, given);
      assert.ok(stored);
      const config = fieldIn(kongPluginSchema(plugin)?.fields ?? [], "config");
      assert.deepEqual({ ...configDefaults(config.fields as KongFields), ...given }, stored);
    });
  }
});

const types = new Set(["string", "integer", "number", "boolean", "array", "set", "map", "record", "foreign"]);

function checkFields(fields: KongFields): void {
  for (const one of fields) {
    assert.equal(Object.keys(one).length, 1);
    for (const field of Object.values(one)) checkField(field);
  }
}

function checkField(field: KongField): void {
  assert.ok(types.has(String(field.type)), JSON.stringify(field));
  if (field.type === "array" || field.type === "set") checkField(field.elements as KongField);
  if (field.type === "map") checkField(field.values as KongField);
  if (field.fields) checkFields(field.fields as KongFields);
}

test("every schema uses only Kong's types, at every level", () => {
  for (const collection of collections) checkFields(entitySchema(collection).fields);
  for (const plugin of pluginNames()) checkFields(kongPluginSchema(plugin)?.fields ?? []);
});

test("a schema shows which members are unique, generated or references, and shows their bounds", () => {
  const { fields, shorthand_fields } = entitySchema("services");
  assert.partialDeepStrictEqual(fieldIn(fields, "name"), { type: "string", unique: true });
  assert.partialDeepStrictEqual(fieldIn(fields, "id"), { type: "string", uuid: true, auto: true });
  assert.partialDeepStrictEqual(fieldIn(fields, "port"), { type: "integer", default: 80, between: [0, 65_535] });
  assert.partialDeepStrictEqual(fieldIn(fields, "client_certificate"), { type: "foreign", reference: "certificates" });
  assert.equal(fieldIn(fields, "client_certificate").required, undefined);
  assert.deepEqual(shorthand_fields, [{ url: { type: "string" } }]);
  assert.partialDeepStrictEqual(fieldIn(entitySchema("keyauth_credentials").fields, "key"), {
    auto: true,
    unique: true,
  });
  assert.partialDeepStrictEqual(fieldIn(entitySchema("targets").fields, "upstream"), {
    type: "foreign",
    required: true,
  });
  assert.partialDeepStrictEqual(fieldIn(entitySchema("routes").fields, "headers"), {
    type: "map",
    keys: { type: "string" },
  });
  assert.partialDeepStrictEqual(fieldIn(kongPluginSchema("cors")?.fields ?? [], "consumer"), {
    type: "foreign",
    eq: null,
  });
});

const valid = { message: "schema validation successful" };

describeTable("the admin API for schemas", [
  {
    does: "returns the schema of a kind of entity",
    ask: "GET /schemas/consumers",
    status: 200,
    has: { entity_checks: [{ at_least_one_of: ["custom_id", "username"] }] },
  },
  { does: "shows empty lists as lists", ask: "GET /schemas/snis", status: 200, has: { entity_checks: [] } },
  {
    does: "has no schema for an unknown kind of entity",
    ask: "GET /schemas/partials",
    status: 404,
    body: { message: "No entity named 'partials'" },
  },
  { does: "returns the schema of a plugin", ask: "GET /schemas/plugins/cors", status: 200 },
  {
    does: "has no schema for an unknown plugin",
    ask: "GET /schemas/plugins/oauth2",
    status: 404,
    body: { message: "No plugin named 'oauth2'" },
  },
  {
    does: "shows that the config of a vault depends on its kind",
    ask: "GET /schemas/vaults",
    status: 200,
    has: {
      fields: [
        { prefix: { type: "string", required: true, unique: true } },
        { config: { type: "record", abstract: true } },
      ],
    },
  },
  {
    does: "returns the schema of a kind of vault",
    ask: "GET /schemas/vaults/env",
    status: 200,
    has: { fields: [{ config: { type: "record", fields: [{ prefix: { type: "string" } }] } }], entity_checks: [] },
  },
  {
    does: "has no schema for an unknown kind of vault",
    ask: "GET /schemas/vaults/hcv",
    status: 404,
    body: { message: "No vault named 'hcv'" },
  },
  {
    does: "shows that the config of a credential depends on its plugin, and lists the plugins that declare credentials",
    ask: "GET /schemas/plugin_credentials",
    status: 200,
    has: {
      fields: [
        { plugin: { type: "string", required: true, one_of: ["device-token"] } },
        { config: { type: "record", abstract: true } },
      ],
    },
  },
  {
    does: "returns the schema of a plugin's credentials, whose key is secret",
    ask: "GET /schemas/plugin_credentials/device-token",
    status: 200,
    has: {
      fields: [
        { key: { type: "string", required: true, encrypted: true, len_min: 4, len_max: 64 } },
        { config: { type: "record", fields: [{ model: { default: "any" } }, { pin: { encrypted: true } }] } },
      ],
    },
  },
  {
    does: "has no schema of credentials for a plugin that declares none",
    ask: "GET /schemas/plugin_credentials/cors",
    status: 404,
    body: { message: "No plugin named 'cors' declares credentials" },
  },
  {
    does: "validates a plugin's credential",
    ask: "POST /schemas/plugin_credentials/validate",
    json: { plugin: "device-token", key: "tok-1", consumer: { id: "11111111-1111-4111-8111-111111111111" } },
    status: 200,
    body: valid,
  },
  {
    does: "validates a vault",
    ask: "POST /schemas/vaults/validate",
    json: { name: "env", prefix: "my-env", config: { prefix: "APP_" } },
    status: 200,
    body: valid,
  },
  {
    does: "returns the errors of a vault",
    ask: "POST /schemas/vaults/validate",
    json: { name: "env", prefix: "env", config: { prefix: "1" } },
    status: 400,
    message: "2 schema violations (config.prefix: invalid value: 1; prefix: must not be one of: env)",
  },
  {
    does: "has no schema for a plugin with the name of an inherited JavaScript property",
    ask: "GET /schemas/plugins/constructor",
    status: 404,
    body: { message: "No plugin named 'constructor'" },
  },
  {
    does: "validates an entity",
    ask: "POST /schemas/services/validate",
    json: { host: "a" },
    status: 200,
    body: valid,
  },
  {
    does: "validates a form",
    ask: "POST /schemas/services/validate",
    form: "url=http://a:81/x",
    status: 200,
    body: valid,
  },
  {
    does: "accepts a reference by name, whether or not an entity has that name",
    ask: "POST /schemas/routes/validate",
    json: { paths: ["/"], service: { name: "guest" } },
    status: 200,
    body: valid,
  },
  {
    does: "accepts a credential whose key is to be generated",
    ask: "POST /schemas/keyauth_credentials/validate",
    json: { consumer: { id: "11111111-1111-4111-8111-111111111111" } },
    status: 200,
    body: valid,
  },
  {
    does: "validates a plugin",
    ask: "POST /schemas/plugins/validate",
    json: { name: "cors" },
    status: 200,
    body: valid,
  },
  {
    does: "returns the errors of an entity",
    ask: "POST /schemas/services/validate",
    json: { port: 70_000 },
    status: 400,
    message: "2 schema violations (host: required field missing; port: value should be between 0 and 65535)",
  },
  {
    does: "returns the errors of a plugin's config",
    ask: "POST /schemas/plugins/validate",
    json: { name: "rate-limiting", config: { minute: 0 } },
    status: 400,
    has: { code: 2, fields: { config: { minute: "value must be greater than 0" } } },
  },
  {
    does: "refuses policy cluster without a database, as a POST does",
    ask: "POST /schemas/plugins/validate",
    json: { name: "rate-limiting", config: { minute: 5, policy: "cluster" } },
    status: 400,
    has: {
      code: 2,
      fields: { config: { policy: "expected one of: local, redis, fleet (cluster needs the database mode)" } },
    },
  },
  {
    does: "answers with 404 to the validation of an unknown kind of entity",
    ask: "POST /schemas/partials/validate",
    json: {},
    status: 404,
    body: { message: "No entity named 'partials'" },
  },
  {
    does: "writes nothing when it validates",
    ask: "GET /services?size=1000",
    status: 200,
    has: { data: [{ name: "base" }], next: null },
  },
  { does: "answers with 405 to a validation that is not a POST", ask: "PUT /schemas/services/validate", status: 405 },
]);

test("secret fields are marked, even in nested records", () => {
  const secret = (fields: KongFields, ...path: readonly string[]): unknown => {
    const [name = "", ...rest] = path;
    const field = fieldIn(fields, name);
    return rest.length === 0 ? field.encrypted : secret(field.fields as KongFields, ...rest);
  };
  assert.equal(secret(entitySchema("keyauth_credentials").fields, "key"), true);
  assert.equal(secret(kongPluginSchema("rate-limiting")?.fields ?? [], "config", "redis", "password"), true);
  assert.equal(secret(kongPluginSchema("rate-limiting")?.fields ?? [], "config", "redis", "host"), undefined);
});
