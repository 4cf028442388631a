/** The protocols of plugins, which must match a protocol of their route or of a route of their service, as in Kong. */
import type { AdminTable } from "../row.ts";

const NOT_OF_ROUTE = "must match the associated route's protocols";
const NOT_OF_SERVICE = "must match the protocols of at least one route pointing to this Plugin's service";

const tcpLog = { name: "tcp-log", config: { host: "log.example", port: 9 } };

export const pluginProtocolsTable: AdminTable = {
  of: "a plugin for connections",
  rows: [
    { does: "has a service", ask: "POST /services", json: { name: "db", url: "tcp://db.example:5432" }, status: 201 },
    {
      does: "whose service has no routes may have any protocols",
      ask: "POST /services/db/plugins",
      json: { ...tcpLog, instance_name: "log", protocols: ["http"] },
      status: 201,
    },
    {
      does: "has a route",
      ask: "POST /services/db/routes",
      json: { name: "db", protocols: ["tcp"], destinations: [{ port: 9100 }] },
      status: 201,
    },
    {
      does: "is refused if its protocols match none of its route",
      ask: "POST /routes/db/plugins",
      json: { ...tcpLog, protocols: ["http", "tls"] },
      status: 400,
      body: {
        code: 2,
        name: "schema violation",
        message: `schema violation (protocols: ${NOT_OF_ROUTE})`,
        fields: { protocols: NOT_OF_ROUTE },
      },
    },
    {
      does: "is refused if its protocols match none of its service's routes",
      ask: "PUT /plugins/log",
      json: { ...tcpLog, protocols: ["http"], service: { name: "db" } },
      status: 400,
      has: { fields: { protocols: NOT_OF_SERVICE } },
    },
    {
      does: "is compared with its route only, if it has a service too",
      ask: "POST /plugins",
      json: { ...tcpLog, protocols: ["http"], service: { name: "db" }, route: { name: "base" } },
      status: 201,
    },
    {
      does: "may have further protocols",
      ask: "POST /routes/db/plugins",
      json: { ...tcpLog, instance_name: "of-route", protocols: ["http", "tcp"] },
      status: 201,
    },
    {
      does: "that does not set protocols is accepted",
      ask: "POST /routes/db/plugins",
      json: { name: "udp-log", config: { host: "log.example", port: 9 } },
      status: 201,
    },
    {
      does: "whose default protocols are also those of connections is accepted with them",
      ask: "POST /routes/db/plugins",
      json: { name: "ip-restriction", protocols: ["grpc", "grpcs", "http", "https"], config: { deny: ["192.0.2.1"] } },
      status: 201,
    },
    {
      does: "is refused with a part of such default protocols",
      ask: "POST /services/db/plugins",
      json: { name: "ip-restriction", protocols: ["http"], config: { deny: ["192.0.2.1"] } },
      status: 400,
      has: { fields: { protocols: NOT_OF_SERVICE } },
    },
    {
      does: "for requests cannot be moved to a route of connections",
      ask: "PATCH /plugins/base",
      json: { route: { name: "db" } },
      status: 400,
      has: { fields: { protocols: NOT_OF_ROUTE } },
    },
    {
      does: "does not forbid its route other protocols",
      ask: "PATCH /routes/db",
      json: { protocols: ["tls"], snis: ["db.example"] },
      status: 200,
    },
    {
      does: "that matches its route no longer can be changed",
      ask: "PATCH /plugins/of-route",
      json: { enabled: false },
      status: 200,
      has: { protocols: ["http", "tcp"] },
    },
    {
      does: "that matches its route no longer cannot be given other protocols that do not match",
      ask: "PATCH /plugins/of-route",
      form: "protocols=https",
      status: 400,
      has: { fields: { protocols: NOT_OF_ROUTE } },
    },
    {
      does: "can be given protocols that match",
      ask: "PATCH /plugins/of-route",
      form: "protocols=tls",
      status: 200,
      has: { protocols: ["tls"] },
    },
    {
      does: "is compared with a route of the same batch",
      ask: "POST /batch",
      json: {
        writes: [
          { method: "PATCH", path: "/routes/db", body: { protocols: ["tcp"], snis: null } },
          { method: "POST", path: "/routes/db/plugins", body: { name: "statsd", protocols: ["tls"] } },
        ],
      },
      status: 400,
      message: `write 2 of 2 (POST /routes/db/plugins): schema violation (protocols: ${NOT_OF_ROUTE})`,
    },
  ],
};
