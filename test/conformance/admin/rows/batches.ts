/** POST /batch: many writes, all or none. */
import { ids } from "../fixture.ts";
import type { AdminTable } from "../row.ts";

const batch = (...writes: readonly object[]) => ({ json: { writes } });
const put = (path: string, body: object) => ({ method: "PUT", path, body });

export const batchesTable: AdminTable = {
  of: "a batch",
  rows: [
    {
      does: "creates entities that refer to other entities of the same batch",
      ask: "POST /batch",
      ...batch(
        put("/services/shop", { url: "http://shop:80" }),
        { method: "POST", path: "/services/shop/routes", body: { name: "shop", paths: ["/shop"] } },
        { method: "POST", path: "/plugins", body: { name: "cors", route: { name: "shop" } } },
        put("/consumers/ann", {}),
        { method: "POST", path: "/consumers/ann/key-auth", body: { key: "ann-key" } },
      ),
      status: 200,
      has: {
        dry_run: false,
        created: [
          { collection: "services", name: "shop" },
          { collection: "routes", name: "shop" },
          { collection: "plugins" },
          { collection: "consumers", name: "ann" },
          { collection: "keyauth_credentials", name: null },
        ],
        changed: [],
        deleted: [],
      },
    },
    {
      does: "has created the service and the route",
      ask: "GET /services/shop/routes/shop",
      status: 200,
      has: { paths: ["/shop"] },
    },
    { does: "has created the key", ask: "GET /key-auths/ann-key/consumer", status: 200, has: { username: "ann" } },
    {
      does: "sees the effects of its earlier writes",
      ask: "POST /batch",
      ...batch(
        { method: "PATCH", path: "/services/shop", body: { port: 81 } },
        { method: "PATCH", path: "/services/shop", body: { retries: 1 } },
        { method: "PATCH", path: "/services/shop", body: { name: "store" } },
        { method: "PATCH", path: "/services/store/routes/shop", body: { strip_path: false } },
      ),
      status: 200,
      has: {
        changed: [
          {
            collection: "services",
            name: "store",
            members: [
              { member: "name", before: "shop", after: "store" },
              { member: "retries", before: 5, after: 1 },
              { member: "port", before: 80, after: 81 },
            ],
          },
          { collection: "routes", members: [{ member: "strip_path", before: true, after: false }] },
        ],
        created: [],
      },
    },
    {
      does: "shows its effects in a dry run",
      ask: "POST /batch?dry_run=1",
      ...batch({ method: "DELETE", path: "/routes/shop" }, { method: "DELETE", path: "/services/store" }),
      status: 200,
      has: {
        dry_run: true,
        deleted: [
          { collection: "routes", name: "shop", along: [{ collection: "plugins" }] },
          { collection: "services", name: "store" },
        ],
        requests: { changed: [{ request: { path: "/shop" }, before: { name: "shop" }, after: null }] },
      },
    },
    { does: "changes nothing in a dry run", ask: "GET /services/store", status: 200 },
    {
      does: "is refused completely for an error in one of its writes, and the response names the write",
      ask: "POST /batch",
      ...batch(put("/services/one", { host: "a" }), put("/services/two", { port: 1 })),
      status: 400,
      body: {
        code: 2,
        name: "schema violation",
        message: "write 2 of 2 (PUT /services/two): schema violation (host: required field missing)",
        fields: { host: "required field missing" },
        write: 1,
      },
    },
    { does: "that is refused creates no entity", ask: "GET /services/one", status: 404 },
    {
      does: "is refused if one of its writes takes the name of an existing entity",
      ask: "POST /batch",
      ...batch(put("/services/one", { host: "a" }), {
        method: "POST",
        path: "/services",
        body: { name: "base", host: "a" },
      }),
      status: 409,
      has: { code: 5, fields: { name: "base" }, write: 1 },
    },
    {
      does: "is refused if two of its writes take the same name",
      ask: "POST /batch",
      ...batch(
        { method: "POST", path: "/services", body: { name: "twice", host: "a" } },
        { method: "POST", path: "/services", body: { name: "twice", host: "b" } },
      ),
      status: 409,
      has: { code: 5, fields: { name: "twice" }, write: 1 },
    },
    { does: "that is refused for a duplicate name creates no entity", ask: "GET /services/twice", status: 404 },
    {
      does: "is refused if it changes an entity that it removed",
      ask: "POST /batch",
      ...batch({ method: "DELETE", path: "/consumers/ann" }, { method: "PATCH", path: "/consumers/ann", body: {} }),
      status: 404,
      has: { message: "write 2 of 2 (PATCH /consumers/ann): Not found", write: 1 },
    },
    { does: "that is refused removes nothing", ask: "GET /consumers/ann", status: 200 },
    {
      does: "may reuse a name that it has freed",
      ask: "POST /batch",
      ...batch(
        { method: "PATCH", path: "/consumers/ann", body: { username: "bea" } },
        put("/consumers/ann", { custom_id: "2" }),
      ),
      status: 200,
      has: { created: [{ name: "ann" }], changed: [{ name: "bea" }] },
    },
    { does: "has kept the renamed entity", ask: "GET /consumers/bea", status: 200 },
    {
      does: "may remove a dependent of an entity that it has already removed",
      ask: "POST /batch",
      ...batch({ method: "DELETE", path: "/consumers/bea" }, { method: "DELETE", path: "/key-auths/ann-key" }),
      status: 200,
      has: { deleted: [{ collection: "consumers", name: "bea", along: [{ collection: "keyauth_credentials" }] }] },
    },
    {
      does: "finds a certificate by a server name that it has just added",
      ask: "POST /batch",
      ...batch(
        { method: "PATCH", path: "/certificates/base.example", body: { snis: ["base.example", "b.example"] } },
        { method: "PATCH", path: "/certificates/b.example", body: { tags: ["t"] } },
      ),
      status: 200,
      has: {
        created: [{ collection: "snis", name: "b.example" }],
        changed: [{ collection: "certificates", id: ids.certificate }],
      },
    },
    {
      does: "is refused if the if_match of one of its writes is not met",
      ask: "POST /batch",
      ...batch({ method: "PATCH", path: "/services/store", body: {}, if_match: '"x"' }),
      status: 412,
      has: { write: 0 },
    },
    {
      does: "refuses an unknown path",
      ask: "POST /batch",
      ...batch(put("/nope/x", {})),
      status: 404,
      message: "write 1 of 1 (PUT /nope/x): Not found",
    },
    {
      does: "refuses a method that a path does not support",
      ask: "POST /batch",
      ...batch({ method: "POST", path: "/services/x", body: {} }),
      status: 400,
      message: "write 1 of 1 (POST /services/x): Method not allowed",
    },
    {
      does: "refuses reads",
      ask: "POST /batch",
      ...batch({ method: "GET", path: "/services" }),
      status: 400,
      message: "writes.1.method: expected one of: POST, PUT, PATCH, DELETE",
    },
    {
      does: "reports all errors in its structure",
      ask: "POST /batch",
      ...batch({ method: "PUT" }, { method: "PUT", path: "/services/x", body: [], nope: 1 }),
      status: 400,
      message: "writes.1.path: should start with: /; writes.2.body: expected a record; writes.2.nope: unknown field",
    },
    {
      does: "refuses a query in a path",
      ask: "POST /batch",
      ...batch({ method: "DELETE", path: "/services/x?force=1" }),
      status: 400,
      message: "writes.1.path: must not have a query: set dry_run and force in the query of the batch itself",
    },
    {
      does: "needs a list of writes",
      ask: "POST /batch",
      json: {},
      status: 400,
      message: "writes: expected a list of writes",
    },
    { does: "needs at least one write", ask: "POST /batch", ...batch(), status: 400 },
    {
      does: "has at most 5,000 writes",
      ask: "POST /batch",
      json: { writes: Array.from({ length: 5001 }, () => ({})) },
      status: 400,
      message: "writes: at most 5000 at a time, not 5001",
    },
    { does: "must be JSON", ask: "POST /batch", form: "writes=x", status: 415 },
    { does: "must be sent with POST", ask: "GET /batch", status: 405, sends: { allow: "OPTIONS, POST" } },
  ],
};
