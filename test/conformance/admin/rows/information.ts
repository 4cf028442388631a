/** Endpoints for information and schemas; Kong's endpoints that Sluice lacks (docs/reference/kong-compatibility.md). */
import { ids } from "../fixture.ts";
import type { AdminRow, AdminTable } from "../row.ts";

const notFound = { message: "Not found" };
const valid = { message: "schema validation successful" };
const noDatabase = "expected one of: local, redis, fleet (cluster needs the database mode)";
const clustered = { name: "rate-limiting", config: { minute: 5, policy: "cluster" } };

/** Endpoints of Kong's paid editions: clients treat 404 as "not available". */
const paid: readonly AdminRow[] = [
  "/workspaces",
  "/workspaces/default",
  "/default/kong",
  "/default/workspaces/default",
  "/rbac/users",
  "/licenses",
  "/event-hooks",
].map((url) => ({ does: `answers 404 for ${url}`, ask: `GET ${url}`, status: 404, body: notFound }));

/** Lists that decK requests; decK treats a 404 as an empty list. */
const lists: readonly AdminRow[] = [
  "/oauth2",
  "/partials",
  "/keys",
  "/key-sets",
  "/cloned-plugins",
  "/custom-plugins",
  "/filter-chains",
].map((url) => ({
  does: `answers 404 for ${url} with a reason`,
  ask: `GET ${url}?size=1000`,
  status: 404,
  has: notFound,
  matches: { reason: /^Sluice does not have / },
}));

export const informationTable: AdminTable = {
  of: "an endpoint for information",
  rows: [
    {
      does: "shows Kong's release, the available plugins and the plugins in use",
      ask: "GET /",
      status: 200,
      has: {
        version: "3.9.1",
        edition: "community",
        timers: { running: 0, pending: 0 },
        plugins: { available_on_server: { cors: { priority: 2000 } }, enabled_in_cluster: ["cors"] },
        configuration: { database: "postgres", role: "traditional", router_flavor: "traditional" },
      },
      matches: { node_id: /^[0-9a-f-]{36}$/ },
    },
    {
      does: "shows the status, with a reachable database",
      ask: "GET /status",
      status: 200,
      has: { database: { reachable: true } },
    },
    {
      does: "lists the plugins",
      ask: "GET /plugins/enabled",
      status: 200,
      body: {
        enabled_plugins: [
          "acl",
          "basic-auth",
          "bot-detection",
          "compression",
          "concurrency-limiting",
          "correlation-id",
          "cors",
          "datadog",
          "device-token",
          "file-log",
          "forward-auth",
          "graphql",
          "grpc-web",
          "hmac-auth",
          "http-log",
          "ip-restriction",
          "jwt",
          "key-auth",
          "ldap-auth",
          "loggly",
          "mtls-auth",
          "openid-connect",
          "opentelemetry",
          "prometheus",
          "proxy-cache",
          "rate-limiting",
          "redirect",
          "request-mirror",
          "request-redirect",
          "request-size-limiting",
          "request-termination",
          "request-transformer",
          "request-validator",
          "response-ratelimiting",
          "response-transformer",
          "session",
          "standard-webhooks",
          "statsd",
          "syslog",
          "tcp-log",
          "udp-log",
          "zipkin",
        ],
      },
    },
    { does: "lists the URLs of the API", ask: "GET /endpoints", status: 200, has: { data: ["/"] } },
    {
      does: "shows the log level",
      ask: "GET /debug/node/log-level",
      status: 200,
      matches: { message: /^log level: / },
    },
    {
      does: "changes the log level for a time",
      ask: "PUT /debug/node/log-level/error?timeout=1",
      status: 200,
      body: { message: "log level changed" },
    },
    {
      does: "refuses an unknown log level",
      ask: "PUT /debug/node/log-level/loud",
      status: 400,
      matches: { message: /^unknown log level: loud/ },
    },
    {
      does: "refuses a time that is negative",
      ask: "PUT /debug/node/log-level/debug?timeout=-1",
      status: 400,
      matches: { message: /^timeout must be / },
    },
    { does: "shows one worker with the timers", ask: "GET /timers", status: 200, has: { worker: { id: 0, count: 1 } } },
    { does: "answers 404 for a cache entry", ask: "GET /cache/x", status: 404, body: notFound },
    { does: "answers 404 for data planes", ask: "GET /clustering/data-planes", status: 404, body: notFound },
    {
      does: "refuses a whole document over a database, where entities are written one by one",
      ask: "POST /config",
      json: { _format_version: "3.0" },
      status: 400,
      message:
        "this endpoint is only available when Sluice is configured to keep entities in a declarative file (SLUICE_STORE=file)",
      where: "in a database",
    },
    ...paid,
    ...lists,
    {
      does: "shows a schema as a list of records with one member each",
      ask: "GET /schemas/consumers",
      status: 200,
      has: { fields: [{ id: { type: "string", uuid: true, auto: true } }] },
    },
    { does: "shows a plugin's schema", ask: "GET /schemas/plugins/key-auth", status: 200, has: { entity_checks: [] } },
    {
      does: "shows no schema of an unknown entity",
      ask: "GET /schemas/consumer_group_plugins",
      status: 404,
      body: { message: "No entity named 'consumer_group_plugins'" },
    },
    {
      does: "shows no schema of an unknown plugin",
      ask: "GET /schemas/plugins/oauth2",
      status: 404,
      body: { message: "No plugin named 'oauth2'" },
    },
    {
      does: "suggests a name for a misspelt plugin",
      ask: "GET /schemas/plugins/rate-limitting",
      status: 404,
      body: { message: "No plugin named 'rate-limitting', did you mean rate-limiting?" },
    },
    {
      does: "accepts an entity that refers to another one by name",
      ask: "POST /schemas/routes/validate",
      json: { paths: ["/x"], service: { name: "base" } },
      status: 200,
      body: valid,
    },
    {
      does: "accepts an entity that exists already",
      ask: "POST /schemas/services/validate",
      json: { id: ids.service, name: "base", host: "a", created_at: 1 },
      status: 200,
      body: valid,
    },
    {
      does: "reports errors in the entity that it validates",
      ask: "POST /schemas/upstreams/validate",
      json: { name: "1.2.3.4", slots: 9 },
      status: 400,
      message:
        "2 schema violations (name: Invalid name; no ip addresses allowed; slots: value should be between 10 and 65536)",
    },
    {
      does: "accepts policy cluster with a database",
      ask: "POST /schemas/plugins/validate",
      json: clustered,
      status: 200,
      body: valid,
      where: "in a database",
    },
    {
      does: "refuses policy cluster without a database",
      ask: "POST /schemas/plugins/validate",
      json: clustered,
      status: 400,
      has: { code: 2, fields: { config: { policy: noDatabase } } },
      where: "elsewhere",
    },
    {
      does: "refuses policy cluster with the message that a POST of the plugin reports too",
      ask: "POST /plugins",
      json: clustered,
      status: 400,
      has: { code: 2, fields: { config: { policy: noDatabase } } },
      where: "elsewhere",
    },
  ],
};
