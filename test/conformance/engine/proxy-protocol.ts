/** Load balancers that begin connections with a header of the PROXY protocol. */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { Socket } from "node:net";
import { before, describe, it, type TestContext } from "node:test";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import type { DocumentListener } from "@sluice/model";
import { serviceNamed } from "../../../gateway/src/compile/testing-entities.ts";
import { headerV1, headerV2, rawV2 } from "../../../gateway/src/proxy/listener/testing-proxy-headers.ts";
import type { ProxySettings } from "../../../gateway/src/proxy/settings.ts";
import type { StreamRecord } from "../../../gateway/src/proxy/streams/stream-record.ts";
import { freePort, waitFor } from "../../../tools/process/index.ts";
import { type KeyPair, makeAuthority } from "../../../tools/programs/certificates.ts";
import { dial, receiveUntil, sendRaw } from "./client.ts";
import { requestHttp2 } from "./http2-client.ts";
import { type Engine, listen, portOf, startRig } from "./proxy-rig.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
const LAST = "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
const ipv4 = { client: "192.0.2.1", clientPort: 56_324, server: "198.51.100.2", serverPort: 8443 };
const ipv6 = { client: "2001:db8::1", clientPort: 56_324, server: "2001:db8::2", serverPort: 8443 };
const text = (header: Buffer): string => header.toString("latin1");
const V1 = text(headerV1(ipv4));
/** The client's address, the chain of proxies, and the port to which the client connected. */
const echo: RequestListener = ({ headers }, response) =>
  void response.end(`${headers["x-real-ip"]} ${headers["x-forwarded-for"]} ${headers["x-forwarded-port"]}`);
/** Tests connect from 127.0.0.1. */
const settings: Partial<ProxySettings> = { proxyProtocol: ["127.0.0.1"] };

/** What a client receives on a TLS connection that follows these bytes. */
async function sendTls(test: TestContext, port: number, first: string, servername = "a.example"): Promise<string> {
  const raw = await dial(test, port);
  raw.write(first, "latin1");
  const socket = connectTls({ socket: raw, servername, rejectUnauthorized: false });
  socket.on("error", () => {});
  test.after(() => socket.destroy());
  socket.write(LAST);
  let all = "";
  socket.on("data", (chunk: Buffer) => (all += chunk));
  await closing(socket);
  return all;
}

/** Resolves when the socket has closed, also after an error. */
const closing = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));

const listenerAt = (name: string, port: number, protocol: DocumentListener["protocol"]): DocumentListener => ({
  ...{ name, port, public_port: 443, protocol },
});

export function proxyProtocolSuite(engine: Engine): void {
  describe(`the PROXY protocol: the ${engine.name} engine`, { timeout: 20_000 }, () => {
    let pair: KeyPair;
    before(async () => {
      pair = await (await makeAuthority()).issue({ name: "a", sans: ["a.example"], usage: "server" });
    });

    for (const [what, header, seen] of [
      ["version 1", headerV1(ipv4), "192.0.2.1 192.0.2.1 8443"],
      ["version 1 with IPv6", headerV1(ipv6), "2001:db8::1 2001:db8::1 8443"],
      ["version 2 with a TLV", headerV2(ipv4, Buffer.from([4, 0, 1, 0])), "192.0.2.1 192.0.2.1 8443"],
      ["version 2 with IPv6", headerV2(ipv6), "2001:db8::1 2001:db8::1 8443"],
      ["version 1 of an unknown protocol", Buffer.from("PROXY UNKNOWN\r\n"), "127.0.0.1 127.0.0.1 PORT"],
      ["version 2 of a health check", rawV2(0x20, 0, Buffer.alloc(0)), "127.0.0.1 127.0.0.1 PORT"],
    ] as const)
      it(`makes the addresses of a header those of the connection, with and without TLS: ${what}`, async (test) => {
        const seenByPlugin: string[] = [];
        const { port, tlsPort } = await startRig(test, engine, {
          upstream: echo,
          settings,
          certificates: { "*": pair },
          plugins: { "ip-restriction": { access: ({ request }) => void seenByPlugin.push(request.clientAddress) } },
        });
        const answers = [
          [port, await sendRaw(test, port, text(header) + LAST)],
          [port, await sendInPieces(test, port, text(header) + LAST)],
          [tlsPort, await sendTls(test, tlsPort, text(header))],
        ] as const;
        for (const [at, answer] of answers)
          assert.match(answer, new RegExp(`^HTTP/1.1 200 [^]*\r\n\r\n${seen.replace("PORT", `${at}`)}$`));
        assert.deepEqual(new Set(seenByPlugin), new Set([seen.split(" ")[0]]));
      });

    async function sendInPieces(test: TestContext, port: number, bytes: string): Promise<string> {
      const socket = (await dial(test, port)).setNoDelay();
      let all = "";
      socket.on("data", (chunk: Buffer) => (all += chunk));
      for (const byte of bytes) {
        socket.write(byte, "latin1");
        await new Promise(setImmediate);
      }
      if (!socket.closed) await closing(socket);
      return all;
    }

    it("serves all requests of the connection for the client of the header", async (test) => {
      const { port } = await startRig(test, engine, { upstream: echo, settings });
      const socket = await dial(test, port);
      for (const bytes of [V1 + GET, GET]) {
        const answer = receiveUntil(socket, " 8443");
        socket.write(bytes);
        assert.match(await answer, /\r\n\r\n192\.0\.2\.1 192\.0\.2\.1 8443$/);
      }
    });

    for (const [client, seen] of [
      ["192.0.2.1", "192.0.2.1 203.0.113.9, 192.0.2.1 8443"],
      ["127.0.0.9", "203.0.113.9 203.0.113.9, 127.0.0.9 8443"],
    ] as const)
      it(`trusts headers with a client's address only if the address of the PROXY header is trusted: ${client}`, async (test) => {
        const { port } = await startRig(test, engine, {
          upstream: echo,
          settings: { ...settings, trustedIps: ["127.0.0.0/8"], realIpHeader: "x-forwarded-for" },
        });
        const request = LAST.replace("\r\n\r\n", "\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n");
        const answer = await sendRaw(test, port, text(headerV1({ ...ipv4, client })) + request);
        assert.equal(answer.split("\r\n\r\n")[1], seen);
      });

    it("refuses a header from other addresses, whose connections need none", async (test) => {
      const { port, tlsPort } = await startRig(test, engine, {
        upstream: echo,
        settings: { proxyProtocol: ["192.0.2.0/24"] },
        certificates: { "*": pair },
      });
      assert.match(await sendRaw(test, port, LAST), /\r\n\r\n127\.0\.0\.1 127\.0\.0\.1 /);
      assert.match(await sendRaw(test, port, V1 + LAST), /^HTTP\/1\.1 400 /);
      assert.match(await sendRaw(test, port, text(headerV2(ipv4)) + LAST), /^HTTP\/1\.1 400 /);
      assert.match(await sendTls(test, tlsPort, ""), /\r\n\r\n127\.0\.0\.1 127\.0\.0\.1 /);
      assert.equal(await sendTls(test, tlsPort, V1), "");
    });

    it("refuses a second header, which a client may send through a load balancer", async (test) => {
      const { port } = await startRig(test, engine, { upstream: echo, settings });
      assert.match(await sendRaw(test, port, V1 + V1 + LAST), /^HTTP\/1\.1 400 /);
    });

    it("closes a connection of a load balancer without a valid header, and logs why", async (test) => {
      const { port, tlsPort, log, proxy } = await startRig(test, engine, {
        upstream: echo,
        settings,
        certificates: { "*": pair },
      });
      assert.equal(await sendRaw(test, port, LAST), "");
      assert.equal(await sendRaw(test, port, "PROXY TCP4 192.0.2.1\r\n"), "");
      assert.equal(await sendTls(test, tlsPort, ""), "");
      assert.deepEqual(
        log.map(({ message, details }) => [message, details]),
        [
          [port, "the first bytes are no PROXY header"],
          [port, "the line of version 1 is malformed"],
        ].map(([at, reason]) => [
          "closed a connection without a valid PROXY header (SLUICE_PROXY_PROTOCOL)",
          { address: "127.0.0.1", port: at, reason },
        ]),
      );
      const { accepted, handled } = proxy.connections();
      assert.deepEqual([accepted, handled], [3, 0]);
      (await dial(test, port)).destroy();
      assert.match(await sendRaw(test, port, V1 + LAST), /^HTTP\/1\.1 200 /);
      assert.equal(log.length, 2, "a connection that its client closes at once is not logged");
    });

    for (const listener of ["port", "tlsPort"] as const)
      it(`closes a connection whose header does not arrive in time, and logs the reason (${listener})`, async (test) => {
        const { log, ...rig } = await startRig(test, engine, {
          settings: { ...settings, headersTimeout: 100, handshakeTimeout: 20 },
          certificates: { "*": pair },
        });
        assert.equal(await sendRaw(test, rig[listener], V1.slice(0, -1)), "");
        assert.match(JSON.stringify(log), /the header did not arrive in time/);
      });

    it("counts connections without a header towards the total, and others towards the client of their header", async (test) => {
      const { port, proxy } = await startRig(test, engine, {
        upstream: echo,
        settings: { ...settings, maxConnections: 3, maxConnectionsPerAddress: 1 },
      });
      const waiting = [await dial(test, port), await dial(test, port), await dial(test, port)];
      await waitFor(() => proxy.connections().accepted === 3, { what: "three connections to be accepted" });
      assert.equal(await sendRaw(test, port, V1 + LAST), "", "the limit of all connections is reached");
      const [first, second, other] = waiting as [Socket, Socket, Socket];
      const answer = receiveUntil(first, " 8443");
      first.write(V1 + GET);
      await answer;
      second.resume().write(V1 + GET);
      await closing(second);
      const otherAnswer = receiveUntil(other, " 8443");
      other.write(text(headerV1({ ...ipv4, client: "192.0.2.2" })) + GET);
      await otherAnswer;
      assert.equal(proxy.connections().active, 2);
      first.destroy();
      await waitFor(async () => (await sendRaw(test, port, V1 + LAST)) !== "", { what: "the client to be admitted" });
    });

    it("reads headers on ports of the document, also before TLS that it passes through", async (test) => {
      const [plain, secure] = [await freePort(), await freePort()];
      const backend = createTlsServer({ cert: pair.certificate, key: pair.key }, (socket) =>
        socket.on("error", () => {}).end("passed"),
      );
      const service = serviceNamed("backend", { port: portOf(await listen(test, backend)) });
      const listeners = [listenerAt("plain", plain, "http"), listenerAt("secure", secure, "tls_passthrough")];
      const records: StreamRecord[] = [];
      const { proxy } = await startRig(test, engine, {
        ...{ upstream: echo, settings, listeners, services: [service] },
        observer: { streamed: (record) => void records.push(record) },
        routes: {
          plain: { _sluice: { listeners: ["plain"], priority: 1 } },
          secure: {
            ...{ protocols: ["tls_passthrough"], paths: null, service: { id: service.id } },
            _sluice: { listeners: ["secure"] },
          },
        },
      });
      const ports = [{ port: plain, protocol: "http" } as const, { port: secure, protocol: "https" } as const];
      assert.deepEqual(await proxy.openPorts(ports), []);
      assert.match(await sendRaw(test, plain, V1 + LAST), /\r\n\r\n192\.0\.2\.1 192\.0\.2\.1 443$/);
      assert.equal(await sendTls(test, secure, text(headerV2(ipv6))), "passed");
      await waitFor(() => records.length === 1, { what: "the record of the connection" });
      assert.deepEqual([records[0]?.peerAddress, records[0]?.fault], ["2001:db8::1", null]);
      const unfinished = [await dial(test, plain), await dial(test, secure)];
      const closed = Promise.all(unfinished.map((socket) => closing(socket.resume())));
      for (const socket of unfinished) socket.write(V1.slice(0, -1));
      await proxy.openPorts([]);
      await closed;
    });

    it("closes connections with an incomplete header at a shutdown", async (test) => {
      const { port, tlsPort, proxy } = await startRig(test, engine, { settings, certificates: { "*": pair } });
      const unfinished = [await dial(test, port), await dial(test, tlsPort)];
      const closed = Promise.all(unfinished.map((socket) => closing(socket.resume())));
      await waitFor(() => proxy.connections().accepted === 2, { what: "both connections to be accepted" });
      await proxy.close({ deadline: 10_000 });
      await closed;
    });

    // Only this engine serves HTTP/2.
    if (engine.name !== "http1") return;
    it("serves HTTP/2 after a header, with prior knowledge and over TLS", async (test) => {
      const { port, tlsPort } = await startRig(test, engine, {
        upstream: echo,
        settings: { ...settings, cleartextHttp2: true },
        certificates: { "*": pair },
      });
      const [plain, raw] = [await dial(test, port), await dial(test, tlsPort)];
      for (const socket of [plain, raw]) socket.write(headerV2(ipv4));
      const ALPNProtocols = ["h2"];
      const secure = connectTls({ socket: raw, servername: "a.example", rejectUnauthorized: false, ALPNProtocols });
      for (const socket of [plain, secure]) {
        const session = connectHttp2("http://a.example", { createConnection: () => socket });
        test.after(() => session.destroy());
        const { status, body } = await requestHttp2(session);
        assert.deepEqual([status, body.toString()], [200, "192.0.2.1 192.0.2.1 8443"]);
      }
    });
  });
}
