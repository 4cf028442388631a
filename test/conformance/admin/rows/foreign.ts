/** URLs that follow a reference: `/routes/:route/service`. */
import { ids } from "../fixture.ts";
import type { AdminTable } from "../row.ts";

const one = "DELETE, GET, HEAD, OPTIONS, PATCH, PUT";

export const foreignTable: AdminTable = {
  of: "a URL that follows a reference",
  rows: [
    {
      does: "shows the referenced entity",
      ask: "GET /routes/base/service",
      status: 200,
      has: { id: ids.service },
      sends: { etag: /^"/ },
    },
    {
      does: "accepts an id",
      ask: `GET /routes/${ids.route}/service`,
      status: 200,
      has: { id: ids.service },
    },
    {
      does: "shows a key's consumer",
      ask: "GET /key-auths/base-key/consumer",
      status: 200,
      has: { id: ids.consumer },
    },
    {
      does: "shows a plugin's service",
      ask: "GET /plugins/base/service",
      status: 200,
      has: { id: ids.service },
    },
    {
      does: "answers 404 without a reference",
      ask: "GET /plugins/base/route",
      status: 404,
      body: { message: "Not found" },
    },
    { does: "answers 404 if the entity with the reference is missing", ask: "GET /routes/nobody/service", status: 404 },
    {
      does: "answers OPTIONS with its methods",
      ask: "OPTIONS /routes/base/service",
      status: 204,
      sends: { allow: one },
    },
    { does: "refuses POST", ask: "POST /routes/base/service", json: {}, status: 405, sends: { allow: one } },
    { does: "answers HEAD", ask: "HEAD /routes/base/service", status: 200, body: undefined },
    {
      does: "changes the referenced entity",
      ask: "PATCH /routes/base/service",
      json: { port: 81 },
      status: 200,
      has: { id: ids.service, port: 81, host: "base.example" },
    },
    {
      does: "reports errors in the body",
      ask: "PATCH /routes/base/service",
      json: { port: "x" },
      status: 400,
      has: { fields: { port: "expected an integer" } },
    },
    { does: "changes nothing without a reference", ask: "PATCH /plugins/base/route", json: {}, status: 404 },
    {
      does: "replaces the referenced entity",
      ask: "PUT /routes/base/service",
      json: { name: "base", host: "new.example" },
      status: 200,
      has: { id: ids.service, port: 80, host: "new.example" },
    },
    {
      does: "does not remove the referenced entity",
      ask: "DELETE /routes/base/service",
      status: 405,
      body: { message: "Method not allowed" },
    },
    {
      does: "removes nothing without a reference",
      ask: "DELETE /plugins/base/route",
      status: 404,
      body: { message: "Not found" },
    },
    {
      does: "(preparation: a PUT creates a route without a service)",
      ask: "PUT /routes/alone",
      json: { paths: ["/alone"] },
      status: 200,
      has: { service: null },
    },
    {
      does: "reports errors in the entity to create",
      ask: "PUT /routes/alone/service",
      json: {},
      status: 400,
      has: { fields: { host: "required field missing" } },
    },
    {
      does: "creates the referenced entity",
      ask: "PUT /routes/alone/service",
      json: { name: "made", host: "made.example" },
      status: 200,
      has: { name: "made", port: 80 },
    },
    { does: "has also set the reference", ask: "GET /routes/alone/service", status: 200, has: { name: "made" } },
    {
      does: "has also put the route into the list of the created service",
      ask: "GET /services/made/routes",
      status: 200,
      has: { data: [{ name: "alone" }] },
    },
    {
      does: "creates nothing if the entity with the reference is missing",
      ask: "PUT /routes/nobody/service",
      json: { host: "a" },
      status: 404,
    },
    {
      does: "does not exist for the certificate of a server name, as in Kong",
      ask: "GET /snis/base.example/certificate",
      status: 404,
    },
    {
      does: "does not exist for the upstream of a target, as in Kong",
      ask: `GET /targets/${ids.target}/upstream`,
      status: 404,
    },
    {
      does: "answers 404 for the certificate of a service without one",
      ask: "GET /services/base/client_certificate",
      status: 404,
    },
    {
      does: "(preparation: a PATCH attaches a certificate to a service)",
      ask: "PATCH /services/base",
      json: { protocol: "https", client_certificate: { id: ids.certificate } },
      status: 200,
      has: { client_certificate: { id: ids.certificate } },
    },
    {
      does: "shows a service's certificate with its server names",
      ask: "GET /services/base/client_certificate",
      status: 200,
      has: { id: ids.certificate, snis: ["base.example"] },
    },
    {
      does: "has a counterpart that lists the services of a certificate",
      ask: `GET /certificates/${ids.certificate}/services`,
      status: 200,
      has: { data: [{ id: ids.service }] },
    },
    {
      does: "leads to a certificate that cannot be removed while a service uses it",
      ask: `DELETE /certificates/${ids.certificate}`,
      status: 400,
      has: { code: 4, message: "an existing 'services' entity references this 'certificates' entity" },
    },
  ],
};
