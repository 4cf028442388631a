/** Connections that are not HTTP, on ports of the document: TLS is passed through, or ends at the gateway. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { before, describe, it, type TestContext } from "node:test";
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { DocumentListener, Service, SnapshotRoute } from "@sluice/model";
import { routeNamed, serviceNamed } from "../../../gateway/src/compile/testing-entities.ts";
import type { StreamRecord } from "../../../gateway/src/proxy/streams/stream-record.ts";
import { freePort } from "../../../tools/process/index.ts";
import { makeAuthority, type TestAuthority } from "../../../tools/programs/certificates.ts";
import { dial } from "./client.ts";
import { type Engine, listen, portOf, type Rig, type RigOptions, startRig } from "./proxy-rig.ts";

type Protocol = DocumentListener["protocol"];

/** Both sides of a connection. */
interface Pair {
  readonly client: TLSSocket;
  readonly upstream: Socket;
}

/** The text that a socket receives until the peer ends its side. The socket stays writable. */
const textFrom = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let text = "";
    const end = () => resolve(text);
    socket
      .on("data", (piece: Buffer) => (text += piece))
      .once("end", end)
      .once("close", end);
  });

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

export function streamSuite(engine: Engine): void {
  describe(`connections that are not HTTP: the ${engine.name} engine`, { timeout: 20_000 }, () => {
    let authority: TestAuthority;
    before(async () => {
      authority = await makeAuthority();
    });
    const issue = (name: string, sans: readonly string[]) => authority.issue({ name, sans, usage: "server" });

    /** A TLS server that sends its own name and the server name, and ends the connection. */
    async function backend(test: TestContext, name: string): Promise<Service> {
      const { certificate: cert, key } = await issue(name, ["a.example", "*.a.example", "*.b.a.example", "b.example"]);
      const server = createTlsServer({ cert, key }, (socket) =>
        socket.on("error", () => {}).end(`${name} ${socket.servername}`),
      );
      return serviceNamed(name, { port: portOf(await listen(test, server)) });
    }

    /** A server without TLS, and the connections that it gets. */
    async function plainBackend(test: TestContext, members: Partial<Service> = {}) {
      const sockets: Socket[] = [];
      const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
        sockets.push(socket.on("error", () => {}));
      });
      const service = serviceNamed("plain", { port: portOf(await listen(test, server)), ...members });
      const next = async (): Promise<Socket> => {
        if (sockets.length === 0) await once(server, "connection");
        return sockets.shift() as Socket;
      };
      return { service, next };
    }

    const listenerAt = (name: string, port: number, protocol: Protocol, hostname?: string): DocumentListener => ({
      ...{ name, port, public_port: 443, protocol },
      ...(hostname && { hostname }),
    });

    const routeOf = (
      protocol: "tls" | "tls_passthrough",
      service: Service | null,
      members: Partial<SnapshotRoute> = {},
    ): Partial<SnapshotRoute> => ({
      ...{ protocols: [protocol], paths: null, service: service && { id: service.id } },
      ...members,
      _sluice: { listeners: ["l"], ...members._sluice },
    });

    /** A rig with an open port and the records of its connections. */
    async function startStreams(
      test: TestContext,
      options: Omit<RigOptions, "listeners"> & {
        readonly protocol: Protocol;
        readonly more?: readonly DocumentListener[];
        readonly port?: number;
      },
    ) {
      const { protocol, more = [], port = await freePort(), ...rest } = options;
      const listeners = [listenerAt("l", port, protocol), ...more];
      const records: StreamRecord[] = [];
      const observer = { streamed: (record: StreamRecord) => void records.push(record) };
      const certificates = { l: await issue("l", ["a.example"]) };
      const rig = await startRig(test, engine, { listenerCertificates: certificates, observer, ...rest, listeners });
      assert.deepEqual(await openPort(rig, port), []);
      return { rig, port, records };
    }

    const openPort = (rig: Rig, port: number) => rig.proxy.openPorts([{ port, protocol: "https" }]);

    function dialTls(test: TestContext, port: number, servername: string): TLSSocket {
      const socket = connectTls({
        ...{ host: "127.0.0.1", port, servername, allowHalfOpen: true },
        ...{ ca: authority.certificate, ALPNProtocols: ["h2"] },
      });
      socket.on("error", () => {});
      test.after(() => socket.destroy());
      return socket;
    }

    /** The text that a TLS client receives; "closed" if the handshake does not succeed. */
    async function answerFor(test: TestContext, port: number, servername: string): Promise<string> {
      const socket = dialTls(test, port, servername);
      const secure = await new Promise((resolve) => {
        socket.once("secureConnect", () => resolve(true)).once("close", () => resolve(false));
      });
      if (!secure) return "closed";
      const answer = await textFrom(socket);
      socket.end();
      return answer;
    }

    async function join(test: TestContext, port: number, next: () => Promise<Socket>): Promise<Pair> {
      const client = dialTls(test, port, "a.example");
      const [upstream] = await Promise.all([next(), once(client, "secureConnect")]);
      return { client, upstream };
    }

    it("passes TLS through to the backend of the most specific server name, beside HTTPS on the same port", async (test) => {
      const port = await freePort();
      const [one, two] = [await backend(test, "one"), await backend(test, "two")];
      const [any, own] = [await backend(test, "any"), await backend(test, "own")];
      const { records } = await startStreams(test, {
        protocol: "tls_passthrough",
        port,
        upstream: (_request, response) => void response.end("http"),
        more: [
          listenerAt("own", port, "tls_passthrough", "own.a.example"),
          listenerAt("web", port, "https", "web.a.example"),
        ],
        services: [one, two, any, own],
        routes: {
          exact: routeOf("tls_passthrough", one, { hosts: ["a.example"] }),
          wild: routeOf("tls_passthrough", any, { hosts: ["*.a.example"] }),
          deep: routeOf("tls_passthrough", two, { hosts: ["*.b.a.example"] }),
          own: routeOf("tls_passthrough", own, { hosts: ["*.a.example"], _sluice: { listeners: ["own"] } }),
          other: routeOf("tls", one, { hosts: ["b.example"] }),
          web: { _sluice: { listeners: ["web"], priority: 1 } },
        },
        listenerCertificates: { web: await issue("web", ["web.a.example"]) },
      });
      for (const [name, expected] of [
        ["a.example", "one a.example"],
        ["c.a.example", "any c.a.example"],
        ["x.b.a.example", "two x.b.a.example"],
        ["own.a.example", "own own.a.example"],
        ["b.example", "closed"],
        ["unknown.example", "closed"],
        ["", "closed"],
      ] as const)
        assert.equal(await answerFor(test, port, name), expected, name);
      const web = connectTls({ host: "127.0.0.1", port, servername: "web.a.example", ca: authority.certificate });
      test.after(() => web.destroy());
      web.write("GET / HTTP/1.1\r\nHost: web.a.example\r\nConnection: close\r\n\r\n");
      assert.match(await textFrom(web), /\r\n\r\nhttp$/);
      await until(() => records.length === 7);
      const first = records.find(({ serverName }) => serverName === "a.example");
      assert.deepEqual(
        [
          first?.protocol,
          first?.serverName,
          first?.route?.name,
          first?.service?.name,
          first?.attempts.length,
          first?.fault,
        ],
        ["tls_passthrough", "a.example", "exact", "one", 1, null],
      );
      assert.ok(first && first.bytesIn > 200 && first.bytesOut > 500, `${first?.bytesIn} ${first?.bytesOut}`);
      assert.deepEqual(
        records.flatMap(({ serverName, route, fault }) => (fault === null ? [] : [[serverName, route, fault]])),
        ["b.example", "unknown.example", null].map((name) => [name, null, "noRoute"]),
      );
    });

    it("ends TLS without ALPN, and forwards the bytes of both directions after either side has ended its own", async (test) => {
      const { service, next } = await plainBackend(test);
      const routes = { r: routeOf("tls", service, { hosts: ["a.example"] }) };
      const { port, rig } = await startStreams(test, { protocol: "tls", services: [service], routes });
      const { client, upstream } = await join(test, port, next);
      assert.equal(client.alpnProtocol, false);
      assert.equal(rig.proxy.connections().active, 1);
      client.end("question");
      assert.equal(await textFrom(upstream), "question");
      upstream.end("answer");
      assert.equal(await textFrom(client), "answer");
      const other = await join(test, port, next);
      other.upstream.end("first");
      assert.equal(await textFrom(other.client), "first");
      other.client.end("second");
      assert.equal(await textFrom(other.upstream), "second");
    });

    it("forwards megabytes to a slow reader, and holds no memory for them afterwards", async (test) => {
      const { service, next } = await plainBackend(test);
      const routes = { r: routeOf("tls", service) };
      const { port, rig, records } = await startStreams(test, { protocol: "tls", services: [service], routes });
      const { client, upstream } = await join(test, port, next);
      const size = 16 * 1024 * 1024;
      client.end(Buffer.alloc(size, 7));
      // The upstream reads nothing until the gateway has stopped to read from the client.
      await until(() => rig.proxy.memory() > 0);
      assert.ok(rig.proxy.memory() < size / 8, `${rig.proxy.memory()}`);
      let got = 0;
      for await (const piece of upstream) got += (piece as Buffer).length;
      assert.equal(got, size);
      upstream.end();
      await textFrom(client);
      await until(() => records.length === 1);
      assert.equal(rig.proxy.memory(), 0);
    });

    it("closes connections of a route that cannot be served, and logs why", async (test) => {
      const { service } = await plainBackend(test);
      const [down, disabled] = [
        serviceNamed("down", { port: await freePort(), retries: 1 }),
        serviceNamed("disabled", { enabled: false }),
      ];
      const { rig, port, records } = await startStreams(test, {
        protocol: "tls",
        services: [service, down, disabled],
        routes: {
          none: routeOf("tls", null, { hosts: ["none.example"] }),
          closed: routeOf("tls", service, { hosts: ["closed.example"], _sluice: { unavailable: "it is invalid" } }),
          refused: routeOf("tls", service, { hosts: ["refused.example"], _sluice: { refused_percentage: 100 } }),
          disabled: routeOf("tls", disabled, { hosts: ["disabled.example"] }),
        },
      });
      for (const name of ["none", "closed", "refused", "disabled"])
        assert.equal(await answerFor(test, port, `${name}.example`), "closed");
      assert.deepEqual(
        records.map(({ route, fault }) => [route?.name, fault]),
        [
          ["none", "noService"],
          ["closed", "closed"],
          ["refused", "noService"],
          ["disabled", "noService"],
        ],
      );
      assert.deepEqual(
        rig.log.map(({ details }) => (details as { readonly reason?: string }).reason),
        [
          "the route has no service",
          "it is invalid",
          "100 % of the connections are for backends that cannot be used",
          "the service of the route is disabled or missing",
        ],
      );
      await rig.swap({
        listeners: [listenerAt("l", port, "tls")],
        services: [down],
        routes: { down: routeOf("tls", down) },
        listenerCertificates: { l: await issue("l", ["a.example"]) },
      });
      const client = dialTls(test, port, "a.example");
      await textFrom(client);
      const last = records.at(-1);
      assert.deepEqual([last?.fault, last?.attempts.length], ["badUpstream", 2]);
    });

    for (const [says, members, expected] of [
      ["a plugin of the route that protects", "route", "closed"],
      ["a plugin without a route that names the protocol", "protocol", "closed"],
      ["a plugin without a route for HTTP", "global", "plain a.example"],
    ] as const)
      it(`does not serve a route without its protection: ${says}`, async (test) => {
        const service = await backend(test, "plain");
        const routes = { r: routeOf("tls_passthrough", service) };
        const { rig, port } = await startStreams(test, { protocol: "tls_passthrough", services: [service], routes });
        const pluginMembers =
          members === "route"
            ? { route: { id: routeNamed("r", {}).id } }
            : members === "protocol"
              ? { protocols: ["tls_passthrough" as const] }
              : {};
        await rig.swap({
          ...{ listeners: [listenerAt("l", port, "tls_passthrough")], services: [service], routes },
          ...{ plugins: { "key-auth": {} }, pluginMembers },
        });
        assert.equal(await answerFor(test, port, "a.example"), expected);
      });

    it("secures the connection to the target of a service with the protocol https, without ALPN", async (test) => {
      const { certificate: cert, key } = await issue("secure", ["a.example"]);
      const server = createTlsServer({ cert, key, ALPNProtocols: ["http/1.1"] }, (socket) =>
        socket.on("error", () => {}).end(`protocol ${socket.alpnProtocol}`),
      );
      const members = { port: portOf(await listen(test, server)), protocol: "https", tls_verify: false } as const;
      const service = serviceNamed("secure", members);
      const routes = { r: routeOf("tls", service) };
      const { port } = await startStreams(test, { protocol: "tls", services: [service], routes });
      assert.equal(await answerFor(test, port, "a.example"), "protocol false");
    });

    it("closes a connection before it reaches the backend if the listener requires a certificate of the client", async (test) => {
      const { service, next } = await plainBackend(test);
      const port = await freePort();
      const client_validation = { mode: "required", trusted_certificates: authority.certificate } as const;
      const strict = { ...listenerAt("strict", port, "tls", "strict.example"), client_validation };
      const routes = {
        r: routeOf("tls", service),
        strict: routeOf("tls", service, { _sluice: { listeners: ["strict"] } }),
      };
      const certificates = await issue("strict", ["strict.example", "a.example"]);
      const { records } = await startStreams(test, {
        ...{ protocol: "tls", port, more: [strict], services: [service], routes },
        listenerCertificates: { l: certificates, strict: certificates },
      });
      assert.equal(await answerFor(test, port, "strict.example"), "");
      const { client, upstream } = await join(test, port, next);
      upstream.end("open");
      assert.equal(await textFrom(client), "open");
      client.end();
      await until(() => records.length > 0);
      assert.deepEqual(
        records.map(({ serverName }) => serverName),
        ["a.example"],
      );
    });

    it("tries the next target if a target cannot be reached", async (test) => {
      const { service, next } = await plainBackend(test);
      const dead = await freePort();
      const { port, records } = await startStreams(test, {
        protocol: "tls",
        upstream: service.port,
        pool: { targets: { [`127.0.0.1:${dead}`]: 1, [`127.0.0.1:${service.port}`]: 1 } },
        routes: { r: { ...routeOf("tls", null), service: { id: serviceNamed("upstream").id } } },
      });
      for (let at = 0; at < 2; at++) {
        const { client, upstream } = await join(test, port, next);
        upstream.end();
        client.end();
        await textFrom(client);
      }
      await until(() => records.length === 2);
      assert.deepEqual(records.map(({ attempts, fault }) => `${attempts.length} ${fault}`).toSorted(), [
        "1 null",
        "2 null",
      ]);
    });

    it("limits the time of a ClientHello and of silence, and the size of a ClientHello", async (test) => {
      const { service, next } = await plainBackend(test, { read_timeout: 100 });
      const routes = { r: routeOf("tls", service) };
      const settings = { handshakeTimeout: 150 };
      const { port, rig } = await startStreams(test, { protocol: "tls", services: [service], routes, settings });
      const slow = await dial(test, port);
      slow.write(Buffer.from([22, 3, 1, 2, 0, 1]));
      await textFrom(slow);
      const large = await dial(test, port);
      large.write(Buffer.concat([Buffer.from([22, 3, 1, 255, 255, 1, 0, 255, 250]), Buffer.alloc(33_000)]));
      await textFrom(large);
      const { client } = await join(test, port, next);
      await textFrom(client);
      await until(() => rig.proxy.connections().active === 0);
    });

    it("keeps connections on a closed port until the drain time ends, and cuts them at the deadline of a shutdown", async (test) => {
      const { service, next } = await plainBackend(test);
      const routes = { r: routeOf("tls", service) };
      const settings = { drain: 300 };
      const { port, rig } = await startStreams(test, { protocol: "tls", services: [service], routes, settings });
      const first = await join(test, port, next);
      await rig.proxy.openPorts([]);
      first.client.write("more");
      assert.equal(String((await once(first.upstream, "data"))[0]), "more");
      await textFrom(first.client);
      await openPort(rig, port);
      const second = await join(test, port, next);
      const closed = textFrom(second.client);
      await rig.proxy.close({ deadline: 50 });
      await closed;
    });
  });
}
