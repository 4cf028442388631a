/** What a write reports and refuses, with Kong's codes, names and messages. */
import { ids } from "../fixture.ts";
import type { AdminTable } from "../row.ts";

const schema = (message: string, fields: object) => ({
  code: 2,
  name: "schema violation",
  message: `schema violation (${message})`,
  fields,
});
const unique = (rendered: string, fields: object) => ({
  code: 5,
  name: "unique constraint violation",
  message: `UNIQUE violation detected on '${rendered}'`,
  fields,
});
/** The message for an unknown plugin, in which Kong's clients search for `not enabled`. */
export const notEnabled = (name: string): string =>
  `plugin '${name}' not enabled: Sluice has acl, basic-auth, bot-detection, compression, concurrency-limiting, correlation-id, cors, datadog, device-token, file-log, forward-auth, graphql, grpc-web, hmac-auth, http-log, ip-restriction, jwt, key-auth, ldap-auth, loggly, mtls-auth, openid-connect, opentelemetry, prometheus, proxy-cache, rate-limiting, redirect, request-mirror, request-redirect, request-size-limiting, request-termination, request-transformer, request-validator, response-ratelimiting, response-transformer, session, standard-webhooks, statsd, syslog, tcp-log, udp-log, zipkin; use one of these, or load a plugin of your own with SLUICE_PLUGINS`;
const missing = "required field missing";

export const refusalsTable: AdminTable = {
  of: "a write",
  rows: [
    {
      does: "reports a missing host",
      ask: "POST /services",
      status: 400,
      body: schema(`host: ${missing}`, { host: missing }),
    },
    {
      does: "reports all errors together",
      ask: "POST /services",
      json: { name: "x", path: "no", port: "80", nope: 1 },
      status: 400,
      body: {
        code: 2,
        name: "schema violation",
        message:
          "4 schema violations (host: required field missing; nope: unknown field; path: should start with: /; port: expected an integer)",
        fields: {
          host: missing,
          nope: "unknown field",
          path: "should start with: /",
          port: "expected an integer",
        },
      },
    },
    {
      does: "does not convert values in JSON",
      ask: "POST /services",
      json: { host: "a", port: "80" },
      status: 400,
      body: schema("port: expected an integer", { port: "expected an integer" }),
    },
    {
      does: "does not convert yes in a form to a boolean",
      ask: "POST /services",
      form: "host=a&enabled=yes",
      status: 400,
      body: schema("enabled: expected a boolean", { enabled: "expected a boolean" }),
    },
    {
      does: "refuses an empty url",
      ask: "POST /services",
      json: { url: "" },
      status: 400,
      has: { fields: { url: "length must be at least 1" } },
    },
    {
      does: "refuses a port out of range",
      ask: "POST /services",
      form: "host=a&port=70000",
      status: 400,
      message: "schema violation (port: value should be between 0 and 65535)",
    },
    {
      does: "refuses a protocol that Sluice does not proxy",
      ask: "POST /services",
      form: "host=a&protocol=udp",
      status: 400,
      message: /udp is not supported/,
    },
    {
      does: "refuses an invalid id",
      ask: "POST /services",
      json: { id: "x", host: "a" },
      status: 400,
      has: { fields: { id: "expected a valid UUID" } },
    },
    {
      does: "refuses __proto__ in JSON",
      ask: "POST /services",
      json: '{"host":"a","__proto__":{"x":1}}',
      status: 400,
      message: "schema violation (__proto__: unknown field)",
    },
    {
      does: "refuses __proto__ in a form",
      ask: "POST /services",
      form: "host=a&__proto__.x=1",
      status: 400,
      message: /unknown field/,
    },
    {
      does: "refuses a member called constructor in a config",
      ask: "POST /plugins",
      json: { name: "cors", config: { constructor: { prototype: 1 } } },
      status: 400,
      message: "schema violation (config.constructor: unknown field)",
    },
    {
      does: "requires an attribute by which a route matches",
      ask: "POST /services/base/routes",
      status: 400,
      has: {
        code: 2,
        fields: {
          "@entity": ["must set one of 'methods', 'hosts', 'headers', 'paths', 'snis' when 'protocols' is 'https'"],
        },
      },
    },
    {
      does: "names the invalid item of a list",
      ask: "POST /routes",
      json: { paths: ["/ok", "bad"] },
      status: 400,
      has: {
        message: "schema violation (paths.2: should start with: / (fixed path) or ~/ (regex path))",
        fields: { paths: [null, "should start with: / (fixed path) or ~/ (regex path)"] },
      },
    },
    {
      does: "refuses an unknown plugin",
      ask: "POST /plugins",
      form: "name=nope",
      status: 400,
      body: schema(`name: ${notEnabled("nope")}`, { name: notEnabled("nope") }),
    },
    {
      does: "refuses a plugin without a name",
      ask: "POST /services/base/plugins",
      status: 400,
      has: { fields: { name: missing } },
    },
    {
      does: "names the invalid member of a config",
      ask: "POST /plugins",
      form: "name=rate-limiting&config.minute=x",
      status: 400,
      body: schema("config.minute: expected a number", { config: { minute: "expected a number" } }),
    },
    {
      does: "requires at least one limit in a rate-limiting plugin",
      ask: "POST /plugins",
      form: "name=rate-limiting",
      status: 400,
      message: /at least one of these fields must be non-empty: 'config.second'/,
    },
    {
      does: "refuses policy cluster of rate-limiting without a database",
      ask: "POST /plugins",
      form: "name=rate-limiting&config.minute=1&config.policy=cluster",
      where: "elsewhere",
      status: 400,
      message: /^schema violation \(config\.policy: expected one of: local, redis/,
    },
    {
      does: "accepts policy cluster of rate-limiting with a database",
      ask: "POST /plugins?dry_run=1",
      form: "name=rate-limiting&config.minute=1&config.policy=cluster",
      where: "in a database",
      status: 200,
    },
    {
      does: "refuses a plugin on a consumer if the plugin does not support consumers",
      ask: "POST /consumers/base/plugins",
      form: "name=key-auth",
      status: 400,
      body: schema("consumer: value must be null", { consumer: "value must be null" }),
    },
    {
      does: "requires a username or custom_id for a consumer",
      ask: "POST /consumers",
      status: 400,
      has: { fields: { "@entity": ["at least one of these fields must be non-empty: 'custom_id', 'username'"] } },
    },
    {
      does: "requires a consumer for a key",
      ask: "POST /key-auths",
      form: "key=k",
      status: 400,
      body: schema(`consumer: ${missing}`, { consumer: missing }),
    },
    {
      does: "refuses a key that is a number",
      ask: "POST /consumers/base/key-auth",
      json: { key: 5 },
      status: 400,
      has: { fields: { key: "expected a string" } },
    },

    {
      does: "refuses a duplicate service name",
      ask: "POST /services",
      form: "name=base&host=a",
      status: 409,
      body: unique('{name="base"}', { name: "base" }),
    },
    {
      does: "refuses a duplicate route name",
      ask: "POST /routes",
      form: "name=base&paths=/x",
      status: 409,
      body: unique('{name="base"}', { name: "base" }),
    },
    {
      does: "refuses a duplicate username",
      ask: "POST /consumers",
      form: "username=base",
      status: 409,
      body: unique('{username="base"}', { username: "base" }),
    },
    {
      does: "refuses a duplicate custom_id",
      ask: "POST /consumers",
      form: "username=c&custom_id=base-42",
      status: 409,
      body: unique('{custom_id="base-42"}', { custom_id: "base-42" }),
    },
    {
      does: "refuses a duplicate key",
      ask: "POST /consumers/base/key-auth",
      form: "key=base-key",
      status: 409,
      body: unique('{key="base-key"}', { key: "base-key" }),
    },
    {
      does: "refuses to add a plugin to the same scope twice",
      ask: "POST /services/base/plugins",
      form: "name=cors&config.max_age=5",
      status: 409,
      body: unique(`{consumer=null,name="cors",route=null,service={id="${ids.service}"}}`, {
        consumer: null,
        name: "cors",
        route: null,
        service: { id: ids.service },
      }),
    },
    {
      does: "refuses a duplicate instance name",
      ask: "POST /plugins",
      form: "name=key-auth&instance_name=base",
      status: 409,
      body: unique('{instance_name="base"}', { instance_name: "base" }),
    },
    {
      does: "refuses a duplicate id",
      ask: "POST /services",
      json: { id: ids.service, name: "other", host: "a" },
      status: 400,
      body: {
        code: 3,
        name: "primary key violation",
        message: `primary key violation on key '{id="${ids.service}"}'`,
        fields: { id: ids.service },
      },
    },
    {
      does: "refuses a reference by an unknown id",
      ask: "POST /routes",
      json: { paths: ["/x"], service: { id: ids.unknown } },
      status: 400,
      body: {
        code: 4,
        name: "foreign key violation",
        message: `the foreign key '{id="${ids.unknown}"}' does not reference an existing 'services' entity.`,
        fields: { service: { id: ids.unknown } },
      },
    },
    {
      does: "refuses a reference by an unknown name",
      ask: "POST /routes",
      form: "paths=/x&service.name=guest",
      status: 400,
      body: {
        code: 13,
        name: "foreign keys unresolved",
        message: `foreign key unresolved (service.name: the foreign key cannot be resolved with '{name="guest"}' for an existing 'services' entity)`,
        fields: {
          service: {
            name: `the foreign key cannot be resolved with '{name="guest"}' for an existing 'services' entity`,
          },
        },
      },
    },
    {
      does: "requires an id or a name in a reference",
      ask: "POST /routes",
      json: { paths: ["/x"], service: {} },
      status: 400,
      body: schema("service.id: missing primary key", { service: { id: "missing primary key" } }),
    },
    {
      does: "requires a record for a reference",
      ask: "POST /routes",
      json: { paths: ["/x"], service: "base" },
      status: 400,
      has: { code: 2, fields: { service: "expected a record" } },
    },
    {
      does: "is refused below a missing parent",
      ask: "POST /services/guest/routes",
      form: "paths=/x",
      status: 404,
      body: { message: "Not found" },
    },
    {
      does: "refuses a key of a missing consumer",
      ask: "POST /consumers/guest/key-auth/",
      form: "key=k",
      status: 404,
      body: { message: "Not found" },
    },
    {
      does: "does not remove a service that has routes",
      ask: "DELETE /services/base",
      status: 400,
      body: {
        code: 4,
        name: "foreign key violation",
        message: "an existing 'routes' entity references this 'services' entity",
        fields: { "@referenced_by": "routes" },
      },
    },
    {
      does: "is answered 404 if it is a DELETE of a missing nested entity",
      ask: "DELETE /services/base/routes/guest",
      status: 404,
      body: { message: "Not found" },
    },
    {
      does: "is answered 404 if it is a DELETE of another parent's entity",
      ask: `DELETE /routes/base/plugins/${ids.plugin}`,
      status: 404,
    },
    {
      does: "is answered 404 if it is a DELETE below a missing parent",
      ask: "DELETE /consumers/guest/key-auth/base-key",
      status: 404,
    },
    {
      does: "that is refused removes nothing",
      ask: "GET /services/base/plugins/base",
      status: 200,
      has: { id: ids.plugin },
    },
  ],
};
