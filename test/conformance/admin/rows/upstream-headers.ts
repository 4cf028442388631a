/** `upstream_headers` of a service: a member that neither Kong nor its clients know. */
import type { AdminTable } from "../row.ts";

const secret = { name: "X-Gateway-Secret", value: "the-secret" };
const zone = { name: "X-Zone", value: "blue" };
const faults = [
  { name: "Transfer-Encoding", value: "chunked" },
  { name: "X_Consumer_ID", value: "1" },
  { name: "X Y", value: "a-secret\r\nX-Evil: 1" },
  { name: "X-Twice", value: "1" },
  { name: "x_twice", value: "2" },
  { name: "X-None" },
];

export const upstreamHeadersTable: AdminTable = {
  of: "headers of a service",
  rows: [
    {
      does: "are shown as they were written",
      ask: "POST /services",
      json: { name: "headed", host: "a", upstream_headers: [secret, zone] },
      status: 201,
      has: { upstream_headers: [secret, zone] },
    },
    {
      does: "stay when a client that does not know them replaces the service",
      ask: "PUT /services/headed",
      json: { name: "headed", host: "b", retries: 2 },
      status: 200,
      has: { host: "b", retries: 2, upstream_headers: [secret, zone] },
    },
    {
      does: "stay when another member changes",
      ask: "PATCH /services/headed",
      json: { retries: 3 },
      status: 200,
      has: { retries: 3, upstream_headers: [secret, zone] },
    },
    {
      does: "are shown by a plan as changed, without their values",
      ask: "PATCH /services/headed?dry_run=1",
      json: { upstream_headers: [zone] },
      status: 200,
      has: {
        changed: [{ members: [{ member: "upstream_headers", before: "[redacted]", after: "[redacted]" }] }],
      },
    },
    {
      does: "are replaced completely, even by a form",
      ask: "PATCH /services/headed",
      form: "upstream_headers[1].name=X-Zone&upstream_headers[1].value=blue",
      status: 200,
      has: { upstream_headers: [zone] },
    },
    {
      does: "are refused with all of their errors, but without their values",
      ask: "PATCH /services/headed",
      json: { upstream_headers: faults },
      status: 400,
      has: {
        code: 2,
        name: "schema violation",
        fields: {
          upstream_headers: [
            { name: "cannot be 'Transfer-Encoding': the gateway itself sets headers for routing and framing" },
            { name: "cannot be 'X_Consumer_ID': the gateway itself sets headers with the consumer's identity" },
            {
              name: "bad header name 'X Y', allowed characters are A-Z, a-z, 0-9, '_', and '-'",
              value: "must not contain line breaks or other control characters",
            },
            null,
            { name: "the list already has a header with this name" },
            { value: "required field missing" },
          ],
        },
      },
      message: /^6 schema violations (?!.*a-secret)/s,
    },
    {
      does: "are limited to sixteen",
      ask: "PATCH /services/headed",
      json: { upstream_headers: Array.from({ length: 17 }, (_, n) => ({ name: `X-${n}`, value: "v" })) },
      status: 400,
      has: { fields: { upstream_headers: "length must be at most 16" } },
    },
    {
      does: "have values of at most 4096 characters",
      ask: "PATCH /services/headed",
      json: { upstream_headers: [{ name: "X-Long", value: "v".repeat(4097) }] },
      status: 400,
      has: { fields: { upstream_headers: [{ value: "length must be at most 4096" }] } },
    },
    {
      does: "are removed with null",
      ask: "PUT /services/headed",
      json: { name: "headed", host: "b", upstream_headers: null },
      status: 200,
      has: { upstream_headers: null },
    },
  ],
};
