/** `sluice get` and `describe` by custom resource, with an admin API that only has the responses of these tests. */
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
const responses: Readonly<Record<string, object>> = {
  "/plugins?size=1000": {
    data: [
      { id: keys, name: "key-auth" },
      { id: limit, name: "rate-limiting" },
    ],
    next: null,
  },
  [`/origins/plugins/${keys}`]: originOf("shop-keys"),
  [`/origins/plugins/${limit}`]: originOf("shop-limit"),
  "/problems": {
    data: [
      {
        resource: { kind: "Plugin", namespace: "shop", name: "pay-limit" },
        condition: "Accepted",
        reason: "Invalid",
        message: "spec.config.minute: value must be greater than 0",
      },
    ],
    total: 1,
  },
};
const server = createServer(({ url = "" }, response) => {
  const body = responses[url];
  response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(body ?? { message: "Not found" }));
});
before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
after(() => new Promise((resolve) => server.close(resolve)));

const run = (...words: readonly string[]) =>
  runCommandLine(words, { SLUICE_ADMIN_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });

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
