/**
 * Ports of the document's listeners: opened and closed while the proxy serves, with their own routes and certificates.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { request as requestTls } from "node:https";
import type { Socket } from "node:net";
import { before, describe, it, type TestContext } from "node:test";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import type { DocumentListener, SnapshotRoute } from "@sluice/model";
import type { DocumentPort } from "../../../gateway/src/proxy/listener/document-ports.ts";
import { connectToPort, freePort } from "../../../tools/process/index.ts";
import { makeAuthority, type TestAuthority } from "../../../tools/programs/certificates.ts";
import { dial, received, receiveUntil, sendRequest, signal } from "./client.ts";
import { type Engine, listen, portOf, type Rig, startRig, startUpstream } from "./proxy-rig.ts";

const listener = (name: string, port: number, members: Partial<DocumentListener> = {}): DocumentListener => ({
  name,
  port,
  public_port: 80,
  protocol: "http",
  ...members,
});

const onListeners = (listeners: readonly string[], extras: SnapshotRoute["_sluice"] = {}): Partial<SnapshotRoute> => ({
  _sluice: { priority: 1, listeners, ...extras },
});

const open = (rig: Rig, ...listeners: readonly DocumentListener[]) =>
  rig.proxy.openPorts([...new Map(listeners.map((one) => [one.port, portFor(one)])).values()]);

const portFor = ({ port, protocol }: DocumentListener): DocumentPort => ({
  port,
  protocol: protocol === "http" ? protocol : "https",
});

/** The name of the route that serves each request, or its status if none does. */
function recordRoutes() {
  const names: string[] = [];
  return {
    observer: { opened: ({ route }: { readonly route: SnapshotRoute }) => void names.push(route.name ?? "") },
    async of(sent: Promise<{ readonly status: number }>): Promise<string | number> {
      const { status } = await sent;
      return names.splice(0).pop() ?? status;
    },
  };
}

const echo = (_request: unknown, response: ServerResponse) => void response.end("ok");
const echoPort: RequestListener = ({ headers }, response) => void response.end(headers["x-forwarded-port"]);

const refusesConnections = (port: number) => assert.rejects(connectToPort(port), { code: "ECONNREFUSED" });

export function documentListenerSuite(engine: Engine): void {
  describe(`listeners of the document: the ${engine.name} engine`, { timeout: 20_000 }, () => {
    let authority: TestAuthority;
    before(async () => {
      authority = await makeAuthority();
    });
    const issue = (name: string, sans: readonly string[]) => authority.issue({ name, sans, usage: "server" });

    it("serves only the routes of the most specific listener on a port, and no others on the node's own listener", async (test) => {
      const [one, two] = [await freePort(), await freePort()];
      const listeners = [
        listener("any", one),
        listener("wild", one, { hostname: "*.a.example" }),
        listener("exact", one, { hostname: "b.a.example" }),
        listener("two", two, { hostname: "a.example" }),
      ];
      const routes = {
        any: onListeners(["any"]),
        wild: onListeners(["wild", "gone"]),
        both: { ...onListeners(["wild", "two"]), paths: ["/both"] },
        unknown: onListeners(["gone"]),
        header: onListeners(["any"], { priority: 9, match: { headers: [{ name: "X-Beta", value: "yes" }] } }),
        query: onListeners(["any"], {
          priority: 8,
          match: { query: [{ name: "v", value: "[0-9]+", type: "regex" }] },
        }),
      };
      const { observer, of } = recordRoutes();
      const rig = await startRig(test, engine, { upstream: echoPort, listeners, routes, observer });
      assert.deepEqual(await open(rig, ...listeners), []);
      const table = [
        [rig.port, "b.a.example", "/both", "route"],
        [one, "x.example", "/", "any"],
        [one, "x.example:80", "/?v=12", "query"],
        [one, "x.example", "/?v=a", "any"],
        [one, "c.a.example", "/", "wild"],
        [one, "d.c.a.example", "/both", "both"],
        [one, "b.a.example", "/both", 404],
        [two, "a.example", "/both", "both"],
        [two, "a.example", "/", 404],
        [two, "x.example", "/both", 404],
      ] as const;
      for (const [port, host, path, expected] of table)
        assert.equal(
          await of(sendRequest(port, { path, headers: { Host: host } })),
          expected,
          `${port} ${host} ${path}`,
        );
      assert.equal((await sendRequest(one, { headers: { Host: "x" } })).body, "80");
      assert.equal(await of(sendRequest(one, { headers: { Host: "x", "X-Beta": "yes" } })), "header");
      await rig.swap({ listeners: [], routes });
      assert.equal(await of(sendRequest(one, { headers: { Host: "x.example" } })), 404);
    });

    it("presents the certificate of the listener, and answers 421 if the host belongs to another listener", async (test) => {
      const [port, certificates] = [
        await freePort(),
        { any: await issue("any", ["x.example"]), exact: await issue("exact", ["a.example"]) },
      ];
      const listeners = [
        listener("any", port, { protocol: "https" }),
        listener("exact", port, { protocol: "https", hostname: "a.example" }),
        listener("bare", port, { protocol: "https", hostname: "bare.example" }),
      ];
      const routes = { any: onListeners(["any"]), exact: onListeners(["exact"]) };
      const { observer, of } = recordRoutes();
      const rig = await startRig(test, engine, {
        ...{ upstream: echo, listeners, routes, observer },
        certificates: { "own.example": await issue("own", ["own.example"]) },
        listenerCertificates: certificates,
      });
      assert.deepEqual(await open(rig, ...listeners), []);
      const shown = async (at: number, servername: string) => {
        const socket = connectTls({ host: "127.0.0.1", port: at, servername, rejectUnauthorized: false });
        socket.on("error", () => {});
        test.after(() => socket.destroy());
        return once(socket, "secureConnect").then(
          () => socket.getPeerX509Certificate()?.subject,
          () => "refused",
        );
      };
      assert.equal(await shown(port, "A.example"), "CN=exact");
      assert.equal(await shown(port, "own.example"), "CN=any");
      assert.equal(await shown(port, ""), "CN=any");
      assert.equal(await shown(port, "bare.example"), "refused");
      assert.equal(await shown(rig.tlsPort, "a.example"), "refused");
      assert.equal(await shown(rig.tlsPort, "own.example"), "CN=own");
      const get = (servername: string, host: string) =>
        new Promise<Awaited<ReturnType<typeof received>>>((resolve, reject) => {
          const options: ConnectionOptions = { host: "127.0.0.1", port, servername, rejectUnauthorized: false };
          requestTls({ ...options, agent: false, headers: { Host: host } }, (response) => resolve(received(response)))
            .on("error", reject)
            .end();
        });
      const table = [
        ["a.example", "a.example", "exact"],
        ["a.example", "x.example", 421],
        ["x.example", "a.example", 421],
        ["x.example", "y.example", "any"],
        ["", "x.example", "any"],
        ["", "a.example", 421],
      ] as const;
      for (const [servername, host, expected] of table)
        assert.equal(await of(get(servername, host)), expected, `${servername} ${host}`);
    });

    it("closes the connections of clients whose certificate the listener does not accept", async (test) => {
      const port = await freePort();
      const other = await makeAuthority("another authority");
      const trusted_certificates = authority.certificate;
      const secure = (name: string, mode?: "required" | "optional") =>
        listener(name, port, {
          protocol: "https",
          hostname: `${name}.example`,
          ...(mode && { client_validation: { mode, trusted_certificates } }),
        });
      const listeners = [secure("strict", "required"), secure("lax", "optional"), secure("open")];
      const server = await issue("server", ["strict.example", "lax.example", "open.example"]);
      const { observer, of } = recordRoutes();
      const rig = await startRig(test, engine, {
        ...{ upstream: echo, listeners, observer },
        routes: Object.fromEntries(listeners.map(({ name }) => [name, onListeners([name])])),
        listenerCertificates: Object.fromEntries(listeners.map(({ name }) => [name, server])),
      });
      assert.deepEqual(await open(rig, ...listeners), []);
      const client = { name: "ann", usage: "client" } as const;
      const [own, foreign] = [await authority.issue(client), await other.issue(client)];
      const intermediate = await authority.delegate("an intermediate authority");
      const alone = await intermediate.issue(client);
      const delegated = { ...alone, certificate: `${alone.certificate}\n${intermediate.certificate}` };
      const get = (host: string, more: ConnectionOptions, servername = host) =>
        new Promise<Awaited<ReturnType<typeof received>>>((resolve, reject) => {
          const to: ConnectionOptions = { host: "127.0.0.1", port, servername, rejectUnauthorized: false, ...more };
          requestTls({ ...to, agent: false, headers: { Host: host } }, (response) => resolve(received(response)))
            .on("error", reject)
            .end();
        });
      const table = [
        ["strict.example", "a certificate of the authority", own, "strict"],
        ["strict.example", "a certificate of an intermediate authority", delegated, "strict"],
        ["strict.example", "a certificate without that of its issuer", alone, "refused"],
        ["strict.example", "a certificate of another authority", foreign, "refused"],
        ["strict.example", "no certificate", null, "refused"],
        ["lax.example", "no certificate", null, "lax"],
        ["lax.example", "a certificate of another authority", foreign, "lax"],
        ["open.example", "no certificate", null, "open"],
      ] as const;
      for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const)
        for (const [host, what, pair, expected] of table) {
          const shown = pair && { cert: pair.certificate, key: pair.key };
          const result = await of(get(host, { maxVersion, ...shown })).catch(() => "refused");
          assert.equal(result, expected, `${maxVersion} ${host} with ${what}`);
        }
      assert.equal(await of(get("strict.example", {}, "open.example")), 421);
    });

    it("closes a port as at a shutdown: requests in flight are completed, idle connections closed, other ports stay", async (test) => {
      const [closing, staying] = [await freePort(), await freePort()];
      const listeners = [listener("closing", closing), listener("staying", staying)];
      const held = signal<ServerResponse>();
      const routes = { r: onListeners(["closing", "staying"]) };
      const upstream = (incoming: { readonly url?: string }, response: ServerResponse) =>
        incoming.url === "/held" ? held.fire(response) : echo(incoming, response);
      const rig = await startRig(test, engine, { upstream, listeners, routes });
      await open(rig, ...listeners);
      const answered = await dial(test, closing);
      const first = receiveUntil(answered, "ok");
      answered.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await first;
      const [busy, other] = [await dial(test, closing), await dial(test, staying)];
      const ended = once(answered.resume(), "close");
      busy.write("GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
      const response = await held.seen;
      await open(rig, listener("staying", staying));
      await ended;
      await refusesConnections(closing);
      const answer = receiveUntil(busy, "done");
      const closed = once(busy, "close");
      response.end("done");
      assert.match(await answer, /\r\nConnection: close\r\n/i);
      await closed;
      const reply = receiveUntil(other, "ok");
      other.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      assert.match(await reply, /^HTTP\/1\.1 200/);
    });

    it("cuts the connections of a closed port after the drain time, and can open the port again with TLS", async (test) => {
      const port = await freePort();
      const plain = listener("l", port);
      const asked = signal();
      const routes = { r: onListeners(["l"]) };
      const rig = await startRig(test, engine, {
        ...{ upstream: () => asked.fire(), listeners: [plain], routes },
        settings: { drain: 100 },
      });
      await open(rig, plain);
      const stuck = await dial(test, port);
      const cut = once(stuck.resume(), "close");
      stuck.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await asked.seen;
      const secure = listener("l", port, { protocol: "https" });
      const listenerCertificates = { l: await issue("l", ["a.example"]) };
      await rig.swap({ upstream: echo, listeners: [secure], listenerCertificates, routes });
      assert.deepEqual(await open(rig, secure), []);
      const socket = connectTls({ host: "127.0.0.1", port, servername: "a.example", ca: authority.certificate });
      socket.on("error", () => {});
      test.after(() => socket.destroy());
      await once(socket, "secureConnect");
      await cut;
    });

    it("keeps a tunnel on a closed port open until the drain time ends", async (test) => {
      const port = await freePort();
      const own = listener("l", port);
      const server = createServer();
      server.on("upgrade", (_request, socket: Socket) => {
        socket.on("error", () => {});
        socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        socket.pipe(socket);
      });
      const upstream = portOf(await listen(test, server));
      const rig = await startRig(test, engine, { upstream, listeners: [own], routes: { r: onListeners(["l"]) } });
      await open(rig, own);
      const tunnel = await dial(test, port);
      const agreed = receiveUntil(tunnel, "101 Switching");
      tunnel.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      await agreed;
      await open(rig);
      await refusesConnections(port);
      const echoed = receiveUntil(tunnel, "hello");
      tunnel.write("hello");
      await echoed;
    });

    it("reports a port that is in use, opens the others, and refuses upstreams that are ports of the document", async (test: TestContext) => {
      const taken = portOf(await startUpstream(test, echo));
      const port = await freePort();
      const listeners = [listener("busy", taken), listener("free", port)];
      const rig = await startRig(test, engine, {
        upstream: port,
        listeners,
        routes: { r: onListeners(["free"]) },
        settings: { allowedUpstreams: ["127.0.0.0/8"] },
      });
      assert.deepEqual(await open(rig, ...listeners), [{ port: taken, code: "EADDRINUSE" }]);
      assert.equal((await sendRequest(port)).status, 503);
    });
  });
}
