/** `sluice get`, `describe` and `status` by custom resource, with an admin API that only has the responses of these tests. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { CommandError } from "../command.ts";
import { runCommandLine } from "../testing-command.ts";

const [keys, limit] = ["1", "2"].map((digit) => `${digit.repeat(8)}-1111-4111-8111-111111111111`);
const originOf = (name: string) => ({
  in: "resource",
  resource: { kind: "Plugin", namespace: "shop", name },
  conditions: [],
});
const silent = { node: "n2", reason: "it sends no heartbeats" };
const rates = {
  ...{ requests: 1, client_errors: 0, server_errors: 0, refused: 0 },
  latencies: { p50: 1, p95: 1, p99: 1 },
};
const [pool, auth] = ["3", "4"].map((digit) => `${digit.repeat(8)}-1111-4111-8111-111111111111`);
const failedRequest = (time: string) => ({ kind: "failed", status: 503, target: "10.0.0.1:80", time });
const responses: Readonly<Record<string, object>> = {
  "/plugins?size=1000": {
    data: [
      { id: keys, name: "key-auth" },
      { id: limit, name: "rate-limiting" },
      { id: auth, name: "key-auth" },
      { id: "3", name: "cors", service: { id: "s" } },
      { id: "4", name: "cors", route: { id: "r" } },
      { id: "5", name: "acl", route: { id: "r" }, enabled: false },
      { id: "6", name: "acl", service: { id: "s" } },
    ],
    next: null,
  },
  [`/origins/plugins/${keys}`]: originOf("shop-keys"),
  [`/origins/plugins/${limit}`]: originOf("shop-limit"),
  "/routes/export": { id: "r", name: "export", service: { id: "s" } },
  "/routes?size=1000": { data: [{ id: "r", name: "export" }], next: null },
  "/services?size=1000": { data: [{ id: "s", name: "accounts" }], next: null },
  "/problems": {
    data: [
      {
        resource: { kind: "Plugin", namespace: "shop", name: "pay-limit" },
        condition: "Accepted",
        reason: "Invalid",
        message: "spec.config.minute: value must be greater than 0",
        remedy: "Correct the resource.",
      },
    ],
    total: 1,
  },
  "/upstreams/pool": { id: pool, name: "pool" },
  [`/upstreams/${pool}/health?size=1000`]: {
    data: ["10.0.0.1:80", "10.0.0.2:80"].map((target) => ({ target, weight: 100, health: "HEALTHY" })),
  },
  "/requests?kind=failed&size=1000": { data: [failedRequest("2026-01-02"), failedRequest("2026-01-01")] },
  "/key-auths?size=1000": { data: [], next: null },
  "/debug-tokens": { header: "X-Sluice-Debug", token: "t", nodes: ["n1"], unanswered: [silent] },
  "/traffic?by=routes&size=20": { seconds: 10, total: rates, data: [], nodes: [{ node: "n1" }], unanswered: [silent] },
  "/status": {
    sluice: {
      store: "cluster",
      version: "1",
      unread: [],
      fleet: {
        reachable: true,
        revision: 53,
        silent: ["n2"],
        nodes: [
          { address: "n1", revision: 53, problem: null },
          {
            address: "n2",
            revision: 50,
            problem: { message: "It serves revision 50 of 53; its operator is lost.", remedy: "Restore it." },
          },
        ],
      },
    },
  },
};
const server = createServer(({ url = "" }, response) => {
  const body = responses[url];
  response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(body ?? { message: "Not found" }));
});
before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
after(() => new Promise((resolve) => server.close(resolve)));

const urlOf = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const run = (...words: readonly string[]) => runCommandLine(words, { SLUICE_ADMIN_URL: urlOf() });

test("an entity is found by the custom resource in which it is written", async () => {
  assert.match(
    (await run("describe", "plugins", "shop/shop-limit")).printed,
    /\nWritten in: +Plugin shop\/shop-limit\n/,
  );
  assert.match((await run("get", "plugins", "shop/shop-keys")).printed, /\nkey-auth /);
});

for (const name of ["shop/pay-limit", "shop.pay-limit", "pay-limit"])
  test(`the reasons why a custom resource is not served are shown for '${name}'`, async () => {
    await assert.rejects(run("describe", "plugins", name), (error) => {
      assert.ok(error instanceof CommandError);
      assert.match(error.message, new RegExp(`has no plugin '${name}'$`));
      assert.deepEqual(error.faults, [
        "Plugin shop/pay-limit: Accepted: Invalid: spec.config.minute: value must be greater than 0",
      ]);
      return true;
    });
  });

test("the problems of another kind of resource are not shown", async () => {
  await assert.rejects(run("describe", "routes", "pay-limit"), { faults: [] });
});

test("status describes silent nodes and resources that are not served, each once and with the remedy", async () => {
  const { code, printed } = await run("status");
  assert.equal(code, 3);
  assert.ok(
    printed.endsWith(
      [
        "Not served as written:",
        "Node n2",
        "  It serves revision 50 of 53; its operator is lost.",
        "  Restore it.",
        "Plugin shop/pay-limit",
        "  Accepted: Invalid: spec.config.minute: value must be greater than 0",
        "  Correct the resource.",
        "",
      ].join("\n"),
    ),
    printed,
  );
});

test("trace names the nodes that did not get the token if the token was not accepted", async () => {
  const { code, printed, warnings } = await run("trace", `${urlOf()}/cart`);
  assert.equal(code, 3);
  assert.match(
    printed,
    /\nOne of these nodes may have answered, because they did not get the token:\n {2}n2: it sends no heartbeats\nNodes that know the token: n1\n$/,
  );
  assert.deepEqual(warnings, []);
});

test("top names the nodes whose figures are missing", async () => {
  const { printed } = await run("top", "--once");
  assert.match(printed, /^The last complete 10 seconds on 1 of 2 nodes:\n[\s\S]*\nNo answer from n2: it sends no /);
});

test("describe lists the ids of the plugins that have the same name", async () => {
  await assert.rejects(run("describe", "plugins", "key-auth"), {
    message: "there are 2 plugins 'key-auth': name one by its id",
    faults: [`${keys}  all requests`, `${auth}  all requests`],
  });
});

test("describe of an upstream shows that a target answers with server errors, and that no check counts them", async () => {
  const { printed } = await run("describe", "upstream", "pool");
  assert.match(
    printed,
    /\n10\.0\.0\.1:80 +100 +healthy +answered 503 at 2026-01-02\n10\.0\.0\.2:80 +100 +healthy\nPassive health checks are off /,
  );
});

test("get of credentials warns of those whose Secrets the admin API cannot read", async () => {
  const { warnings } = await run("get", "keyauth_credentials");
  assert.match(warnings.join(), /^credentials whose Secrets are outside the home namespace are not listed, /);
});

test("describe shows which plugins of a route are disabled, and which a more specific one overrides", async () => {
  const { printed } = await run("describe", "routes", "export");
  assert.match(
    printed,
    /\nPlugins in scope:\n.*\nkey-auth .* applies .*\nrate-limiting .* applies .*\nkey-auth .* applies .*\ncors +service accounts +overridden +3\ncors +route export +applies +4\nacl +route export +disabled +5\nacl +service accounts +applies +6\n$/,
  );
});
