/** CA certificates, and the services that use them. */
import { makeAuthority } from "../../../../tools/programs/certificates.ts";
import { ellipticPair, firstKeyPair, secondKeyPair } from "../../../../tools/programs/pairs.ts";
import { ids } from "../fixture.ts";
import type { AdminRow, AdminTable } from "../row.ts";

const [one, two] = ["55555555-5555-4555-8555-555555555555", "66666666-6666-4666-8666-666666666666"];
const digest = "68bb00fca9ed8615b9263865620c69eabe0dff29a3741961b3f633cbca9e0080";
const authority = await makeAuthority();
const expired = await makeAuthority("expired", { notAfter: new Date(Date.now() - 1000) });
const { certificate: leaf } = await authority.issue({ name: "leaf", usage: "server" });

const faults: readonly (readonly [does: string, json: object, message: string])[] = [
  ["without a certificate", {}, "cert: required field missing"],
  [
    "of two certificates",
    { cert: firstKeyPair.cert + secondKeyPair.cert },
    "please submit only one certificate at a time",
  ],
  [
    "that is no CA",
    { cert: leaf },
    'certificate does not appear to be a CA because it is missing the "CA" basic constraint',
  ],
  ["that is expired", { cert: expired.certificate }, 'certificate expired, "Not After" time is in the past'],
];

const refused = (ask: string): readonly AdminRow[] =>
  faults
    .filter(([, json]) => !(ask.startsWith("PATCH") && Object.keys(json).length === 0))
    .map(([does, json, message]) => ({
      does: `${does} is refused by ${ask.split(" ")[0]}`,
      ask,
      json,
      status: 400,
      has: { code: 2, name: "schema violation", message: `schema violation (${message})` },
    }));

const referenced = (by: string, id: string) => ({
  code: 19,
  name: "referenced by others",
  message: `ca certificate ${one} is still referenced by ${by} (id = ${id})`,
});

export const caCertificateTable: AdminTable = {
  of: "a CA certificate",
  rows: [
    { does: "does not exist at first", ask: "GET /ca_certificates", status: 200, body: { data: [], next: null } },
    ...refused("POST /ca_certificates"),
    {
      does: "is created with its computed digest, whatever digest the request contains",
      ask: "POST /ca_certificates",
      json: { id: one, cert: firstKeyPair.cert, cert_digest: "ignored", tags: ["blue"] },
      status: 201,
      has: { id: one, cert: firstKeyPair.cert, cert_digest: digest, tags: ["blue"] },
    },
    { does: "is listed by its tag", ask: "GET /ca_certificates?tags=blue", status: 200, has: { data: [{ id: one }] } },
    {
      does: "is refused if the same certificate exists already",
      ask: "POST /ca_certificates",
      json: { cert: firstKeyPair.cert },
      status: 409,
      body: {
        code: 5,
        name: "unique constraint violation",
        message: `UNIQUE violation detected on '{cert_digest="${digest}"}'`,
        fields: { cert_digest: digest },
      },
    },
    ...refused(`PUT /ca_certificates/${two}`),
    {
      does: "is created by PUT",
      ask: `PUT /ca_certificates/${two}`,
      json: { cert: secondKeyPair.cert },
      status: 200,
      has: { id: two, cert: secondKeyPair.cert, tags: null },
    },
    ...refused(`PATCH /ca_certificates/${two}`),
    {
      does: "gets another certificate and its digest by PATCH",
      ask: `PATCH /ca_certificates/${two}`,
      json: { cert: ellipticPair.cert },
      status: 200,
      has: { id: two, cert_digest: "5002c3dc22d1bab7ee43bf382de99536391fec1eaad285e143aa53faa3bcd74f" },
    },
    {
      does: "is not found by another id",
      ask: `GET /ca_certificates/${ids.unknown}`,
      status: 404,
      body: { message: "Not found" },
    },
    {
      does: "cannot be found by a name",
      ask: "GET /ca_certificates/internal",
      status: 400,
      body: {
        code: 1,
        name: "invalid primary key",
        message: `invalid primary key: '{id="expected a valid UUID"}'`,
        fields: { id: "expected a valid UUID" },
      },
    },
    {
      does: "can be named by a service of protocol https",
      ask: `PATCH /services/${ids.service}`,
      json: { protocol: "https", ca_certificates: [one, two] },
      status: 200,
      has: { ca_certificates: [one, two] },
    },
    {
      does: "is not removed while a service names it",
      ask: `DELETE /ca_certificates/${one.toUpperCase()}`,
      status: 400,
      body: referenced("services", ids.service),
    },
    {
      does: "cannot be named by a service of protocol http",
      ask: `PATCH /services/${ids.service}`,
      json: { protocol: "http" },
      status: 400,
      has: { fields: { ca_certificates: "value must be null" } },
    },
    {
      does: "can be removed from the list of a service",
      ask: `PATCH /services/${ids.service}`,
      json: { ca_certificates: [two] },
      status: 200,
      has: { ca_certificates: [two] },
    },
    { does: "is removed when no service names it", ask: `DELETE /ca_certificates/${one}`, status: 204 },
    { does: "is not found after its removal", ask: `GET /ca_certificates/${one}`, status: 404 },
    { does: "can be removed a second time without an error", ask: `DELETE /ca_certificates/${one}`, status: 204 },
    {
      does: "can be removed from a service by an empty list",
      ask: `PATCH /services/${ids.service}`,
      json: { ca_certificates: [] },
      status: 200,
      has: { ca_certificates: [] },
    },
    {
      does: "with an unknown member is refused by the validation of the schema",
      ask: "POST /schemas/ca_certificates/validate",
      json: firstKeyPair,
      status: 400,
    },
    {
      does: "has a schema that declares the digest as unique",
      ask: "GET /schemas/ca_certificates",
      status: 200,
      has: {
        fields: [
          {},
          {},
          {},
          { cert: { type: "string", required: true } },
          { cert_digest: { type: "string", unique: true } },
        ],
      },
    },
  ],
};
