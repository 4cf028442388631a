/** Processes of the product die and restart under constant load: no request and no configuration is lost. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connectApi } from "../../../tools/cluster/api.ts";
import { waitFor } from "../../../tools/process/index.ts";
import type { PartName } from "../../../tools/start/processes.ts";
import { getUrl, type NamedUpstream, startNamedUpstream } from "../client.ts";
import { routeObject, serviceObject } from "../resources.ts";
import { type BackgroundLoad, underLoad } from "../under-load.ts";
import type { Suite } from "./suite.ts";

export function restartSuite(suite: Suite): void {
  describe("a process of the product that dies", () => {
    after(() => suite.clear());
    const { chosen } = suite;
    const { kubectl } = suite.plane;
    const api = connectApi(suite.plane.kubeconfig);
    after(() => api.close());
    const first = `http://${chosen.proxy}`;
    const second = `http://${chosen.proxy2}`;

    let upstream: NamedUpstream;
    after(() => upstream?.close());
    before(async () => {
      upstream = await startNamedUpstream("echo");
      await suite.apply(serviceObject("echo", upstream.port), routeObject("echo"));
      await suite.programmed("gwroute/echo");
    });

    const serves = async (path: string) => {
      const answers = await Promise.all([first, second].map((node) => getUrl(`${node}${path}`)));
      return answers.every(({ status }) => status === 200);
    };
    const isServed = (path: string) =>
      waitFor(() => serves(path), { what: `both nodes to serve ${path}`, timeout: 20_000 });

    function nothingLost(loads: Readonly<Record<string, BackgroundLoad>>): void {
      for (const [url, { answered, failures }] of Object.entries(loads)) {
        assert.deepEqual(failures.slice(0, 5), [], `${failures.length} of ${answered} requests to ${url} failed`);
        assert.ok(answered > 50, `only ${answered} requests to ${url}`);
      }
    }

    const bothUnderLoad = (work: () => Promise<unknown>) => underLoad([`${first}/echo`, `${second}/echo`], work);

    async function restarted(part: PartName): Promise<void> {
      const process = await suite.start(part);
      await process.waitForOutput(/ is up"/, { timeout: 20_000 });
    }

    test("when the operator is killed with SIGKILL and restarted, no request is lost, and changes made in the meantime are served", async () => {
      const loads = await bothUnderLoad(async () => {
        await suite.kill9("operator");
        await suite.apply(routeObject("added", { serviceRef: { name: "echo" } }));
        assert.equal((await getUrl(`${first}/added`)).status, 404);
        await restarted("operator");
        await isServed("/added");
        await suite.programmed("gwroute/added", "gwroute/echo", "gwsvc/echo");
      });
      nothingLost(loads);
    });

    test("a route deleted while the operator was down is removed afterwards, and no other route is removed", async () => {
      const loads = await bothUnderLoad(async () => {
        await suite.kill9("operator");
        await kubectl(["delete", "gwroute", "added"]);
        await restarted("operator");
        await waitFor(async () => (await getUrl(`${second}/added`)).status === 404, {
          what: "the route to be removed",
        });
      });
      nothingLost(loads);
    });

    test("when the API server restarts, no request is lost, and later changes take effect", async () => {
      const loads = await bothUnderLoad(async () => {
        await suite.plane.restartApiServer();
        await suite.apply(routeObject("after-restart", { serviceRef: { name: "echo" } }));
        await isServed("/after-restart");
        await suite.programmed("gwroute/after-restart");
      });
      nothingLost(loads);
    });

    test("after SIGKILL and a restart, a node has its document before it is ready, and the other node loses no request", async () => {
      const loads = await underLoad([`${first}/echo`], async () => {
        await suite.kill9("gateway-2");
        await suite.apply(routeObject("without-second", { serviceRef: { name: "echo" } }));
        await suite.programmed("gwroute/without-second");
        await suite.start("gateway-2");
        await waitFor(
          async () => {
            const { status } = await getUrl(`http://${chosen.status2}/status/ready`);
            if (status !== 200) return false;
            // As soon as the node is ready, it also serves changes made while it was down.
            assert.equal((await getUrl(`${second}/without-second`)).status, 200);
            return true;
          },
          { what: "the second node to be ready", timeout: 20_000 },
        );
      });
      nothingLost(loads);
    });

    test("a node that starts without an operator is not ready until an operator runs", async () => {
      await suite.kill9("operator");
      await suite.kill9("gateway-2");
      await suite.start("gateway-2");
      const ready = () => getUrl(`http://${chosen.status2}/status/ready`);
      const { status, body } = await waitFor(ready, { what: "the status listener to answer" });
      assert.equal(status, 503);
      assert.match((body as { message: string }).message, /^no configuration available/);
      await restarted("operator");
      await waitFor(async () => (await ready()).status === 200, { what: "the node to be ready", timeout: 20_000 });
    });

    test("while a route is edited 50 times under load, no request fails, and both nodes serve the last edit", async () => {
      const loads = await bothUnderLoad(async () => {
        const path = "/apis/sluice.dev/v1alpha1/namespaces/default/routes/echo";
        for (let edit = 1; edit <= 50; edit++) {
          const body = { spec: { paths: ["/echo", `/edit-${edit}`] } };
          const { status } = await api.ask({
            method: "PATCH",
            path,
            body,
            contentType: "application/merge-patch+json",
          });
          assert.equal(status, 200);
          await isServed(`/edit-${edit}`);
        }
      });
      nothingLost(loads);
      assert.equal((await getUrl(`${first}/edit-49`)).status, 404);
    });

    test("after SIGKILL and a restart, the admin listener writes as before", async () => {
      await suite.kill9("admin");
      await restarted("admin");
      const form = new URLSearchParams({ name: "by-admin", "paths[]": "/by-admin" });
      const url = `http://${chosen.admin}/services/echo/routes`;
      const post = async () => {
        const response = await fetch(url, { method: "POST", body: form });
        return response.status === 503 ? undefined : response.status;
      };
      assert.equal(await waitFor(post, { what: "the admin listener to have read its resources" }), 201);
      await isServed("/by-admin");
    });
  });
}
