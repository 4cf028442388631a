import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AdminRig, type Reply, startAdminRig } from "../testing.ts";

let rig: AdminRig;
let allowing: AdminRig;
before(async () => {
  [rig, allowing] = await Promise.all([startAdminRig(), startAdminRig({ SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8" })]);
});
after(() => Promise.all([rig.close(), allowing.close()]));

const warningOf = ({ headers }: Reply) => headers["x-sluice-warning"];
const service = (host: string, port = 80) => ({ host, port });

const warned: readonly (readonly [what: string, method: string, path: string, json: object, warning: RegExp])[] = [
  [
    "a write of a service on loopback",
    "PUT",
    "/services/a",
    service("127.0.0.1", 4000),
    /^nodes refuse to connect to the service a: 127\.0\.0\.1:4000 is a loopback address, which no entry of SLUICE_ALLOWED_UPSTREAMS allows$/,
  ],
  [
    "a write of a service on localhost",
    "PUT",
    "/services/b",
    service("localhost"),
    /localhost is this machine: 127\.0\.0\.1:80 is a l/,
  ],
  [
    "a write of a service on a name below localhost",
    "PUT",
    "/services/c",
    service("api.localhost"),
    /SLUICE_ALLOWED_UPSTREAMS/,
  ],
  [
    "a write of a service by its url",
    "PUT",
    "/services/d",
    { url: "http://169.254.169.254/latest" },
    /a link-local address/,
  ],
  ["a change of a service", "PATCH", "/services/a", service("127.0.0.2"), /127\.0\.0\.2:80/],
  ["a plan of a change", "PATCH", "/services/a?dry_run=1", service("127.0.0.3"), /127\.0\.0\.3:80/],
  [
    "a write of a target",
    "POST",
    "/upstreams/pool/targets",
    { target: "127.0.0.1:8080" },
    /^nodes refuse .* target 127\.0\.0\.1:8080: /,
  ],
  [
    "a write of a plugin that uses Redis",
    "POST",
    "/plugins",
    { name: "rate-limiting", config: { minute: 1, policy: "redis", redis: { host: "127.0.0.1" } } },
    /^nodes refuse to connect to the Redis of the plugin rate-limiting: 127\.0\.0\.1:6379 /,
  ],
  [
    "a batch of several services",
    "POST",
    "/batch",
    {
      writes: ["x", "y", "z"].map((name) => ({ method: "PUT", path: `/services/${name}`, body: service("127.0.0.1") })),
    },
    /service x: .*; and 2 more$/,
  ],
];

const silent: readonly (readonly [what: string, method: string, path: string, json: object])[] = [
  ["a service on an address that is not local", "PUT", "/services/e", service("10.0.0.1")],
  ["a host name that needs DNS", "PUT", "/services/f", service("localhost.example")],
  ["a service whose host is the name of an upstream", "PUT", "/services/g", service("localhost")],
  ["a target on an address that is not local", "POST", "/upstreams/pool/targets", { target: "10.0.0.1:8080" }],
  [
    "a Redis that is not used",
    "POST",
    "/services/e/plugins",
    { name: "rate-limiting", config: { minute: 1, policy: "local", redis: { host: "127.0.0.1" } } },
  ],
  ["a route", "PUT", "/routes/r", { hosts: ["localhost"] }],
];

describe("the response", () => {
  before(() => rig.ask("PUT", "/upstreams/pool", { json: {} }));

  for (const [what, method, path, json, warning] of warned) {
    test(`to ${what} warns that nodes will refuse to connect`, async () => {
      const reply = await rig.ask(method, path, { json });
      assert.ok(reply.status === 200 || reply.status === 201, JSON.stringify(reply.body));
      assert.match(String(warningOf(reply)), warning);
    });
  }

  test("does not warn of an address that SLUICE_ALLOWED_UPSTREAMS allows", async () => {
    for (const host of ["127.0.0.1", "localhost"]) {
      const reply = await allowing.ask("PUT", "/services/a", { json: service(host) });
      assert.deepEqual([reply.status, warningOf(reply)], [200, undefined]);
    }
  });

  describe("to a write that nodes can serve", () => {
    before(() => rig.ask("PUT", "/upstreams/localhost", { json: {} }));

    for (const [what, method, path, json] of silent) {
      test(`does not warn of ${what}`, async () => {
        const reply = await rig.ask(method, path, { json });
        assert.ok(reply.status === 200 || reply.status === 201, JSON.stringify(reply.body));
        assert.equal(warningOf(reply), undefined);
      });
    }
  });

  test("warns of GraphQL documents that a written plugin names and that do not exist, and when a write removes them", async () => {
    const effect = "requests in the scope of the plugin are answered with 503 until they exist";
    const missing = (names: string) =>
      `plugin graphql trusted: there are no GraphQL documents with the name or id ${names}: ${effect}`;
    const write = async (method: string, path: string, json?: object) =>
      warningOf(await rig.ask(method, path, json === undefined ? {} : { json }));
    const plugin = (...documents: readonly string[]) => ({
      name: "graphql",
      instance_name: "trusted",
      config: { trusted_documents: { documents } },
    });
    const manifest = { manifest: '{"a":"{ a }"}' };
    const put = ["PUT", "/plugins/00000000-0000-4000-8000-0000000000aa"] as const;
    assert.equal(await write(...put, plugin("web", "mobile")), missing("web or mobile"));
    assert.equal(await write("PUT", "/graphql_documents/web", manifest), undefined);
    assert.equal(await write(...put, plugin("web", "mobile")), missing("mobile"));
    await write("PUT", "/graphql_documents/mobile", manifest);
    assert.equal(await write(...put, plugin("web", "mobile")), undefined);
    assert.equal(await write("DELETE", "/graphql_documents/mobile?dry_run=1"), missing("mobile"));
    assert.equal(await write("PATCH", "/graphql_documents/mobile", { name: "phone" }), missing("mobile"));
    assert.equal(await write("DELETE", "/graphql_documents/phone"), undefined);
    assert.equal(await write("PATCH", put[1], { enabled: false }), undefined);
    await write("DELETE", put[1]);
  });

  test("does not warn of documents that the same batch creates", async () => {
    const config = { trusted_documents: { documents: ["together"] } };
    const writes = [
      { method: "POST", path: "/plugins", body: { name: "graphql", instance_name: "together", config } },
      { method: "PUT", path: "/graphql_documents/together", body: { manifest: '{"a":"{ a }"}' } },
    ];
    for (const path of ["/batch?dry_run=1", "/batch"]) {
      const reply = await rig.ask("POST", path, { json: { writes } });
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      assert.equal(warningOf(reply), undefined);
    }
  });

  test("does not warn of a removed entity", async () => {
    const reply = await rig.ask("DELETE", "/services/a");
    assert.deepEqual([reply.status, warningOf(reply)], [204, undefined]);
  });
});
