import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { collections, credentialCollections } from "@sluice/model";
import { waitFor } from "../../../../tools/process/index.ts";
import { startAdminRig } from "../testing.ts";
import { updatedAtNow } from "./write-operations.ts";

test("every kind of entity has updated_at, except credentials", () => {
  const silent = collections.filter((collection) => !("updated_at" in updatedAtNow(collection)));
  assert.deepEqual(silent, [...credentialCollections]);
});

describe("a plugin whose config needs a member that is in a Secret of a user", () => {
  const config = { issuer: "https://login.test", auth_methods: ["session"] };
  const resources = {
    "secret.yaml": `apiVersion: v1
kind: Secret
metadata: { name: keys, namespace: default, labels: { sluice.dev/credential: openid-connect } }
stringData: { cookies: a secret for the cookies }
`,
    "plugin.yaml": `apiVersion: sluice.dev/v1alpha1
kind: Plugin
metadata: { name: login, namespace: default }
spec:
  plugin: openid-connect
  config: ${JSON.stringify(config)}
  configFrom: [{ path: session_secret, secretRef: { name: keys, key: cookies } }]
`,
  };

  async function start(context: TestContext) {
    const rig = await startAdminRig();
    context.after(() => rig.close());
    for (const [name, text] of Object.entries(resources)) writeFileSync(join(rig.directory, name), text);
    const listed = async () => Object((await rig.ask("GET", "/plugins")).body).data[0] as { readonly id: string };
    const { id } = await waitFor(listed, { what: "the plugin to be listed" });
    return { ask: rig.ask, path: `/plugins/${id}` };
  }

  for (const [method, json] of [
    ["PATCH", { config: { leeway: 5 } }],
    ["PUT", { name: "openid-connect", config: { ...config, leeway: 5 } }],
  ] as const)
    test(`keeps this member when ${method} changes others`, async (context) => {
      const { ask, path } = await start(context);
      const changed = await ask(method, path, { json });
      assert.deepEqual([changed.status, Object(changed.body).message], [200, undefined]);
      const { body } = await ask("GET", path);
      assert.partialDeepStrictEqual(body, { config: { leeway: 5, session_secret: null } });
    });

  test("takes a new value of this member from PATCH instead of the value in the Secret", async (context) => {
    const { ask, path } = await start(context);
    const session_secret = "another secret for the cookies";
    assert.equal((await ask("PATCH", path, { json: { config: { session_secret } } })).status, 200);
    assert.partialDeepStrictEqual((await ask("GET", path)).body, { config: { session_secret } });
  });

  test("gets no violation for this member if PATCH sets another member to an invalid value", async (context) => {
    const { ask, path } = await start(context);
    const { status, body } = await ask("PATCH", path, { json: { config: { leeway: -1 } } });
    assert.deepEqual(
      [status, Object(body).fields],
      [400, { config: { leeway: "value should be between 0 and 3600" } }],
    );
  });
});
