/** Features of Kong that Sluice lacks. */
import type { AdminTable } from "../row.ts";

const lists = ["oauth2", "partials", "keys", "key-sets", "filter-chains", "cloned-plugins", "custom-plugins"];

export const missingTable: AdminTable = {
  of: "a feature that Sluice does not have",
  rows: [
    ...lists.flatMap((list) => [
      { does: `is not found: ${list}`, ask: `GET /${list}?size=1000`, status: 404, has: { message: "Not found" } },
      {
        does: `cannot be written: ${list}`,
        ask: `PUT /${list}/x`,
        json: {},
        status: 400,
        message: /^Sluice does not have /,
      },
    ]),
    {
      does: "is named in the response to a write",
      ask: "POST /keys",
      json: { kid: "k" },
      status: 400,
      body: { message: "Sluice does not have keys and key sets" },
    },
    {
      does: "is also named in the response to a write below a consumer",
      ask: "POST /consumers/base/oauth2",
      form: "name=x&client_id=y",
      status: 400,
      body: {
        message:
          "Sluice does not have the plugin oauth2: let an authorization server issue tokens, and verify them with the plugin openid-connect",
      },
    },
    { does: "is not found below a consumer", ask: "GET /consumers/base/oauth2", status: 404 },
    {
      does: "has a URL that answers OPTIONS with the methods of lists and entities",
      ask: "OPTIONS /keys",
      status: 204,
      sends: { allow: "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT" },
    },
    ...["workspaces", "rbac/users", "licenses", "event-hooks"].map((path) => ({
      does: `is answered like an unknown path: /${path}`,
      ask: `GET /${path}`,
      status: 404,
      body: { message: "Not found" },
    })),
  ],
};
