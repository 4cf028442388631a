/** The samples on a real API server, from kubectl to a client's response. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { copySamples } from "../../../tools/start/samples.ts";
import { getUrl, queryUserApi } from "../client.ts";
import { consumerObjects } from "../resources.ts";
import type { Suite } from "./suite.ts";

export function sampleSuite(suite: Suite): void {
  describe("the samples", () => {
    after(() => suite.clear());
    const { chosen } = suite;
    const { kubectl } = suite.plane;
    const work = temporaryFolder("samples");
    after(() => work.remove());
    const samples = join(work.path, "samples");
    copySamples({
      samples: new URL("../../../crds/samples", import.meta.url).pathname,
      folder: samples,
      userApi: chosen.userApi,
    });
    const nodes = [
      ["first", chosen.proxy, chosen.status],
      ["second", chosen.proxy2, chosen.status2],
    ] as const;
    const users = "{ users { name } }";

    test("kubectl applies the samples, and every resource becomes Programmed", async () => {
      const applied = await kubectl(["apply", "-f", samples]);
      assert.equal(applied.match(/ created$/gm)?.length, 8, applied);
      for (const kind of ["gwsvc", "gwroute", "gwplugin", "gwconsumer"]) {
        const said = await kubectl(["wait", "--for=condition=Programmed", kind, "--all", "--timeout=60s"]);
        assert.match(said, /condition met/);
      }
      const all = await kubectl(["get", "sluice", "-o", "name"]);
      assert.equal(all.trim().split("\n").length, 7, all);
    });

    test("kubectl get shows the match, the Service and the state of each Route", async () => {
      const rows = (await kubectl(["get", "gwroute"])).trim().split("\n");
      assert.match(String(rows[0]), /^NAME +HOSTS +PATHS +SERVICE +ACCEPTED +PROGRAMMED +AGE$/);
      assert.match(String(rows[1]), /^users +\["\/users"\] +users +True +True +\d+s$/);
    });

    const keys = [
      ["a valid key", "demo-key", 200, { data: { users: [] } }],
      ["an invalid key", "other-key", 401, { message: "Unauthorized" }],
      ["no key", undefined, 401, { message: "No API key found in request" }],
    ] as const;
    for (const [name, proxy] of nodes) {
      for (const [what, key, status, expected] of keys) {
        test(`the ${name} node answers ${status} to a request with ${what}`, async () => {
          const answer = await queryUserApi(proxy, { query: users, ...(key ? { key } : {}) });
          const { request_id, ...body } = answer.body as Record<string, unknown>;
          assert.deepEqual([answer.status, body], [status, expected]);
          if (status === 200) return;
          assert.equal(answer.headers.get("www-authenticate"), "Key");
          assert.equal(typeof request_id, "string");
        });
      }
    }

    test("each node exports its request counts for Prometheus", async () => {
      for (const [, , status] of nodes) {
        const { body } = await getUrl(`http://${status}/metrics`);
        const count = (code: number) =>
          Number(
            new RegExp(`^sluice_http_requests_total\\{.*service="users".*code="${code}".*\\} (\\d+)$`, "m").exec(
              String(body),
            )?.[1],
          );
        assert.deepEqual([count(200) > 0, count(401) > 0], [true, true], String(body));
      }
    });

    test("the 61st request of a minute is answered 429, and the other node still answers 200", async () => {
      await suite.apply(...consumerObjects("limited", "limited-key"));
      await suite.programmed("gwconsumer/limited");
      const once = (proxy: string) => queryUserApi(proxy, { query: users, key: "limited-key" });
      await waitFor(async () => (await once(chosen.proxy2)).status === 200, { what: "the new key to work" });
      // The window is a calendar minute, and all requests must fall into the same one.
      await waitFor(() => new Date().getUTCSeconds() < 40, {
        what: "a time at least 20 s before the end of a minute",
        timeout: 21_000,
      });
      for (let count = 1; count <= 60; count++) {
        const { status, headers } = await once(chosen.proxy);
        assert.deepEqual([status, headers.get("x-ratelimit-remaining-minute")], [200, `${60 - count}`]);
      }
      const { status, headers, body } = await once(chosen.proxy);
      assert.equal(status, 429);
      assert.equal((body as { message: string }).message, "API rate limit exceeded");
      const retry = Number(headers.get("retry-after"));
      assert.ok(retry > 0 && retry <= 60, `retry after ${retry}`);
      assert.equal((await once(chosen.proxy2)).status, 200);
    });

    const connections = [
      ["in the header", `ws://${chosen.proxy}/users/graphql`, { apikey: "demo-key" }],
      ["in the query", `ws://${chosen.proxy2}/users/graphql?apikey=demo-key`, {}],
    ] as const;
    for (const [index, [where, url, headers]] of connections.entries()) {
      test(`a subscription with the key ${where} receives the user that a mutation creates`, async () => {
        class Socket extends WebSocket {
          constructor(address: string, protocols: string[]) {
            super(address, protocols, { headers });
          }
        }
        const client = createClient({ url, webSocketImpl: Socket, retryAttempts: 0, lazy: false });
        after(() => client.dispose());
        const received: unknown[] = [];
        let failed: unknown;
        const sink = {
          next: (value: unknown) => void received.push(value),
          error: (error: unknown) => {
            failed = error;
          },
          complete: () => {},
        };
        const subscription = client.subscribe({ query: "subscription { userCreated { name email } }" }, sink);
        const user = { name: `Ann ${index}`, email: `ann${index}@example.org` };
        // The protocol does not acknowledge a subscription, so users are created until one is received.
        for (let attempt = 0; received.length === 0; attempt++) {
          assert.equal(failed, undefined, String(failed));
          const email = attempt === 0 ? user.email : `${attempt}.${user.email}`;
          const query = `mutation { createUser(name: "${user.name}", email: "${email}") { name email } }`;
          const { body } = await queryUserApi(chosen.proxy, { query, key: "demo-key" });
          assert.deepEqual(body, { data: { createUser: { name: user.name, email } } });
          user.email = email;
          await waitFor(() => received.length > 0, { what: "the user to arrive", timeout: 200 }).catch(() => {});
        }
        assert.deepEqual(received[0], { data: { userCreated: user } });
        subscription();
        await client.dispose();
      });
    }

    test("a WebSocket without a key is refused before the upgrade", async () => {
      const socket = new WebSocket(`ws://${chosen.proxy}/users/graphql`, ["graphql-transport-ws"]);
      const status = await new Promise((resolve) => {
        socket.on("unexpected-response", (_request, response) => resolve(response.statusCode));
        socket.on("error", resolve);
      });
      assert.equal(status, 401);
      socket.terminate();
    });

    test("the admin listener writes a custom resource that kubectl shows and both nodes serve", async () => {
      const answer = await fetch(`http://${chosen.admin}/services/users/routes`, {
        method: "POST",
        body: new URLSearchParams([
          ["name", "people"],
          ["paths[]", "/people"],
        ]),
      });
      assert.equal(answer.status, 201);
      assert.equal(answer.headers.get("x-sluice-programmed"), "true");
      for (const [, proxy] of nodes)
        assert.equal((await queryUserApi(proxy, { query: users, key: "demo-key", path: "/people" })).status, 200);
      const columns = "custom-columns=NAME:.spec.name,PATHS:.spec.paths";
      assert.match(await kubectl(["get", "gwroute", "-o", columns]), /^people +\[\/people\]$/m);
    });

    test("a resource that kubectl deletes is removed from both nodes", async () => {
      await kubectl(["delete", "-f", samples]);
      for (const [, proxy] of nodes)
        await waitFor(async () => (await queryUserApi(proxy, { query: users, key: "demo-key" })).status === 404, {
          what: "the route to be removed",
        });
    });
  });
}
