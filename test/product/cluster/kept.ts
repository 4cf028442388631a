/**
 * State kept while a process is down: the operator's last valid versions, and a node's last document. The last test
 * stops the API server.
 */
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { getUrl, type NamedUpstream, startNamedUpstream } from "../client.ts";
import { consumerObjects, resourceObject, routeObject, serviceObject } from "../resources.ts";
import type { Suite } from "./suite.ts";

export function keptStateSuite(suite: Suite): void {
  describe("kept state", () => {
    const { chosen } = suite;
    const { kubectl } = suite.plane;
    const nodes = [`http://${chosen.proxy}`, `http://${chosen.proxy2}`];
    const volume = temporaryFolder("volume");
    after(() => volume.remove());
    const file = join(volume.path, "document");

    const password = "a-password-that-stays-secret";
    const limits = {
      plugin: "rate-limiting",
      targetRefs: [{ kind: "Route", name: "limited" }],
      config: { minute: 1000, policy: "redis", redis: { host: "127.0.0.1", port: 1, password }, fault_tolerant: true },
    };

    interface Manifest {
      readonly hash: string;
      readonly parts: readonly string[];
    }
    const manifest = async (): Promise<Manifest> =>
      JSON.parse(await kubectl(["get", "configmap", "sluice-operator-document", "-o", "jsonpath={.data.manifest}"]));

    async function hash(): Promise<string> {
      return ((await getUrl(`http://${chosen.operator}/status`)).body as { readonly hash: string }).hash;
    }

    async function beginOperator(): Promise<void> {
      const process = await suite.start("operator", { SLUICE_DOCUMENT_INTERVAL: "1s" });
      await process.waitForOutput(/started leading/, { timeout: 30_000 });
    }

    let upstream: NamedUpstream;
    after(() => upstream?.close());
    before(async () => {
      upstream = await startNamedUpstream("echo");
      await suite.part("operator").stop();
      await beginOperator();
      await suite.apply(
        serviceObject("echo", upstream.port),
        routeObject("echo"),
        routeObject("limited", { serviceRef: { name: "echo" } }),
        routeObject("guarded", { serviceRef: { name: "echo" } }),
        resourceObject("Plugin", "limits", limits),
        resourceObject("Plugin", "guard", { plugin: "key-auth", targetRefs: [{ kind: "Route", name: "guarded" }] }),
        ...consumerObjects("friend", "friends-key"),
      );
      await suite.programmed("gwroute/echo", "gwroute/limited", "gwroute/guarded", "gwplugin/guard");
    });

    test("the acknowledged document is saved in parts of bounded size, without a readable password or key", async () => {
      const kept = await waitFor(async () => ((await manifest()).hash === (await hash()) ? manifest() : undefined), {
        what: "the document to be saved",
      });
      const { items } = JSON.parse(await kubectl(["get", "configmaps", "-l", "sluice.dev/part-of", "-o", "json"]));
      const parts = items as readonly {
        readonly metadata: { name: string };
        readonly binaryData: { content: string };
      }[];
      const names = parts.map(({ metadata }) => metadata.name.replace("sluice-operator-document-", "")).sort();
      assert.deepEqual(names, [...kept.parts].sort(), "no unused part remains");
      const all = Buffer.concat(parts.map(({ binaryData }) => Buffer.from(binaryData.content, "base64"))).toString(
        "latin1",
      );
      for (const secret of [password, "friends-key", "guarded"]) assert.ok(!all.includes(secret), secret);
      assert.ok(parts.every(({ binaryData }) => binaryData.content.length < 1_400_000));
    });

    test("a replaced encryption key is used without a restart, and all data is encrypted again", async () => {
      const before = (await manifest()).parts;
      const secret = JSON.parse(await kubectl(["get", "secret", "sluice-operator-document", "-o", "json"]));
      const data = JSON.stringify({ data: { key: Buffer.alloc(32, 7).toString("base64") } });
      await kubectl(["patch", "secret", "sluice-operator-document", "--type=merge", "-p", data]);
      await waitFor(async () => (await manifest()).parts.every((part) => !before.includes(part)), {
        what: "all parts to be replaced",
        timeout: 20_000,
      });
      assert.notEqual(secret.data.key, JSON.parse(data).data.key);
    });

    test("a route and a key-auth that became invalid while no operator ran are served in their last valid version, as their conditions report", async () => {
      await suite.kill9("operator");
      await suite.kill9("gateway-2");
      const patch = (name: string, spec: object) =>
        kubectl(["patch", name, "--type=merge", "-p", JSON.stringify({ spec })]);
      await patch("gwplugin/guard", { config: { key_names: 7 } });
      await patch("gwroute/limited", { paths: ["~/(unclosed"] });
      await suite.start("gateway-2");
      await beginOperator();
      await waitFor(async () => (await getUrl(`http://${chosen.status2}/status/ready`)).status === 200, {
        what: "the node to have the document",
        timeout: 20_000,
      });
      for (const node of nodes) {
        assert.equal((await getUrl(`${node}/limited`)).status, 200);
        assert.equal((await getUrl(`${node}/guarded`)).status, 401);
        assert.equal((await getUrl(`${node}/guarded`, { apikey: "friends-key" })).status, 200);
      }
      for (const name of ["gwplugin/guard", "gwroute/limited"]) {
        const said = await waitFor(async () => /^False .*/.exec(await suite.condition(name, "Accepted"))?.[0], {
          what: `the condition of ${name}`,
        });
        assert.match(
          said,
          /^False Invalid .*; its last valid version, generation 1, is served until a valid one replaces it/,
        );
      }
    });

    test("a node that starts while operator and API server are stopped serves its last document", async () => {
      const env = { SLUICE_KEPT_DOCUMENT: file, SLUICE_KEPT_DOCUMENT_WAIT: "500ms" };
      await suite.kill9("gateway-2");
      await suite.start("gateway-2", env);
      const ready = async () => (await getUrl(`http://${chosen.status2}/status/ready`)).status === 200;
      await waitFor(ready, { what: "the node to have the document", timeout: 20_000 });
      await suite.apply(routeObject("late", { serviceRef: { name: "echo" } }));
      await waitFor(async () => (await getUrl(`${nodes[1]}/late`)).status === 200, {
        what: "the changed route to be served",
      });
      await waitFor(() => statSync(file).size > 0, { what: "the saved document to contain the change" });
      assert.equal(statSync(file).mode & 0o777, 0o600);
      await suite.kill9("operator");
      await suite.plane.stop();
      await suite.kill9("gateway-2");
      await suite.start("gateway-2", env);
      await waitFor(ready, { what: "the node to serve its saved document", timeout: 20_000 });
      assert.equal((await getUrl(`${nodes[1]}/late`)).status, 200);
      assert.equal((await getUrl(`${nodes[1]}/guarded`)).status, 401);
      assert.equal((await getUrl(`${nodes[1]}/guarded`, { apikey: "friends-key" })).status, 200);
      const { sluice } = (await getUrl(`http://${chosen.status2}/status`)).body as { sluice: { trouble: string } };
      assert.match(sluice.trouble, /no operator has pushed since the start/);
    });
  });
}
