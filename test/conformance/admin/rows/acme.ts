/** Certificates that Sluice orders: `acme` is a member that neither Kong nor its clients know. */
import { firstKeyPair, secondKeyPair } from "../../../../tools/programs/pairs.ts";
import type { AdminTable } from "../row.ts";

const id = "66666666-6666-4666-8666-666666666666";
const acme = { domains: null, challenge: "http-01", directory: null, key_type: "ecdsa" };

export const acmeTable: AdminTable = {
  of: "a certificate with acme",
  rows: [
    {
      does: "is created without a certificate and a key",
      ask: "POST /certificates",
      json: { id, acme: {}, snis: ["ordered.example"] },
      status: 201,
      has: { id, acme, cert: null, key: null, snis: ["ordered.example"] },
    },
    {
      does: "stays as it is when a client that does not know acme replaces it with an old pair",
      ask: `PUT /certificates/${id}`,
      json: { ...firstKeyPair, snis: ["ordered.example"], tags: ["a"] },
      status: 200,
      has: { acme, cert: null, key: null, tags: ["a"] },
    },
    {
      does: "has names that its members may limit",
      ask: `PATCH /certificates/${id}`,
      json: { acme: { domains: ["ordered.example"], key_type: "rsa" } },
      status: 200,
      has: { acme: { ...acme, domains: ["ordered.example"], key_type: "rsa" } },
    },
    {
      does: "has no names with a wildcard",
      ask: `PATCH /certificates/${id}`,
      json: { acme: { domains: ["*.ordered.example"] } },
      status: 400,
      has: { code: 2 },
    },
    {
      does: "has details without a certificate",
      ask: `GET /certificate-details/${id}`,
      status: 200,
      has: { data: [], faults: [] },
    },
    {
      does: "needs a certificate and a key once acme is removed",
      ask: `PATCH /certificates/${id}`,
      json: { acme: null },
      status: 400,
      has: { fields: { cert: "required field missing", key: "required field missing" } },
    },
    {
      does: "becomes a usual certificate with a pair",
      ask: `PATCH /certificates/${id}`,
      json: { acme: null, ...secondKeyPair },
      status: 200,
      has: { acme: null, cert: secondKeyPair.cert },
    },
    { does: "is removed", ask: `DELETE /certificates/${id}`, status: 204 },
  ],
};
