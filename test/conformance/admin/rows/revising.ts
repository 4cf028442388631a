/** Revisions in a database. All writes of this suite have the same author, so most are joined into one revision. */
import type { AdminTable } from "../row.ts";

const where = "in a database";
const unknown = { message: "there is no revision 999999999: GET /revisions lists the revisions that are kept" };

export const revisingTable: AdminTable = {
  of: "a revision",
  rows: [
    {
      does: "names the caller",
      ask: "GET /revisions?size=1",
      status: 200,
      where,
      has: { data: [{ author: "anonymous (loopback)" }] },
      sends: { etag: /^"\d+"$/ },
      keep: { header: "etag", as: "newest" },
    },
    { does: "with an unknown number is not found", ask: "GET /revisions/999999999", status: 404, where, body: unknown },
    {
      does: "with an unknown number cannot be compared",
      ask: "GET /revisions/999999999/difference",
      status: 404,
      where,
      body: unknown,
    },
    {
      does: "with an unknown number cannot be restored, even if the configuration matches If-Match",
      ask: "POST /revisions/999999999/rollback",
      headers: [["If-Match", "{newest}"]],
      status: 404,
      where,
      body: unknown,
    },
    {
      does: "is not restored if the configuration does not match If-Match",
      ask: "POST /revisions/999999999/rollback",
      headers: [["If-Match", '"1"']],
      status: 412,
      where,
      message: /^the configuration does not match If-Match: its ETag is "\d+"$/,
    },
    { does: "cannot be deleted", ask: "DELETE /revisions/1", status: 405 },
    { does: "cannot be written", ask: "POST /revisions", json: {}, status: 405 },
  ],
};
