/** DELETE, and the entities that are deleted with it. */
import { ids } from "../fixture.ts";
import type { Table } from "../row.ts";

const notFound = { message: "Not found" };

export const removing: Table = {
  of: "a DELETE",
  rows: [
    {
      does: "keeps a service that has routes, whatever else would go along",
      ask: `DELETE /services/${ids.service}`,
      status: 400,
      has: { code: 4, fields: { "@referenced_by": "routes" } },
    },
    { does: "has left the service's plugins", ask: "GET /services/base/plugins/base", status: 200 },
    { does: "is gone at the top, whatever was there", ask: "DELETE /services/nobody", status: 204 },
    { does: "is gone at the top by id too", ask: `DELETE /plugins/${ids.unknown}`, status: 204 },
    {
      does: "is not found below a parent",
      ask: `DELETE /services/base/routes/${ids.unknown}`,
      status: 404,
      body: notFound,
    },
    { does: "is not found below another parent", ask: "DELETE /routes/base/plugins/base", status: 404, body: notFound },
    { does: "is not for lists", ask: "DELETE /routes", status: 405, body: { message: "Method not allowed" } },
    { does: "refuses a name that nothing can have", ask: "DELETE /services/a%2Fb", status: 400, has: { code: 10 } },
    { does: "ignores a body", ask: "DELETE /services/nobody", json: "{", status: 204 },
    {
      does: "has no body in its answer",
      ask: "DELETE /services/nobody",
      status: 204,
      sends: { "content-type": undefined },
    },
    {
      does: "makes a plugin of two, for what follows",
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
    { does: "has taken along a plugin of the route", ask: `GET /plugins/${ids.unknown}`, status: 404 },
    { does: "removes a service that has no routes any more", ask: "DELETE /services/base", status: 204 },
    { does: "has taken along the service's plugins", ask: "GET /plugins", status: 200, body: { data: [], next: null } },
    {
      does: "removes a key below its consumer by the key",
      ask: "DELETE /consumers/base/key-auth/base-key",
      status: 204,
    },
    { does: "finds the key gone", ask: "GET /key-auths/base-key", status: 404 },
    { does: "makes another key", ask: "POST /consumers/base/key-auth", form: "key=again", status: 201 },
    { does: "removes a consumer by username", ask: "DELETE /consumers/base", status: 204 },
    { does: "has taken along the consumer's keys", ask: "GET /key-auths", status: 200, body: { data: [], next: null } },
    {
      does: "lets the name be taken again",
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
      does: "does not find it a second time",
      ask: `DELETE /upstreams/base.example/targets/${ids.target}`,
      status: 404,
    },
    { does: "makes a target again", ask: "POST /upstreams/base.example/targets", form: "target=a:1", status: 201 },
    { does: "removes an upstream with its targets", ask: "DELETE /upstreams/base.example", status: 204 },
    { does: "finds the upstream gone", ask: "GET /upstreams/base.example/targets", status: 404 },
    { does: "removes a certificate by its server name", ask: "DELETE /certificates/base.example", status: 204 },
    { does: "has taken along its server names", ask: "GET /snis", status: 200, body: { data: [], next: null } },
    {
      does: "knows no certificate of that server name now",
      ask: "DELETE /certificates/base.example",
      status: 404,
      body: { message: "SNI not found" },
    },
  ],
};
