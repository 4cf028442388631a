/** Problems of a store, and the places of its entities. */
import { ids } from "../fixture.ts";
import type { AdminTable } from "../row.ts";

export const problemsTable: AdminTable = {
  of: "the admin API",
  rows: [
    {
      does: "lists no problems of a store whose entities are all valid",
      ask: "GET /problems",
      status: 200,
      has: { data: [], total: 0 },
    },
    {
      does: "names the database as the place of an entity",
      ask: `GET /origins/routes/${ids.route}`,
      status: 200,
      where: "in a database",
      body: { in: "database" },
    },
    {
      does: "names the file or the custom resource in which an entity is written",
      ask: `GET /origins/routes/${ids.route}`,
      status: 200,
      where: "elsewhere",
      matches: { in: /^(file|resource)$/ },
    },
    ...[
      "/certificate-details/x",
      `/certificate-details/${ids.unknown}`,
      "/origins/nothing/x",
      "/origins/routes/base",
      `/origins/routes/${ids.unknown}`,
    ].map((url) => ({
      does: `answers 404 for ${url}`,
      ask: `GET ${url}`,
      status: 404,
    })),
  ],
};
