/** Information endpoints and schemas, and the endpoints of Kong that Sluice lacks (docs/reference/kong-compatibility.md). */
import { ids } from "../fixture.ts";
import type { Row, Table } from "../row.ts";

const notFound = { message: "Not found" };
const valid = { message: "schema validation successful" };
const noDatabase = "expected one of: local, redis (cluster needs the database mode)";
const clustered = { name: "rate-limiting", config: { minute: 5, policy: "cluster" } };

/** Endpoints of Kong's paid editions: clients treat 404 as "not available". */
const paid: readonly Row[] = [
  "/workspaces",
  "/workspaces/default",
  "/default/kong",
  "/default/workspaces/default",
  "/rbac/users",
  "/licenses",
  "/event-hooks",
].map((url) => ({ does: `has no ${url}`, ask: `GET ${url}`, status: 404, body: notFound }));

/** Lists that decK requests, treating 404 as an empty list. */
const lists: readonly Row[] = [
  "/ca_certificates",
  "/hmac-auths",
  "/jwts",
  "/basic-auths",
  "/oauth2",
  "/acls",
  "/mtls-auths",
  "/consumer_groups",
  "/vaults",
  "/partials",
  "/keys",
  "/key-sets",
  "/cloned-plugins",
  "/custom-plugins",
  "/filter-chains",
].map((url) => ({
  does: `has no ${url}, and says why`,
  ask: `GET ${url}?size=1000`,
  status: 404,
  has: notFound,
  matches: { reason: /^Sluice does not have / },
}));

export const information: Table = {
  of: "information",
  rows: [
    {
      does: "names Kong's release, the plugins there are and those in use",
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
    { does: "shows its state", ask: "GET /status", status: 200, has: { database: { reachable: true } } },
    {
      does: "names the plugins",
      ask: "GET /plugins/enabled",
      status: 200,
      body: { enabled_plugins: ["cors", "key-auth", "prometheus", "rate-limiting"] },
    },
    { does: "lists its URLs", ask: "GET /endpoints", status: 200, has: { data: ["/"] } },
    {
      does: "shows the log level",
      ask: "GET /debug/node/log-level",
      status: 200,
      matches: { message: /^log level: / },
    },
    { does: "does not change the log's level", ask: "PUT /debug/node/log-level/debug", status: 404, body: notFound },
    { does: "has no timers to show", ask: "GET /timers", status: 200, has: { worker: { id: 0, count: 1 } } },
    { does: "has no cache to show", ask: "GET /cache/x", status: 404, body: notFound },
    { does: "has no data planes to show", ask: "GET /clustering/data-planes", status: 404, body: notFound },
    {
      does: "takes no whole document where entities can be written one by one",
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
      does: "shows a schema as a list of records of one member",
      ask: "GET /schemas/consumers",
      status: 200,
      has: { fields: [{ id: { type: "string", uuid: true, auto: true } }] },
    },
    { does: "shows a plugin's schema", ask: "GET /schemas/plugins/key-auth", status: 200, has: { entity_checks: [] } },
    {
      does: "has no schema of what is no entity",
      ask: "GET /schemas/consumer_group_plugins",
      status: 404,
      body: { message: "No entity named 'consumer_group_plugins'" },
    },
    {
      does: "has no schema of what is no plugin",
      ask: "GET /schemas/plugins/jwt",
      status: 404,
      body: { message: "No plugin named 'jwt'" },
    },
    {
      does: "asks after a plugin's name that is nearly right",
      ask: "GET /schemas/plugins/rate-limitting",
      status: 404,
      body: { message: "No plugin named 'rate-limitting', did you mean rate-limiting?" },
    },
    {
      does: "finds an entity valid that refers to one by its name",
      ask: "POST /schemas/routes/validate",
      json: { paths: ["/x"], service: { name: "base" } },
      status: 200,
      body: valid,
    },
    {
      does: "finds an entity valid that is there already",
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
      does: "finds a limit valid that counts in the database",
      ask: "POST /schemas/plugins/validate",
      json: clustered,
      status: 200,
      body: valid,
      where: "in a database",
    },
    {
      does: "finds no limit valid that counts in a database that is not there",
      ask: "POST /schemas/plugins/validate",
      json: clustered,
      status: 400,
      has: { code: 2, fields: { config: { policy: noDatabase } } },
      where: "elsewhere",
    },
    {
      does: "refuses that limit in the same words",
      ask: "POST /plugins",
      json: clustered,
      status: 400,
      has: { code: 2, fields: { config: { policy: noDatabase } } },
      where: "elsewhere",
    },
  ],
};
