/** Targets that fail and recover: passive and active health checks, and the selected targets. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { sendRequest } from "./client.ts";
import { becomes, letters, type Serve, sendUntil, startPool, weighted } from "./pool.ts";
import { type Engine, listen, portOf, type Rig, startRig } from "./proxy-rig.ts";

/** Unhealthy targets are checked every 20 ms, and one success makes a target healthy. */
const comeback = { active: { unhealthy: { interval: 0.02 }, healthy: { successes: 1 } } };
const fit = ({ balancer }: Rig): readonly boolean[] => balancer().entries.map(({ member }) => member.health.healthy);

export function healthSuite(engine: Engine): void {
  describe(`health checks: the ${engine.name} engine`, () => {
    it("moves traffic from a dead target to the other targets, and back when a check succeeds", async (test) => {
      const servers = await startPool(test, 2);
      const healthchecks = { passive: { unhealthy: { tcp_failures: 1 } }, ...comeback };
      const pool = { upstream: { healthchecks }, targets: weighted(servers) };
      const rig = await startRig(test, engine, { pool });
      assert.equal(await letters(rig.port, 4), "abab");
      await servers[0]?.stop();
      assert.equal(await letters(rig.port, 6), "bbbbbb");
      assert.deepEqual(fit(rig), [false, true]);
      await servers[0]?.restart();
      await sendUntil(rig.port, ({ body }) => body === "a");
      assert.deepEqual(fit(rig), [true, true]);
      assert.equal((await letters(rig.port, 4)).split("").toSorted().join(""), "aabb");
    });

    it("detects a dead target by checks, before a request fails", async (test) => {
      const servers = await startPool(test, 2);
      const active = { healthy: { interval: 0.02 }, unhealthy: { tcp_failures: 2 } };
      const pool = { upstream: { healthchecks: { active } }, targets: weighted(servers) };
      const rig = await startRig(test, engine, { pool, service: { retries: 0 } });
      await servers[1]?.stop();
      await becomes(() => fit(rig)[1] === false);
      assert.equal(await letters(rig.port, 4), "aaaa");
    });

    it("stops using a target that breaks new connections, but not a target that closes reused connections", async (test) => {
      const served = new WeakSet<Socket>();
      const oncePerConnection: Serve = () => (request, response) => {
        if (served.has(request.socket)) request.socket.destroy();
        else response.end("ok");
        served.add(request.socket);
      };
      const healthchecks = { passive: { unhealthy: { tcp_failures: 1 } } };
      const closing = weighted(await startPool(test, 1, oncePerConnection));
      const rig = await startRig(test, engine, { pool: { upstream: { healthchecks }, targets: closing } });
      assert.equal(await letters(rig.port, 4), "okokokok");
      assert.deepEqual(fit(rig), [true]);
      const breaking = weighted(
        await startPool(
          test,
          1,
          () =>
            ({ socket }) =>
              socket.destroy(),
        ),
      );
      await rig.swap({ pool: { upstream: { healthchecks }, targets: breaking } });
      assert.equal((await sendRequest(rig.port)).status, 503);
      assert.deepEqual(fit(rig), [false]);
    });

    it("stops using a target after consecutive error statuses", async (test) => {
      const statuses = [500, 500, 200, 500, 500, 500, 200];
      const serve: Serve = (letter) => (_request, response) => {
        response.writeHead(letter === "a" ? (statuses.shift() ?? 200) : 200).end(letter);
      };
      const servers = await startPool(test, 2, serve);
      const healthchecks = { passive: { unhealthy: { http_failures: 3 } } };
      const rig = await startRig(test, engine, { pool: { upstream: { healthchecks }, targets: weighted(servers) } });
      assert.equal(await letters(rig.port, 15), "abababababab" + "bbb");
      assert.deepEqual(statuses, [200]);
    });

    it("answers 503 when the healthy targets have too little weight", async (test) => {
      const servers = await startPool(test, 3);
      const healthchecks = { passive: { unhealthy: { timeouts: 1 } }, threshold: 40 };
      const rig = await startRig(test, engine, { pool: { upstream: { healthchecks }, targets: weighted(servers) } });
      const [a, b] = rig.balancer().entries.map(({ member }) => member.id);
      rig.balancer().setHealth(a ?? "", null, false);
      assert.equal(await letters(rig.port, 4), "bcbc");
      rig.balancer().setHealth(b ?? "", null, false);
      const { status, body } = await sendRequest(rig.port, { headers: { Accept: "application/json" } });
      assert.deepEqual([status, JSON.parse(body).message], [503, "failure to get a peer from the ring-balancer"]);
    });

    it("keeps the health of unchanged targets when other targets are added and removed", async (test) => {
      const servers = await startPool(test, 3);
      const upstream = { healthchecks: { passive: { unhealthy: { tcp_failures: 1 } } } };
      const rig = await startRig(test, engine, { pool: { upstream, targets: weighted(servers.slice(0, 2)) } });
      await servers[0]?.stop();
      assert.equal(await letters(rig.port, 2), "bb");
      await rig.swap({ pool: { upstream, targets: weighted(servers) } });
      assert.deepEqual(fit(rig), [false, true, true]);
      assert.equal(await letters(rig.port, 4), "bcbc");
    });

    it("checks with the path, the headers and the Host of the upstream's configuration", async (test) => {
      const servers = await startPool(test, 1);
      const active = {
        http_path: "/alive",
        headers: { "X-Check": ["one", "two"], "User-Agent": ["mine"] },
        healthy: { interval: 0.02 },
      };
      const upstream = { healthchecks: { active }, host_header: "pool.example" };
      await startRig(test, engine, { pool: { upstream, targets: weighted(servers) } });
      const server = servers[0]?.server;
      assert.ok(server);
      const [request] = await once(server, "request");
      const { host, "x-check": check, "user-agent": agent } = request.headers;
      const seen = [request.method, request.url, host, check, agent];
      assert.deepEqual(seen, ["GET", "/alive", `pool.example:${servers[0]?.port}`, "one, two", "mine"]);
    });

    it("checks over TLS with the configured server name, and verifies the certificate", async (test) => {
      const { certificate, key } = await (await makeAuthority()).issue({ name: "up", usage: "server" });
      const names: unknown[] = [];
      const server = createTlsServer({ cert: certificate, key }, ({ socket }, response) => {
        names.push((socket as { servername?: unknown }).servername);
        response.end();
      });
      const targets = { [`127.0.0.1:${portOf(await listen(test, server))}`]: 1 };
      const strict = { type: "https", https_sni: "up.example", healthy: { interval: 0.02 } };
      const active = { ...strict, unhealthy: { interval: 0.02, tcp_failures: 1 } };
      const rig = await startRig(test, engine, { pool: { upstream: { healthchecks: { active } }, targets } });
      await becomes(() => fit(rig)[0] === false);
      assert.deepEqual(names, []);
      const careless = { ...active, https_verify_certificate: false, healthy: { interval: 0.02, successes: 1 } };
      await rig.swap({ pool: { upstream: { healthchecks: { active: careless } }, targets } });
      await becomes(() => fit(rig)[0] === true);
      assert.equal(names[0], "up.example");
    });

    it("counts a check that times out as a failure, and a TCP check that connects as a success", async (test) => {
      const servers = await startPool(test, 1, () => () => {});
      const targets = weighted(servers);
      const active = { timeout: 0.05, healthy: { interval: 0.02 }, unhealthy: { interval: 0.02, timeouts: 1 } };
      const rig = await startRig(test, engine, { pool: { upstream: { healthchecks: { active } }, targets } });
      await becomes(() => fit(rig)[0] === false);
      const tcp = { ...active, type: "tcp", healthy: { interval: 0.02, successes: 1 } };
      await rig.swap({ pool: { upstream: { healthchecks: { active: tcp } }, targets } });
      await becomes(() => fit(rig)[0] === true);
    });

    it("sends no check to refused addresses", async (test) => {
      let asked = 0;
      const servers = await startPool(test, 1, () => (_request, response) => {
        asked++;
        response.end();
      });
      const active = { healthy: { interval: 0.02 }, unhealthy: { tcp_failures: 2 } };
      const localhost = { [`localhost:${servers[0]?.port}`]: 1 };
      for (const targets of [weighted(servers), localhost]) {
        const pool = { upstream: { healthchecks: { active } }, targets };
        const rig = await startRig(test, engine, { pool, settings: { allowedUpstreams: [] } });
        await becomes(() => fit(rig)[0] === false);
      }
      assert.equal(asked, 0);
    });
  });
}
