/** DELETE of an entity, and the dependents that are removed with the entity. */
import { ids } from "../fixture.ts";
import type { AdminTable } from "../row.ts";

const notFound = { message: "Not found" };

export const removingTable: AdminTable = {
  of: "a DELETE",
  rows: [
    {
      does: "does not remove a service that has routes, even if it also has plugins",
      ask: `DELETE /services/${ids.service}`,
      status: 400,
      has: { code: 4, fields: { "@referenced_by": "routes" } },
    },
    { does: "has kept the service's plugins", ask: "GET /services/base/plugins/base", status: 200 },
    { does: "answers 204 at the top level for a missing entity", ask: "DELETE /services/nobody", status: 204 },
    {
      does: "answers 204 at the top level for an unknown id too",
      ask: `DELETE /plugins/${ids.unknown}`,
      status: 204,
    },
    {
      does: "answers 404 for an unknown id below a parent",
      ask: `DELETE /services/base/routes/${ids.unknown}`,
      status: 404,
      body: notFound,
    },
    {
      does: "answers 404 below a parent for an entity of another parent",
      ask: "DELETE /routes/base/plugins/base",
      status: 404,
      body: notFound,
    },
    { does: "is not allowed for lists", ask: "DELETE /routes", status: 405, body: { message: "Method not allowed" } },
    { does: "refuses an invalid name", ask: "DELETE /services/a%2Fb", status: 400, has: { code: 10 } },
    { does: "ignores a body", ask: "DELETE /services/nobody", json: "{", status: 204 },
    {
      does: "has no body in its response",
      ask: "DELETE /services/nobody",
      status: 204,
      sends: { "content-type": undefined },
    },
    {
      does: "(preparation: a PUT attaches a plugin to a route and a consumer)",
      ask: `PUT /plugins/${ids.unknown}`,
      json: {
        name: "rate-limiting",
        config: { minute: 1 },
        route: { name: "base" },
        consumer: { username: "base" },
      },
      status: 200,
    },
    { does: "removes a route by name with a trailing slash", ask: "DELETE /routes/base/", status: 204 },
    { does: "has also removed a plugin of the route", ask: `GET /plugins/${ids.unknown}`, status: 404 },
    { does: "removes a service that no longer has routes", ask: "DELETE /services/base", status: 204 },
    {
      does: "has also removed the service's plugins",
      ask: "GET /plugins",
      status: 200,
      body: { data: [], next: null },
    },
    {
      does: "removes a nested key by its value",
      ask: "DELETE /consumers/base/key-auth/base-key",
      status: 204,
    },
    { does: "has removed the key", ask: "GET /key-auths/base-key", status: 404 },
    {
      does: "(preparation: a POST creates another key)",
      ask: "POST /consumers/base/key-auth",
      form: "key=again",
      status: 201,
    },
    { does: "removes a consumer by username", ask: "DELETE /consumers/base", status: 204 },
    {
      does: "has also removed the consumer's keys",
      ask: "GET /key-auths",
      status: 200,
      body: { data: [], next: null },
    },
    {
      does: "has freed the consumer's name",
      ask: "POST /consumers",
      form: "username=base",
      status: 201,
      has: { id: ids.consumer },
    },
    {
      does: "removes a target below its upstream",
      ask: `DELETE /upstreams/base.example/targets/${ids.target}`,
      status: 204,
    },
    {
      does: "answers 404 to the second removal of a target below its upstream",
      ask: `DELETE /upstreams/base.example/targets/${ids.target}`,
      status: 404,
    },
    {
      does: "(preparation: a POST creates another target)",
      ask: "POST /upstreams/base.example/targets",
      form: "target=a:1",
      status: 201,
    },
    { does: "removes an upstream that has targets", ask: "DELETE /upstreams/base.example", status: 204 },
    {
      does: "has removed the upstream, whose list of targets is not found",
      ask: "GET /upstreams/base.example/targets",
      status: 404,
    },
    { does: "removes a certificate by its server name", ask: "DELETE /certificates/base.example", status: 204 },
    {
      does: "has also removed the certificate's server names",
      ask: "GET /snis",
      status: 200,
      body: { data: [], next: null },
    },
    {
      does: "answers 404 for the server name of a removed certificate",
      ask: "DELETE /certificates/base.example",
      status: 404,
      body: { message: "SNI not found" },
    },
  ],
};
