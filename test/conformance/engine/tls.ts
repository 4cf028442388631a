/** TLS with clients: certificates by server name, and connections across a change of certificates. */
import assert from "node:assert/strict";
import type { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { Agent, request } from "node:https";
import { before, describe, it, type TestContext } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { waitFor } from "../../../tools/process/index.ts";
import { type KeyPair, makeAuthority, type TestAuthority } from "../../../tools/programs/certificates.ts";
import { dial, received, receiveUntil, signal } from "./client.ts";
import { type Engine, listen, portOf, startRig } from "./proxy-rig.ts";

interface Dialled {
  readonly socket: TLSSocket;
  /** Common name of the server's certificate. */
  readonly shown: string;
}

/** A handshake with this server name; undefined: without SNI. */
async function handshake(test: TestContext, port: number, servername?: string): Promise<Dialled> {
  const socket = connect({ port, host: "127.0.0.1", servername: servername ?? "", rejectUnauthorized: false });
  socket.on("error", () => {});
  test.after(() => socket.destroy());
  await once(socket, "secureConnect");
  return { socket, shown: nameOf(socket.getPeerX509Certificate()) };
}

const nameOf = (certificate: X509Certificate | undefined): string => certificate?.subject.replace("CN=", "") ?? "";

const get = (options: object) =>
  new Promise<Awaited<ReturnType<typeof received>>>((resolve, reject) => {
    request({ host: "127.0.0.1", ...options }, (response) => resolve(received(response)))
      .on("error", reject)
      .end();
  });

export function tlsSuite(engine: Engine): void {
  describe(`TLS: the ${engine.name} engine`, () => {
    let authority: TestAuthority;
    const issue = (name: string): Promise<KeyPair> => authority.issue({ name, sans: ["a.example"], usage: "server" });
    before(async () => {
      authority = await makeAuthority();
    });

    it("presents the certificate with the most specific matching name", async (test) => {
      const names = ["a.example", "*.example", "a.*", "*"];
      const certificates = Object.fromEntries(
        await Promise.all(names.map(async (name) => [name, await issue(name.replaceAll("*", "any"))])),
      );
      const { tlsPort } = await startRig(test, engine, { certificates });
      const table = [
        ["a.example", "a.example"],
        ["A.Example", "a.example"],
        ["b.example", "any.example"],
        ["a.test", "a.any"],
        ["deep.b.example", "any"],
        ["example", "any"],
        [undefined, "any"],
      ] as const;
      for (const [asked, shown] of table)
        assert.equal((await handshake(test, tlsPort, asked)).shown, shown, `${asked}`);
    });

    it("aborts the handshake of a client that requests a name without a certificate, or no name", async (test) => {
      const certificates = { "a.example": await issue("a.example") };
      const { tlsPort } = await startRig(test, engine, { certificates });
      for (const name of ["b.example", undefined]) await assert.rejects(handshake(test, tlsPort, name));
      assert.equal((await handshake(test, tlsPort, "a.example")).shown, "a.example");
    });

    it("serves clients that verify the certificate, and passes the scheme https to routes and upstreams", async (test) => {
      const { tlsPort } = await startRig(test, engine, {
        upstream: (incoming, response) => response.end(JSON.stringify(incoming.headers)),
        route: { protocols: ["https"], snis: ["a.example"], paths: null },
        certificates: { "*": await issue("a.example") },
      });
      const ask = (servername: string) =>
        get({ port: tlsPort, servername, ca: authority.certificate, headers: { host: "a.example" } });
      const { status, body } = await ask("a.example");
      assert.equal(status, 200);
      const headers = JSON.parse(body);
      assert.equal(headers["x-forwarded-proto"], "https");
      assert.equal(headers["x-forwarded-port"], `${tlsPort}`);
      const other = get({ port: tlsPort, servername: "b.example", rejectUnauthorized: false });
      assert.equal((await other).status, 404, "the server name does not match");
    });

    it("answers 426 to clients of plain http if the route requires https", async (test) => {
      const { port } = await startRig(test, engine, { route: { protocols: ["https"] }, certificates: {} });
      const socket = await dial(test, port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      assert.match(await receiveUntil(socket, "HTTPS protocol"), /^HTTP\/1\.1 426 /);
    });

    it("drops no connection when a certificate changes, and presents the new certificate on new connections", async (test) => {
      const rig = await startRig(test, engine, {
        upstream: (_request, response) => response.end("here"),
        certificates: { "a.example": await issue("old") },
      });
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      test.after(() => agent.destroy());
      const ask = async () => {
        const sockets: TLSSocket[] = [];
        const asked = request({
          host: "127.0.0.1",
          port: rig.tlsPort,
          servername: "a.example",
          rejectUnauthorized: false,
          agent,
        });
        asked.on("socket", (socket) => sockets.push(socket as TLSSocket)).end();
        const [response] = await once(asked, "response");
        assert.equal((await received(response)).body, "here");
        return { reused: asked.reusedSocket, shown: nameOf(sockets[0]?.getPeerX509Certificate()) };
      };
      assert.deepEqual(await ask(), { reused: false, shown: "old" });
      await rig.swap({ certificates: { "a.example": await issue("new") } });
      assert.deepEqual(await ask(), { reused: true, shown: "old" });
      assert.equal((await handshake(test, rig.tlsPort, "a.example")).shown, "new");
    });

    it("tunnels a WebSocket", async (test) => {
      const server = createServer();
      server.on("upgrade", (incoming) => {
        incoming.socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhi",
        );
        incoming.socket.pipe(incoming.socket);
      });
      const upstream = portOf(await listen(test, server));
      const { tlsPort } = await startRig(test, engine, { upstream, certificates: { "*": await issue("any") } });
      const { socket } = await handshake(test, tlsPort, "a.example");
      socket.write(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
      );
      await receiveUntil(socket, "hi");
      socket.write("and back");
      await receiveUntil(socket, "and back");
    });

    it("closes a connection that never finishes its handshake", async (test) => {
      const { tlsPort } = await startRig(test, engine, { certificates: {}, settings: { handshakeTimeout: 20 } });
      const socket = await dial(test, tlsPort);
      await once(socket, "close");
    });

    it("closes a connection whose client has sent only a part of its ClientHello, or nothing", async (test) => {
      const { tlsPort } = await startRig(test, engine, { certificates: {} });
      for (const part of [Buffer.alloc(0), Buffer.from([22, 3, 1, 1, 0, 1])]) {
        const socket = await dial(test, tlsPort);
        socket.end(part);
        await once(socket.resume(), "close");
      }
    });

    it("completes requests in flight when it closes, and accepts no more connections", async (test) => {
      const [reached, goOn] = [signal(), signal()];
      const rig = await startRig(test, engine, {
        upstream: async (_request, response) => {
          reached.fire();
          await goOn.seen;
          response.end("done");
        },
        certificates: { "*": await issue("any") },
      });
      const idle = await handshake(test, rig.tlsPort, "a.example");
      const asked = get({ port: rig.tlsPort, rejectUnauthorized: false, agent: false });
      await reached.seen;
      const closed = rig.proxy.close({ deadline: 5000 });
      await once(idle.socket, "close");
      await assert.rejects(handshake(test, rig.tlsPort));
      goOn.fire();
      assert.equal((await asked).body, "done");
      await closed;
    });

    it("counts the connections of both listeners", async (test) => {
      const rig = await startRig(test, engine, { certificates: { "*": await issue("any") } });
      await Promise.all([handshake(test, rig.tlsPort), dial(test, rig.port)]);
      await handshake(test, rig.tlsPort);
      // The client finishes a handshake before the server.
      await waitFor(() => rig.proxy.connections().accepted === 3, { what: "three connections to be counted" });
    });
  });
}
