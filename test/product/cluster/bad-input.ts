/** Bad input on a real API server: kubectl shows the errors, and valid resources work. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import type { Condition, SluiceKind } from "@sluice/crds";
import { freePort, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { provesBadInput } from "../bad-input.ts";
import { getUrl, type NamedUpstream, startNamedUpstream } from "../client.ts";
import { routeObject, serviceObject } from "../resources.ts";
import type { Suite } from "./suite.ts";

export function clusterBadInputSuite(suite: Suite): void {
  describe("bad input", () => {
    let upstream: NamedUpstream;
    const { chosen, shown } = suite;
    const { kubectl } = suite.plane;
    const nodes = [`http://${chosen.proxy}`, `http://${chosen.proxy2}`] as const;
    const echo = { serviceRef: { name: "echo" } };
    before(async () => {
      upstream = await startNamedUpstream("echo");
      await suite.apply(serviceObject("echo", upstream.port), routeObject("echo"));
      await suite.programmed("gwroute/echo");
    });
    after(async () => {
      await upstream?.close();
      // The last test gives the operator another way to the API server, which ends with the test.
      await suite.part("operator").stop();
      await suite.start("operator");
      await suite.clear();
    });

    async function conditions(kind: SluiceKind, name: string): Promise<readonly Condition[]> {
      const text = await kubectl(["get", `gw${kind === "Service" ? "svc" : kind.toLowerCase()}`, name, "-o", "json"]);
      return JSON.parse(text).status?.conditions ?? [];
    }

    provesBadInput({ nodes, put: suite.apply, conditions }, { refusedBySchema: true });

    test("an error becomes an Event that kubectl describe shows", async () => {
      const said = await waitFor(
        async () =>
          /Warning +ServiceNotFound .*there is no Service lost/.exec(await kubectl(["describe", "gwroute", "lost"])),
        { what: "the Event" },
      );
      assert.match(said[0], /sluice-operator/);
    });

    test("kubectl get shows which resources have errors, and why", async () => {
      const rows = await kubectl(["get", "gwroute", "-o", "wide"]);
      assert.match(rows, /^same-b .* False +False .* matches the same requests/m);
    });

    test("a missing Service is used as soon as it is created, without a change to its Route", async () => {
      await suite.apply(serviceObject("lost", upstream.port));
      await suite.programmed("gwroute/lost");
      for (const node of nodes) assert.equal((await getUrl(`${node}/lost`)).status, 200);
    });

    test("while no node answers, Programmed names the nodes; Programmed becomes True when a node is back", async () => {
      await Promise.all([suite.kill9("gateway-1"), suite.kill9("gateway-2")]);
      await suite.apply(routeObject("waiting", echo));
      const condition = async () => (await suite.condition("gwroute/waiting", "Programmed")) || undefined;
      const said = await waitFor(condition, { what: "the condition Programmed to be written" });
      assert.match(said, /^Unknown Pending /);
      for (const node of [chosen.push, chosen.push2]) assert.ok(said.includes(node), said);
      await suite.start("gateway-1");
      await suite.programmed("gwroute/waiting");
      assert.equal((await getUrl(`${nodes[0]}/waiting`)).status, 200);
    });

    test("the response to an admin write names the node that is down", async () => {
      const silent = async () => {
        const { body } = await getUrl(`http://${chosen.operator}/status`);
        return (body as { silent: string[] }).silent.length === 1;
      };
      await waitFor(silent, { what: "the operator to report the second node as silent" });
      const form = new URLSearchParams({ name: "one-down", "paths[]": "/one-down" });
      const answer = await fetch(`http://${chosen.admin}/services/echo/routes`, { method: "POST", body: form });
      assert.deepEqual(
        [answer.status, answer.headers.get("x-sluice-programmed"), answer.headers.get("x-sluice-silent")],
        [201, "true", `https://${chosen.push2}`],
      );
      await suite.start("gateway-2");
      const serves = async () => (await getUrl(`${nodes[1]}/one-down`)).status === 200;
      await waitFor(serves, { what: "the second node to answer again", timeout: 20_000 });
    });

    test("an operator whose API server cannot be reached keeps trying, logs the outage, and recovers", async () => {
      const work = temporaryFolder("unreachable");
      after(() => work.remove());
      const port = await freePort();
      const kubeconfig = `${work.path}/operator.kubeconfig`;
      const text = readFileSync(suite.kubeconfigs.operator, "utf8");
      writeFileSync(kubeconfig, text.replace(suite.plane.server, `https://127.0.0.1:${port}`), { mode: 0o600 });

      await suite.kill9("operator");
      shown.length = 0;
      await suite.apply(routeObject("meanwhile", echo));
      const operator = await suite.start("operator", { KUBECONFIG: kubeconfig });
      await waitFor(() => shown.some((line) => /^operator: .*trying again.*ECONNREFUSED/.test(line)), {
        what: "the operator to log that it cannot reach the API server",
        timeout: 20_000,
      });
      const ready = await getUrl(`http://${chosen.operator}/readyz`);
      assert.equal(ready.status, 503);
      assert.match(JSON.stringify(ready.body), /not yet read: Certificate, CACertificate, Upstream, Service, Route/);
      assert.equal((await getUrl(`http://${chosen.operator}/healthz`)).status, 200);
      // The nodes keep their document.
      for (const node of nodes) assert.equal((await getUrl(`${node}/echo`)).status, 200);

      const sockets = new Set<Socket>();
      const way = createServer((socket) => {
        const server = connect(Number(new URL(suite.plane.server).port), "127.0.0.1");
        for (const end of [socket, server]) {
          sockets.add(end);
          end.on("error", () => {}).on("close", () => sockets.delete(end));
        }
        socket.pipe(server).pipe(socket);
      }).listen(port, "127.0.0.1");
      after(() => {
        way.close();
        for (const socket of sockets) socket.destroy();
      });
      const serves = async () => (await getUrl(`${nodes[1]}/meanwhile`)).status === 200;
      await waitFor(serves, { what: "the route that was written during the outage to be served", timeout: 30_000 });
      assert.equal(operator.exit(), undefined);
      assert.equal((await getUrl(`http://${chosen.operator}/readyz`)).status, 200);
    });
  });
}
