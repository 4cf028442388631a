/** TLS session resumption: allowed under the same server name only. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp, createServer } from "node:net";
import { before, describe, it, type TestContext } from "node:test";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { separatesSessions } from "../../../gateway/src/proxy/sockets/node-internals.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { renegotiationError } from "../../../tools/programs/renegotiation.ts";
import { dial, receiveUntil } from "./client.ts";
import { type Engine, listen, portOf, type RigOptions, startRig } from "./proxy-rig.ts";

const REQUEST = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const upstream: RigOptions["upstream"] = (_incoming, response) => response.end("here");

interface Visit {
  readonly socket: TLSSocket;
  /** A session that a later visit can resume. */
  readonly session: Buffer;
  readonly isResumed: boolean;
  readonly shown: string;
}

interface VisitOptions extends ConnectionOptions {
  /** A server name sent in place of `servername`: Node's client would not offer a session under a different name. */
  readonly forged?: string;
}

/** Performs a handshake and a request on a new connection. */
async function visit(test: TestContext, port: number, { forged, ...options }: VisitOptions): Promise<Visit> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...options });
  // Node's types do not declare `setServername`.
  if (forged !== undefined) (socket as unknown as { setServername(name: string): void }).setServername(forged);
  socket.on("error", () => {});
  test.after(() => socket.destroy());
  let session: Buffer = Buffer.alloc(0);
  socket.on("session", (last: Buffer) => {
    session = last;
  });
  await once(socket, "secureConnect");
  const answer = receiveUntil(socket, "here");
  socket.write(REQUEST);
  await answer;
  const isResumed = socket.isSessionReused();
  return { socket, session, isResumed, shown: socket.getPeerX509Certificate()?.subject ?? "" };
}

export function tlsSessionSuite(engine: Engine): void {
  describe(`TLS sessions (${engine.name})`, () => {
    let certificates: NonNullable<RigOptions["certificates"]>;
    before(async () => {
      const authority = await makeAuthority();
      const issue = (name: string) => authority.issue({ name, sans: ["a.example"], usage: "server" });
      certificates = {
        "a.example": await issue("first"),
        "b.example": await issue("b"),
        "*.c.example": await issue("c"),
      };
      certificates = { ...certificates, other: await issue("second") };
    });
    const named = (...names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, certificates[name] ?? assert.fail(name)]));

    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      it(`are ${separatesSessions ? "" : "not "}resumed under the name with which they were created (${maxVersion})`, async (test) => {
        const { tlsPort } = await startRig(test, engine, { upstream, certificates });
        for (const servername of ["a.example", "b.example", "x.c.example", "a.example"]) {
          const first = await visit(test, tlsPort, { maxVersion, servername });
          const second = await visit(test, tlsPort, { maxVersion, servername, session: first.session });
          assert.deepEqual([first.isResumed, second.isResumed], [false, separatesSessions], servername);
        }
      });

      it(`keep, when they are resumed, the server name by which routes are chosen (${maxVersion})`, async (test) => {
        const route: RigOptions["route"] = { protocols: ["https"], snis: ["a.example"], paths: null };
        const { tlsPort } = await startRig(test, engine, { upstream, certificates, route });
        const options = { maxVersion, servername: "a.example" } as const;
        // `visit` rejects if the route does not answer.
        const { session } = await visit(test, tlsPort, options);
        assert.equal((await visit(test, tlsPort, { ...options, session })).isResumed, separatesSessions);
      });

      it(`are not resumed under another name, even if the same certificate matches it (${maxVersion})`, async (test) => {
        const { tlsPort } = await startRig(test, engine, { upstream, certificates });
        for (const [from, to] of [
          ["a.example", "b.example"],
          ["x.c.example", "y.c.example"],
        ] as const) {
          const { session } = await visit(test, tlsPort, { maxVersion, servername: from });
          const forging = { maxVersion, servername: from, forged: to, session };
          assert.equal((await visit(test, tlsPort, forging)).isResumed, false, `${from}, ${to}`);
        }
      });

      it(`end with their certificate: another certificate needs a full handshake, and without a certificate the handshake fails (${maxVersion})`, async (test) => {
        const rig = await startRig(test, engine, { upstream, certificates: named("a.example", "b.example") });
        const options = { maxVersion, servername: "a.example" } as const;
        const { session } = await visit(test, rig.tlsPort, options);
        await rig.swap({ certificates: { ...named("b.example"), "a.example": named("other").other ?? assert.fail() } });
        const replaced = await visit(test, rig.tlsPort, { ...options, session });
        assert.deepEqual([replaced.isResumed, replaced.shown], [false, "CN=second"]);
        await rig.swap({ certificates: named("b.example") });
        for (const last of [session, replaced.session]) {
          await assert.rejects(visit(test, rig.tlsPort, { ...options, session: last }));
        }
      });
    }

    it("are not renegotiated when a client requests it", async (test) => {
      const { tlsPort } = await startRig(test, engine, { upstream, certificates });
      assert.ok(await renegotiationError({ host: "127.0.0.1", port: tlsPort }), "a second handshake was refused");
    });

    it("begin with a ClientHello, even one that arrives byte by byte; other or endless data closes the connection", async (test) => {
      const { tlsPort } = await startRig(test, engine, { upstream, certificates });
      const relay = createServer((near) => {
        const far = connectTcp(tlsPort, "127.0.0.1").setNoDelay(true);
        for (const socket of [near, far])
          socket.on("error", () => {}).once("close", () => [near, far].map((each) => each.destroy()));
        far.pipe(near);
        near.on("data", (chunk: Buffer) => {
          for (const byte of chunk) far.write(Buffer.from([byte]));
        });
      });
      const { session } = await visit(test, portOf(await listen(test, relay)), { servername: "a.example" });
      assert.ok(session.length > 0);
      for (const sent of [
        Buffer.from("GET / HTTP/1.1\r\n\r\n"),
        Buffer.alloc(100_000, Buffer.from([22, 3, 1, 0, 1, 1])),
      ]) {
        const socket = await dial(test, tlsPort);
        socket.write(sent);
        if (!socket.closed) await new Promise((resolve) => socket.once("close", resolve));
      }
    });
  });
}
