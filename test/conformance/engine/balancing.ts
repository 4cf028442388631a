/** Services whose host is the name of an upstream: the selected target, and the Host header that it receives. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createTlsServer } from "node:https";
import { describe, it, type TestContext } from "node:test";
import { certificateNamed } from "../../../gateway/src/compile/testing-entities.ts";
import { freePort } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { dial, receiveUntil, sendRequest } from "./client.ts";
import { becomes, letters, type Serve, startPool, weighted } from "./pool.ts";
import { type Engine, listen, portOf, type Rig, type RigOptions, startRig, startUpstream } from "./proxy-rig.ts";

const NO_PEER = "failure to get a peer from the ring-balancer";
const HANDSHAKE = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

const loads = ({ balancer }: Rig): readonly number[] => balancer().entries.map(({ member }) => member.inFlight);

export function balancingSuite(engine: Engine): void {
  /** Starts `count` servers, and a rig whose upstream has them as targets. */
  async function startBalanced(
    test: TestContext,
    { count, serve, weights, upstream, ...options }: BalancedOptions & Omit<RigOptions, "upstream" | "pool">,
  ) {
    const servers = await startPool(test, count, serve);
    const pool = { upstream, targets: weighted(servers, weights) };
    return { rig: await startRig(test, engine, { ...options, pool }), servers };
  }

  describe(`balancing: the ${engine.name} engine`, () => {
    it("uses targets in turn by their weights, and never a target with weight 0", async (test) => {
      const { rig, servers } = await startBalanced(test, { count: 4, weights: [3, 1, 1, 0] });
      assert.equal(await letters(rig.port, 10), "abacaabaca");
      await rig.swap({ pool: { targets: weighted(servers, [0, 1, 1, 0]) } });
      assert.equal(await letters(rig.port, 4), "bcbc");
    });

    it("answers 503 when there is no target, or only a target with weight 0", async (test) => {
      for (const targets of [[], [["127.0.0.1:1", 0]]]) {
        const pool = { targets: Object.fromEntries(targets) };
        const { port } = await startRig(test, engine, { pool });
        const { status, body } = await sendRequest(port, { headers: { Accept: "application/json" } });
        assert.deepEqual([status, JSON.parse(body).message], [503, NO_PEER]);
      }
    });

    it("sends as Host the target's name, the upstream's host_header or the client's Host", async (test) => {
      const serve: Serve = () => (request, response) => response.end(request.headers.host);
      const { rig, servers } = await startBalanced(test, { count: 1, serve });
      const [address = "", port = ""] = [servers[0]?.address, String(servers[0]?.port)];
      const pool = { targets: { [address]: 1 } };
      const given = (host_header: string) => ({ pool: { ...pool, upstream: { host_header } } });
      assert.equal((await sendRequest(rig.port)).body, address);
      await rig.swap(given("named.example"));
      assert.equal((await sendRequest(rig.port)).body, `named.example:${port}`);
      await rig.swap(given("named.example:81"));
      assert.equal((await sendRequest(rig.port)).body, "named.example:81");
      await rig.swap({ ...given("named.example"), route: { preserve_host: true } });
      assert.equal((await sendRequest(rig.port, { headers: { Host: "client.example" } })).body, "client.example");
    });

    it("tries another target when a target fails or its name does not resolve", async (test) => {
      const live = await startUpstream(test, (_request, response) => response.end("ok"));
      const targets = {
        "sluice-test.invalid:80": 100,
        [`127.0.0.1:${await freePort()}`]: 100,
        [`127.0.0.1:${portOf(live)}`]: 100,
      };
      const rig = await startRig(test, engine, { pool: { targets }, service: { retries: 2 } });
      assert.equal(await letters(rig.port, 6), "okokokokokok");
      assert.equal((await sendRequest(rig.port, { method: "POST", body: "x" })).body, "ok");
      assert.deepEqual(loads(rig), [0, 0, 0]);
    });

    it("with least-connections, sends the next request to the least busy target", async (test) => {
      const held = { a: Promise.withResolvers<void>() };
      const serve: Serve = (letter) => (request, response) => {
        if (request.url === "/slow") held.a.promise.then(() => response.end(letter));
        else response.end(letter);
      };
      const { rig } = await startBalanced(test, { count: 2, serve, upstream: { algorithm: "least-connections" } });
      const slow = sendRequest(rig.port, { path: "/slow" });
      await becomes(() => loads(rig)[0] === 1);
      assert.equal(await letters(rig.port, 4), "bbbb");
      held.a.resolve();
      assert.equal((await slow).body, "a");
      assert.deepEqual(loads(rig), [0, 0]);
    });

    it("sends requests with equal hashed values to one target as long as it exists", async (test) => {
      const upstream = { algorithm: "consistent-hashing", hash_on: "header", hash_on_header: "X-User" };
      const { rig, servers } = await startBalanced(test, { count: 4, upstream });
      const users = Array.from({ length: 40 }, (_, at) => `user-${at}`);
      const homes = async () => {
        const found: string[] = [];
        for (const user of users) found.push((await sendRequest(rig.port, { headers: { "X-User": user } })).body);
        return found;
      };
      const before = await homes();
      assert.deepEqual(await homes(), before);
      assert.equal(new Set(before).size, 4);
      await rig.swap({ pool: { upstream, targets: weighted(servers.slice(1)) } });
      for (const [at, home] of (await homes()).entries()) if (before[at] !== "a") assert.equal(home, before[at]);
    });

    it("with hash_on cookie, sends a cookie to a client without one, and recognizes the client by the cookie", async (test) => {
      const upstream = { algorithm: "consistent-hashing", hash_on: "cookie", hash_on_cookie: "home" };
      const serve: Serve = (letter) => (_request, response) => response.setHeader("Set-Cookie", "own=1").end(letter);
      const { rig } = await startBalanced(test, { count: 4, upstream, serve });
      const first = await sendRequest(rig.port);
      const [own, given = ""] = first.headers["set-cookie"] ?? [];
      assert.equal(own, "own=1");
      assert.match(given, /^home=[0-9a-f-]{36}; Path=\/; HttpOnly; SameSite=Lax$/);
      const cookie = given.split(";", 1)[0] ?? "";
      const again = await sendRequest(rig.port, { headers: { Cookie: `x=1; ${cookie}` } });
      assert.deepEqual([again.body, again.headers["set-cookie"]], [first.body, ["own=1"]]);
      assert.equal(await letters(rig.port, 5, { headers: { Cookie: cookie } }), first.body.repeat(5));
    });

    it("stops counting a request as in flight when it ends, however it ends", async (test) => {
      const serve: Serve = () => (request, response) => {
        if (request.url === "/break") response.writeHead(200, { "Content-Length": "9" }).write("half");
        if (request.url === "/break") setImmediate(() => request.socket.destroy());
        if (request.url === "/empty") response.writeHead(204).end();
        if (request.url === "/hold") response.writeHead(200).write("begun");
      };
      const service = { read_timeout: 100, retries: 1 };
      const { rig, servers } = await startBalanced(test, { count: 1, serve, service });
      servers[0]?.server.on("upgrade", ({ socket }) => {
        socket.on("error", () => {}).pipe(socket);
        socket.write("HTTP/1.1 101 OK\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
      });
      for (const [path, status] of [
        ["/break", 200],
        ["/empty", 204],
        ["/silent", 504],
      ] as const) {
        assert.equal((await sendRequest(rig.port, { path })).status, status, path);
        await becomes(() => loads(rig)[0] === 0);
      }
      const gone = await dial(test, rig.port);
      gone.write("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
      await receiveUntil(gone, "begun");
      assert.deepEqual(loads(rig), [1]);
      gone.destroy();
      await becomes(() => loads(rig)[0] === 0);
      const tunnel = await dial(test, rig.port);
      tunnel.write(HANDSHAKE);
      await receiveUntil(tunnel, "hello");
      assert.deepEqual(loads(rig), [1]);
      tunnel.destroy();
      await becomes(() => loads(rig)[0] === 0);
      await servers[0]?.stop();
      assert.equal((await sendRequest(rig.port)).status, 502);
      const refused = await dial(test, rig.port);
      refused.write(HANDSHAKE);
      await Promise.all([receiveUntil(refused, "502"), once(refused, "close")]);
      assert.deepEqual(loads(rig), [0]);
    });

    it("sends an upgrade to another target when the first target fails", async (test) => {
      const { rig, servers } = await startBalanced(test, { count: 2, service: { retries: 1 } });
      await servers[0]?.stop();
      servers[1]?.server.on("upgrade", ({ socket, headers }) => {
        socket.on("error", () => {});
        socket.end(`HTTP/1.1 101 OK\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${headers.host}`);
      });
      const socket = await dial(test, rig.port);
      socket.write(HANDSHAKE);
      await receiveUntil(socket, servers[1]?.address ?? "?");
    });

    it("uses the service's client certificate, otherwise the upstream's, on separate connections", async (test) => {
      const authority = await makeAuthority();
      const [own, pool, up] = await Promise.all(
        ["own", "pool", "up"].map((name) =>
          authority.issue({ name, sans: ["localhost"], usage: name === "up" ? "server" : "client" }),
        ),
      );
      assert.ok(own && pool && up);
      const server = createTlsServer(
        { cert: up.certificate, key: up.key, ca: authority.certificate, requestCert: true },
        ({ socket }, response) => {
          response.end(
            `${(socket as { getPeerCertificate?(): { subject: { CN: string } } }).getPeerCertificate?.().subject.CN}`,
          );
        },
      );
      const targets = { [`127.0.0.1:${portOf(await listen(test, server))}`]: 1 };
      const certificates = { own, pool };
      const reference = (name: "own" | "pool") => ({ id: certificateNamed(name, certificates[name]).certificate.id });
      const service = { protocol: "https", tls_verify: false, retries: 0 } as const;
      const upstream = { client_certificate: reference("pool") };
      const rig = await startRig(test, engine, { certificates, pool: { targets }, service });
      assert.equal((await sendRequest(rig.port)).status, 502);
      await rig.swap({ certificates, pool: { targets, upstream }, service });
      assert.equal((await sendRequest(rig.port)).body, "pool");
      const both = { ...service, client_certificate: reference("own") };
      await rig.swap({ certificates, pool: { targets, upstream }, service: both });
      assert.equal((await sendRequest(rig.port)).body, "own");
    });
  });
}

interface BalancedOptions {
  readonly count: number;
  readonly serve?: Serve;
  readonly weights?: readonly number[];
  /** Members of the upstream. */
  readonly upstream?: object;
}
