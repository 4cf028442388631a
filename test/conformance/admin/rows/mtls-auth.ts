/** Credentials of mtls-auth: subject names of client certificates, each for one issuing CA certificate or for any. */
import { makeAuthority } from "../../../../tools/programs/certificates.ts";
import { ids } from "../fixture.ts";
import type { AdminTable } from "../row.ts";

const ca = "77777777-7777-4777-8777-777777777777";
const [any, ofAuthority] = ["88888888-8888-4888-8888-888888888881", "88888888-8888-4888-8888-888888888882"];
const consumer = { id: ids.consumer };
const { certificate: cert } = await makeAuthority();

export const mtlsAuthCredentialsTable: AdminTable = {
  of: "a subject name of mtls-auth",
  rows: [
    {
      does: "(preparation: a POST creates a CA certificate)",
      ask: "POST /ca_certificates",
      json: { id: ca, cert },
      status: 201,
    },
    {
      does: "is required in a credential",
      ask: "POST /consumers/base/mtls-auth",
      json: {},
      status: 400,
      has: { fields: { subject_name: "required field missing" } },
    },
    {
      does: "is for any CA certificate by default",
      ask: "POST /consumers/base/mtls-auth",
      json: { id: any, subject_name: "a@base.example" },
      status: 201,
      has: { id: any, consumer, subject_name: "a@base.example", ca_certificate: null, tags: null },
      lacks: ["updated_at"],
    },
    {
      does: "may be used again for one CA certificate",
      ask: `PUT /mtls-auths/${ofAuthority}`,
      form: `subject_name=a@base.example&ca_certificate.id=${ca}&consumer.username=base`,
      status: 200,
      has: { id: ofAuthority, consumer, ca_certificate: { id: ca } },
    },
    ...[null, { id: ca }].map((ca_certificate) => ({
      does: `is refused a second time ${ca_certificate ? "for a CA certificate" : "without a CA certificate"}`,
      ask: "POST /consumers/base/mtls-auth",
      json: { subject_name: "a@base.example", ca_certificate },
      status: 409,
      message: /^UNIQUE violation detected on '\{/,
    })),
    {
      does: "is refused for a CA certificate that does not exist",
      ask: `PATCH /mtls-auths/${any}`,
      json: { ca_certificate: { id: ids.unknown } },
      status: 400,
      has: { name: "foreign key violation" },
    },
    {
      does: "is removed with its CA certificate",
      ask: `DELETE /ca_certificates/${ca}`,
      status: 204,
    },
    {
      does: "is not found after the removal of its CA certificate",
      ask: `GET /mtls-auths/${ofAuthority}`,
      status: 404,
    },
    {
      does: "for any CA certificate remains",
      ask: `GET /consumers/base/mtls-auth/${any}`,
      status: 200,
      has: { id: any },
    },
    { does: "is removed", ask: `DELETE /consumers/base/mtls-auth/${any}`, status: 204 },
  ],
};
