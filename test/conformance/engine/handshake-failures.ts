/** The log lines of TLS handshakes that fail, on listeners for HTTPS and for connections. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { duplexPair } from "node:stream";
import { before, describe, it, type TestContext } from "node:test";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { waitFor } from "../../../tools/process/index.ts";
import { type KeyPair, makeAuthority } from "../../../tools/programs/certificates.ts";
import { dial } from "./client.ts";
import { type Engine, type Rig, type RigOptions, startRig } from "./proxy-rig.ts";

type FailingClient = (test: TestContext, port: number) => unknown;

function tlsClient(options: ConnectionOptions): FailingClient {
  return (test, port) => {
    const socket = connectTls({ host: "127.0.0.1", port, servername: "a.example", ...options }).on("error", () => {});
    test.after(() => socket.destroy());
  };
}

/** Sends these bytes, and ends the connection unless it `waits`. */
const rawClient =
  (bytes: Buffer, { waits = false } = {}): FailingClient =>
  async (test, port) => {
    const socket = await dial(test, port);
    socket.write(bytes);
    if (!waits) socket.end();
  };

/** The first bytes of a ClientHello: the header of its record. */
const begun = Buffer.from([22, 3, 1, 2, 0, 1]);

/** The alert unknown_ca (RFC 5246 section 7.2), with its record. */
const UNKNOWN_CA = Buffer.from([21, 3, 3, 0, 2, 2, 48]);

/** A ClientHello for a.example after which alerts are not encrypted. */
async function helloOfTls12(): Promise<Buffer> {
  const [client, server] = duplexPair();
  connectTls({ socket: client, servername: "a.example", maxVersion: "TLSv1.2" }).on("error", () => {});
  const [hello] = await once(server, "data");
  client.destroy();
  return hello;
}

/** Records of a ClientHello that is longer than 32 kB. */
const endless = Buffer.concat(
  Array.from({ length: 3 }, (_, at) => {
    const record = Buffer.alloc(5 + 16_384);
    record.set([22, 3, 1, 64, 0]);
    if (at === 0) record.set([1, 0, 200, 0], 5);
    return record;
  }),
);

interface FailureCase {
  readonly client: FailingClient;
  readonly reason: RegExp;
  /** Default: a.example. */
  readonly serverName?: string | null;
  readonly settings?: RigOptions["settings"];
}

const failureCases: Readonly<Record<string, FailureCase>> = {
  "asks for a server name without a certificate": {
    client: tlsClient({ servername: "b.example", rejectUnauthorized: false }),
    serverName: "b.example",
    reason: /^no certificate for the server name$/,
  },
  "sends no server name": {
    client: tlsClient({ servername: "", rejectUnauthorized: false }),
    serverName: null,
    reason: /^no certificate for clients without a server name$/,
  },
  "reports that it distrusts the certificate": {
    async client(test, port) {
      const socket = await dial(test, port);
      socket.write(await helloOfTls12());
      await once(socket, "data");
      socket.write(UNKNOWN_CA);
    },
    reason: /^tlsv1 alert unknown ca$/,
  },
  "sends no server name in TLS 1.2": {
    client: tlsClient({ servername: "", maxVersion: "TLSv1.2" }),
    serverName: null,
    reason: /^no certificate for clients without a server name$/,
  },
  "supports only older versions": {
    client: tlsClient({ minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }),
    reason: /unsupported protocol/,
  },
  "does not speak TLS": {
    client: rawClient(Buffer.from("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), { waits: true }),
    serverName: null,
    reason: /http request|wrong version number/,
  },
  "closes the connection in the middle": {
    client: rawClient(begun),
    serverName: null,
    reason: /^the client closed the connection$/,
  },
  "sends a ClientHello that is too long": {
    client: rawClient(endless, { waits: true }),
    serverName: null,
    reason: /^the ClientHello is too long$/,
  },
  "is too slow": {
    client: rawClient(begun, { waits: true }),
    serverName: null,
    reason: /^the handshake was not complete within 0.05 s$/,
    settings: { handshakeTimeout: 50 },
  },
};

export function handshakeFailureSuite(engine: Engine): void {
  describe(`failed TLS handshakes: the ${engine.name} engine`, { timeout: 20_000 }, () => {
    let pair: KeyPair;
    before(async () => {
      pair = await (await makeAuthority()).issue({ name: "a", sans: ["a.example"], usage: "server" });
    });

    const startListeners = (test: TestContext, settings: RigOptions["settings"] = {}) =>
      startRig(test, engine, {
        certificates: { "a.example": pair },
        streamListeners: ["tls"],
        routes: {
          stream: { protocols: ["tls"], paths: null, sources: [{ ip: "127.0.0.0/8", port: null }] },
        },
        settings,
      });

    const listeners: Readonly<Record<string, (rig: Rig) => number>> = {
      HTTPS: ({ tlsPort }) => tlsPort,
      connections: ({ proxy }) => proxy.streamAddresses[0]?.port ?? 0,
    };

    for (const [listener, portOfRig] of Object.entries(listeners)) {
      for (const [does, { client, reason, serverName = "a.example", settings }] of Object.entries(failureCases))
        it(`are logged if the client of a listener for ${listener} ${does}`, async (test) => {
          const rig = await startListeners(test, settings);
          await client(test, portOfRig(rig));
          await waitFor(() => rig.log.length > 0, { what: "the log line" });
          const [line = assert.fail()] = rig.log;
          const { reason: given, ...details } = line.details as { readonly reason: string };
          assert.deepEqual([line.message, details], ["a TLS handshake failed", { port: portOfRig(rig), serverName }]);
          assert.match(given, reason);
        });

      it(`are not logged if the client of a listener for ${listener} sends nothing`, async (test) => {
        const rig = await startListeners(test);
        const port = portOfRig(rig);
        const silent = await dial(test, port);
        await once(silent.end().resume(), "close");
        await rawClient(begun)(test, port);
        await waitFor(() => rig.log.length > 0, { what: "the log line of the second connection" });
        assert.equal(rig.log.length, 1);
      });
    }

    it("are not logged if the node itself ends them, because it stops", async (test) => {
      const rig = await startListeners(test);
      const sockets = await Promise.all(Object.values(listeners).map((portOfRig) => dial(test, portOfRig(rig))));
      for (const socket of sockets) socket.write(begun);
      await waitFor(() => rig.proxy.connections().accepted === 2, { what: "the connections" });
      await rig.proxy.close({ deadline: 5000 });
      assert.deepEqual(rig.log, []);
    });

    it("are logged once in ten seconds for each reason, with the number of lines that were left out", async (test) => {
      const rig = await startListeners(test);
      for (const bytes of [begun, begun, begun, Buffer.from("GET / HTTP/1.1\r\n\r\n")]) {
        const socket = await dial(test, rig.tlsPort);
        await once(socket.end(bytes).resume(), "close");
      }
      await waitFor(() => rig.log.length > 1, { what: "two log lines" });
      assert.equal(rig.log.length, 2);
      const [, { details } = assert.fail()] = rig.log;
      assert.equal((details as { readonly unlogged: number }).unlogged, 2);
    });
  });
}
