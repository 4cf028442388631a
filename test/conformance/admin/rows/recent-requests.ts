/** Invalid requests for the nodes' reports about clients' requests. No node is known to these listeners. */
import type { AdminRow, AdminTable } from "../row.ts";

const unknown = { message: "no node is running, or none is known to this process" };

const refused = (ask: AdminRow["ask"], fields: object, does: string) =>
  ({ does, ask, status: 400, has: { code: 2, fields } }) as const;

const invalidToken = (json: object, fields: object, does: string) => ({
  ...refused("POST /debug-tokens", fields, does),
  json,
});

export const recentRequestsTable: AdminTable = {
  of: "the reports of nodes about requests:",
  rows: [
    ...(
      [
        "GET /requests",
        "GET /access-log",
        "GET /traffic",
        "GET /usage/routes",
        "GET /usage/consumers",
        "GET /usage/credentials",
      ] as const
    ).map(
      (ask) =>
        ({
          does: `${ask} is answered with 503 while no node is known`,
          ask,
          status: 503,
          where: "in a database",
          body: unknown,
        }) as const,
    ),
    {
      does: "no debug token is made while no node is known",
      ask: "POST /debug-tokens",
      status: 503,
      where: "in a database",
      body: unknown,
    },
    refused("GET /requests?kind=lost", { kind: "expected one of: refused, failed, slow" }, "the kind must be known"),
    refused("GET /requests?status=4xx", { status: "expected an integer" }, "the status must be a number"),
    refused(
      "GET /requests?status=99",
      { status: "value should be between 100 and 599" },
      "the status must be one of HTTP",
    ),
    refused("GET /requests?size=0", { size: "value should be between 1 and 1000" }, "the size must not be 0"),
    refused("GET /requests?path=/a", { path: "unknown field" }, "requests cannot be selected by path"),
    refused(
      "GET /usage/routes?unused_for=1d",
      { unused_for: "expected an integer" },
      "the time without use is in seconds",
    ),
    invalidToken(
      { lifetime: 3601 },
      { lifetime: "value should be between 1 and 3600" },
      "a debug token is valid for at most an hour",
    ),
    invalidToken({ token: "a" }, { token: "unknown field" }, "a debug token cannot be chosen"),
    { does: "a debug token is not made from a form", ask: "POST /debug-tokens", form: "lifetime=1", status: 415 },
    refused(
      "GET /access-log?status=600",
      { status: "value should be between 1 and 599" },
      "requests cannot be watched by a status above 599",
    ),
    refused("GET /access-log?path=/a", { path: "unknown field" }, "requests cannot be watched by path"),
    refused(
      "GET /traffic?by=paths",
      { by: "expected one of: routes, services, consumers, operations" },
      "requests are not counted by path",
    ),
    { does: "the use of services is not reported", ask: "GET /usage/services", status: 404 },
  ],
};
