/** Plugins: the entities to which they are attached, and their configs. */
import { ids } from "../fixture.ts";
import type { AdminTable } from "../row.ts";
import { notEnabled } from "./refusals.ts";

export const pluginsTable: AdminTable = {
  of: "a plugin",
  rows: [
    {
      does: "shows all members of its config",
      ask: "POST /routes/base/plugins",
      form: "name=key-auth",
      status: 201,
      has: {
        name: "key-auth",
        enabled: true,
        instance_name: null,
        config: {
          key_names: ["apikey"],
          hide_credentials: false,
          anonymous: null,
          key_in_header: true,
          key_in_query: true,
          key_in_body: false,
          run_on_preflight: true,
          realm: null,
        },
      },
    },
    {
      does: "is refused a second time in a scope, and the error names the scope",
      ask: "POST /routes/base/plugins",
      form: "name=key-auth",
      status: 409,
      body: {
        code: 5,
        name: "unique constraint violation",
        message: `UNIQUE violation detected on '{consumer=null,name="key-auth",route={id="${ids.route}"},service=null}'`,
        fields: { consumer: null, name: "key-auth", route: { id: ids.route }, service: null },
      },
    },
    { does: "is accepted once for all requests", ask: "POST /plugins", form: "name=key-auth", status: 201 },
    {
      does: "is refused a second time for all requests",
      ask: "POST /plugins",
      form: "name=key-auth",
      status: 409,
      message: `UNIQUE violation detected on '{consumer=null,name="key-auth",route=null,service=null}'`,
    },
    { does: "is accepted in another scope", ask: "POST /services/base/plugins", form: "name=key-auth", status: 201 },
    {
      does: "cannot be replaced by a plugin that its scope already has",
      ask: "PUT /plugins/base",
      json: { name: "key-auth", service: { id: ids.service } },
      status: 409,
      has: { code: 5 },
    },
    {
      does: "needs the name of an existing plugin",
      ask: "POST /plugins",
      json: { name: "nope" },
      status: 400,
      has: { fields: { name: notEnabled("nope") } },
    },
    {
      does: "needs a name of type string",
      ask: "POST /plugins",
      json: { name: 5 },
      status: 400,
      has: { fields: { name: "expected a string" } },
    },
    {
      does: "cannot have the name of an inherited property",
      ask: "POST /plugins",
      json: { name: "constructor" },
      status: 400,
      has: { fields: { name: notEnabled("constructor") } },
    },
    {
      does: "with a misspelt name is refused with a suggestion",
      ask: "POST /plugins",
      json: { name: "key-atuh" },
      status: 400,
      has: {
        fields: {
          name: "plugin 'key-atuh' not enabled, did you mean key-auth? Sluice has acl, basic-auth, bot-detection, compression, concurrency-limiting, correlation-id, cors, datadog, device-token, file-log, forward-auth, graphql, grpc-web, hmac-auth, http-log, ip-restriction, jwt, key-auth, ldap-auth, loggly, mtls-auth, openid-connect, opentelemetry, prometheus, proxy-cache, rate-limiting, redirect, request-mirror, request-redirect, request-size-limiting, request-termination, request-transformer, request-validator, response-ratelimiting, response-transformer, session, standard-webhooks, statsd, syslog, tcp-log, udp-log, zipkin",
        },
      },
    },
    {
      does: "reports errors of the whole plugin before those of members",
      ask: "POST /plugins",
      json: { name: "rate-limiting", config: { header_name: 5 } },
      status: 400,
      message:
        /^2 schema violations \(at least one of these fields must be non-empty: 'config\.second', 'config\.minute', .*; config\.header_name: expected a string\)$/,
    },
    {
      does: "reports errors of the plugin and of its config together",
      ask: "POST /plugins",
      json: { name: "cors", enabled: "yes", config: { max_age: "x" } },
      status: 400,
      has: { fields: { enabled: "expected a boolean", config: { max_age: "expected an integer" } } },
    },
    {
      does: "refuses limits that contradict each other",
      ask: "POST /plugins",
      form: "name=rate-limiting&config.second=20&config.hour=10",
      status: 400,
      body: {
        code: 2,
        name: "schema violation",
        message: "schema violation (config: The limit for hour(10.0) cannot be lower than the limit for second(20.0))",
        fields: { config: "The limit for hour(10.0) cannot be lower than the limit for second(20.0)" },
      },
    },
    {
      does: "refuses a limit of 0",
      ask: "POST /plugins",
      form: "name=rate-limiting&config.second=0",
      status: 400,
      has: { fields: { config: { second: "value must be greater than 0" } } },
    },
    {
      does: "requires the host of Redis if it counts in Redis",
      ask: "POST /plugins",
      form: "name=rate-limiting&config.second=1&config.policy=redis",
      status: 400,
      has: {
        fields: {
          "@entity": ["failed conditional validation given value of field 'config.policy'"],
          config: { redis: { host: "required field missing" } },
        },
      },
    },
    {
      does: "requires the name of the header by which it counts",
      ask: "POST /plugins",
      form: "name=rate-limiting&config.second=1&config.limit_by=header",
      status: 400,
      has: { fields: { config: { header_name: "required field missing" } } },
    },
    {
      does: "refuses an invalid header name",
      ask: "POST /plugins",
      form: "name=key-auth&config.key_names[]=a%20b",
      status: 400,
      has: {
        fields: {
          config: { key_names: ["bad header name 'a b', allowed characters are A-Z, a-z, 0-9, '_', and '-'"] },
        },
      },
    },
    {
      does: "refuses an invalid regular expression",
      ask: "POST /plugins",
      json: { name: "cors", config: { origins: ["("] } },
      status: 400,
      has: { code: 2 },
    },
    {
      does: "cannot be attached to a consumer if it does not support consumers",
      ask: "POST /plugins",
      json: { name: "cors", consumer: { username: "base" } },
      status: 400,
      has: { fields: { consumer: "value must be null" } },
    },
    {
      does: "must refer to an existing entity",
      ask: "POST /plugins",
      json: { name: "cors", route: { id: ids.unknown } },
      status: 400,
      has: { code: 4, fields: { route: { id: ids.unknown } } },
    },
    {
      does: "reports every reference by an unknown name",
      ask: "POST /plugins",
      json: { name: "cors", route: { name: "x" }, service: { name: "y" } },
      status: 400,
      message: /^2 foreign keys unresolved \(/,
    },
    {
      does: "may be limited to one protocol",
      ask: "PATCH /plugins/base",
      form: "protocols=https",
      status: 200,
      has: { protocols: ["https"] },
    },
    {
      does: "needs known protocols",
      ask: "PATCH /plugins/base",
      json: { protocols: ["x"] },
      status: 400,
      has: {
        fields: { protocols: ["expected one of: grpc, grpcs, http, https, tcp, tls, tls_passthrough, udp, ws, wss"] },
      },
    },
    {
      does: "has a unique instance name",
      ask: "POST /plugins",
      form: "name=prometheus&instance_name=base",
      status: 409,
      has: { fields: { instance_name: "base" } },
    },
    {
      does: "can be replaced by another plugin with another config",
      ask: "PATCH /plugins/base",
      json: { name: "prometheus", config: { per_consumer: true } },
      status: 200,
      has: { id: ids.plugin, name: "prometheus", config: { per_consumer: true } },
    },
    {
      does: "refuses a config that is a string",
      ask: "PATCH /plugins/base",
      form: "config=x",
      status: 400,
      has: { fields: { config: "expected a record" } },
    },
    {
      does: "is listed below its route",
      ask: "GET /routes/base/plugins",
      status: 200,
      has: { data: [{ name: "key-auth" }], next: null },
    },
    {
      does: "is found below its service by instance name",
      ask: "GET /services/base/plugins/base",
      status: 200,
      has: { id: ids.plugin },
    },
    {
      does: "of an available kind is listed as enabled",
      ask: "GET /plugins/enabled",
      status: 200,
      has: { enabled_plugins: ["cors"] },
    },
  ],
};
