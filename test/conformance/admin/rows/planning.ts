/** `?dry_run=1`: shows the effects that a write would have, without applying the write. */
import { ids } from "../fixture.ts";
import type { AdminTable } from "../row.ts";

const nothing = { created: [], changed: [], deleted: [] };

export const planningTable: AdminTable = {
  of: "a dry run",
  rows: [
    {
      does: "shows the entities that would be created, without members that have their default value",
      ask: "POST /services?dry_run=1",
      json: { name: "new", host: "a", retries: 5, port: 81 },
      status: 200,
      has: {
        dry_run: true,
        created: [{ collection: "services", name: "new", members: { host: "a", port: 81 } }],
        changed: [],
        deleted: [],
      },
    },
    { does: "creates nothing", ask: "GET /services/new", status: 404 },
    {
      does: "shows the members that would change",
      ask: "PATCH /services/base?dry_run=1",
      json: { port: 81, tags: null, retries: 5 },
      status: 200,
      has: {
        changed: [
          {
            collection: "services",
            id: ids.service,
            name: "base",
            members: [
              { member: "port", before: 80, after: 81 },
              { member: "tags", before: ["blue", "base"], after: null },
            ],
          },
        ],
        created: [],
        deleted: [],
      },
    },
    { does: "changes nothing", ask: "GET /services/base", status: 200, has: { port: 80 } },
    {
      does: "does not show an explicit default as a change",
      ask: "PUT /services/base?dry_run=1",
      json: { host: "base.example", tags: ["blue", "base"], port: 80, protocol: "http" },
      status: 200,
      body: { dry_run: true, ...nothing, requests: null },
    },
    {
      does: "names members of a config by their path",
      ask: "PATCH /plugins/base?dry_run=1",
      json: { config: { max_age: 5 } },
      status: 200,
      has: {
        changed: [{ collection: "plugins", members: [{ member: "config.max_age", before: null, after: 5 }] }],
        requests: {
          changed: [
            {
              kind: "handled",
              request: { path: "/base", consumer: null },
              differences: [{ about: "plugin cors: config.max_age", before: null, after: 5 }],
            },
          ],
        },
      },
    },
    {
      does: "shows the entities that would be removed, with their dependents",
      ask: "DELETE /consumers/base?dry_run=1",
      status: 200,
      has: {
        deleted: [
          {
            collection: "consumers",
            id: ids.consumer,
            name: "base",
            along: [{ collection: "keyauth_credentials", id: ids.key, name: null }],
          },
        ],
      },
    },
    { does: "removes nothing", ask: "GET /consumers/base/key-auth/base-key", status: 200 },
    {
      does: "shows nothing if nothing would be removed",
      ask: "DELETE /services/nobody?dry_run=1",
      status: 200,
      body: { dry_run: true, ...nothing, requests: null },
    },
    {
      does: "does not show the old or new value of a key that would be changed",
      ask: "PATCH /key-auths/base-key?dry_run=1",
      json: { key: "next-key" },
      status: 200,
      has: {
        changed: [
          {
            collection: "keyauth_credentials",
            name: null,
            members: [{ member: "key", before: "[redacted]", after: "[redacted]" }],
          },
        ],
      },
    },
    {
      does: "does not show the value of a key that would be created",
      ask: "POST /consumers/base/key-auth?dry_run=1",
      json: { key: "next-key", tags: ["t"] },
      status: 200,
      has: {
        created: [{ collection: "keyauth_credentials", name: null, members: { key: "[redacted]", tags: ["t"] } }],
      },
    },
    {
      does: "shows which requests a route would receive",
      ask: "POST /routes?dry_run=1",
      json: { name: "more", paths: ["/base/more"], service: { name: "base" } },
      status: 200,
      has: {
        requests: {
          incomplete: false,
          changed: [
            {
              request: { path: "/base/more", method: "GET" },
              before: { name: "base" },
              after: { name: "more", service: "base" },
            },
          ],
        },
      },
    },
    {
      does: "shows which requests would match no route",
      ask: "DELETE /routes/base?dry_run=1",
      status: 200,
      has: {
        deleted: [{ collection: "routes", id: ids.route }],
        requests: {
          changed: [
            {
              request: { path: "/base" },
              before: { id: ids.route, name: "base", service: "base" },
              after: null,
            },
          ],
        },
      },
    },
    {
      does: "shows that requests to a disabled service would match no route",
      ask: "PATCH /services/base?dry_run=1",
      json: { enabled: false },
      status: 200,
      has: { requests: { changed: [{ request: { path: "/base" }, before: { name: "base" }, after: null }] } },
    },
    {
      does: "shows which requests would be sent differently",
      ask: "PATCH /routes/base?dry_run=1",
      json: { preserve_host: true },
      status: 200,
      has: {
        changed: [{ members: [{ member: "preserve_host", before: false, after: true }] }],
        requests: {
          changed: [
            {
              kind: "answered",
              request: { path: "/base" },
              before: { name: "base" },
              differences: [{ about: "request header host", after: "sample.invalid" }],
            },
          ],
        },
      },
    },
    {
      does: "shows which requests would be refused",
      ask: "POST /routes/base/plugins?dry_run=1",
      json: { name: "key-auth" },
      status: 200,
      has: {
        requests: {
          changed: [
            {
              kind: "answered",
              request: { path: "/base", consumer: null },
              differences: [
                { about: "answer", before: "the service answers", after: "401: No API key found in request" },
              ],
            },
          ],
        },
      },
    },
    {
      does: "shows a certificate's server names as entities of their own",
      ask: "PATCH /certificates/base.example?dry_run=1",
      json: { snis: ["next.example"] },
      status: 200,
      has: {
        created: [{ collection: "snis", name: "next.example" }],
        deleted: [{ collection: "snis", name: "base.example" }],
      },
    },
    {
      does: "is refused as the write would be",
      ask: "POST /services?dry_run=1",
      json: { name: "base", host: "a" },
      status: 409,
      has: { code: 5 },
    },
    {
      does: "is refused with all errors",
      ask: "POST /services?dry_run=1",
      json: { port: 0.5 },
      status: 400,
      has: { fields: { host: "required field missing", port: "expected an integer" } },
    },
    {
      does: "is refused for a removal that references prevent",
      ask: "DELETE /services/base?dry_run=1",
      status: 400,
      has: { code: 4 },
    },
    ...["", "=", "=maybe", "=2"].map((said) => ({
      does: `is refused for the query dry_run${said}, which sets neither true nor false`,
      ask: `DELETE /services/base?dry_run${said}`,
      status: 400,
      has: { code: 11, message: "invalid option (dry_run: expected true or false)" },
    })),
    {
      does: "is requested by dry_run=Yes",
      ask: "POST /services?dry_run=Yes",
      json: { name: "new", host: "a" },
      status: 200,
      has: { dry_run: true },
    },
    {
      does: "must be set to true or false in the query of a batch too",
      ask: "POST /batch?dry_run",
      json: { writes: [{ method: "DELETE", path: "/routes/base" }] },
      status: 400,
      has: { code: 11 },
    },
    {
      does: "of a document has an id, without which the document cannot be applied",
      ask: "POST /config/apply",
      json: { _format_version: "3.0" },
      status: 400,
      message: "plan_id is missing: POST /config?plan=1 returns it",
    },
    {
      does: "of a document is not applied if the document is not the planned one",
      ask: "POST /config/apply?plan_id=x",
      json: { _format_version: "3.0" },
      status: 412,
      message: "the configuration or the document has changed since the plan: plan again",
    },
    {
      does: "of a document can keep the entities that the document does not contain",
      ask: "POST /config?plan=1&keep=1",
      json: { _format_version: "3.0" },
      status: 200,
      has: { deleted: [], changed: [], created: [] },
      matches: { plan_id: /^[0-9a-f]{64}$/ },
    },
    {
      does: "is requested by dry_run=true",
      ask: "POST /services?dry_run=true",
      json: { name: "new", host: "a" },
      status: 200,
      has: { dry_run: true },
    },
    {
      does: "that is switched off by dry_run=0 is an ordinary write",
      ask: "PUT /services/real?dry_run=0",
      json: { host: "a" },
      status: 200,
      has: { name: "real" },
    },
    {
      does: "does not wait for nodes",
      ask: "DELETE /services/real?dry_run=1",
      status: 200,
      sends: { "x-sluice-programmed": undefined },
    },
  ],
};
