/** Certificates of clients: when a handshake requests a certificate, and which certificates mtls-auth accepts. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { connect as connectTcp, createServer } from "node:net";
import { before, describe, it, type TestContext } from "node:test";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { SnapshotPlugin } from "@sluice/model";
import { caCertificateOf, consumerNamed } from "../../../gateway/src/compile/testing-entities.ts";
import { separatesSessions } from "../../../gateway/src/proxy/sockets/node-internals.ts";
import { type KeyPair, makeAuthority, type TestAuthority } from "../../../tools/programs/certificates.ts";
import { fakeContext, pluginInstance } from "../../plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { dial, receiveUntil } from "./client.ts";
import { dialHttp2Tls, requestHttp2 } from "./http2-client.ts";
import { type Engine, listen, portOf, type Rig, type RigOptions, startRig } from "./proxy-rig.ts";

const echo: RequestListener = (request, response) => response.end(JSON.stringify(request.headers));
const DAY = 86_400_000;
const ABSENT = "No required TLS certificate was sent";
const FAILED = "TLS certificate failed verification";

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, string>>;
}

const options = (pair: KeyPair | null): ConnectionOptions => ({
  host: "127.0.0.1",
  servername: "a.example",
  rejectUnauthorized: false,
  ...(pair && { cert: pair.certificate, key: pair.key }),
});

async function dialTls(test: TestContext, port: number, more: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ port, ...options(null), ...more });
  socket.on("error", () => {});
  test.after(() => socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

/** Sends a request on an HTTP/1.1 connection, which stays open for further requests. */
async function askOn(socket: TLSSocket): Promise<Answer> {
  const received = receiveUntil(socket, "}");
  socket.write("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
  const text = await received;
  return { status: Number(text.split(" ")[1]), body: JSON.parse(text.slice(text.indexOf("{"), text.indexOf("}") + 1)) };
}

/** The ways in which a client can send a request to this engine over TLS. */
const protocols = ({ name }: Engine) =>
  (["TLSv1.2", "TLSv1.3"] as const).flatMap((maxVersion) => [
    {
      what: `HTTP/1.1 over ${maxVersion}`,
      send: async (test: TestContext, port: number, pair: KeyPair | null): Promise<Answer> =>
        askOn(await dialTls(test, port, { ...options(pair), maxVersion })),
    },
    ...(name === "http1"
      ? [
          {
            what: `HTTP/2 over ${maxVersion}`,
            async send(test: TestContext, port: number, pair: KeyPair | null): Promise<Answer> {
              const { status, body } = await requestHttp2(dialHttp2Tls(test, port, { ...options(pair), maxVersion }));
              return { status, body: JSON.parse(body.toString()) };
            },
          },
        ]
      : []),
  ]);

/**
 * The CertificateRequest of a TLS 1.2 handshake, which is not encrypted: RFC 5246 section 7.4.4. Null: the server
 * requests no certificate.
 */
async function certificateRequest(test: TestContext, port: number, servername: string): Promise<Buffer | null> {
  const received: Buffer[] = [];
  const relay = createServer((near) => {
    const far = connectTcp(port, "127.0.0.1");
    for (const socket of [near, far]) socket.on("error", () => {}).once("close", () => near.destroy() && far.destroy());
    near
      .pipe(far)
      .on("data", (chunk: Buffer) => received.push(chunk))
      .pipe(near);
  });
  await dialTls(test, portOf(await listen(test, relay)), { servername, maxVersion: "TLSv1.2" });
  const messages: Buffer[] = [];
  const records = Buffer.concat(received);
  for (let at = 0; records[at] === 22; at += 5 + records.readUInt16BE(at + 3)) {
    messages.push(records.subarray(at + 5, at + 5 + records.readUInt16BE(at + 3)));
  }
  const handshake = Buffer.concat(messages);
  for (let at = 0; at + 4 <= handshake.length; at += 4 + handshake.readUIntBE(at + 1, 3)) {
    if (handshake[at] === 13) return handshake.subarray(at + 4, at + 4 + handshake.readUIntBE(at + 1, 3));
  }
  return null;
}

export function clientCertificateSuite(engine: Engine): void {
  describe(`certificates of clients: the ${engine.name} engine`, () => {
    let authority: TestAuthority;
    let other: TestAuthority;
    let intermediate: TestAuthority;
    let server: KeyPair;
    const ann = consumerNamed("ann");
    const client = { name: "ann", usage: "client" } as const;
    before(async () => {
      authority = await makeAuthority("the trusted authority");
      other = await makeAuthority("another authority");
      intermediate = await authority.delegate("an intermediate authority");
      server = await authority.issue({ name: "a.example", sans: ["a.example"], usage: "server" });
    });

    /** Options of a rig whose mtls-auth trusts these authorities. */
    function withPlugin(trusted: readonly TestAuthority[], plugin: Partial<SnapshotPlugin> = {}): RigOptions {
      const authorities = trusted.map(({ certificate }) => certificate);
      const ids = authorities.map((pem) => caCertificateOf(pem).id);
      const config = withConfigDefaults("mtls-auth", { ca_certificates: ids, ...plugin.config });
      return {
        upstream: echo,
        certificates: { "*": server },
        authorities,
        identities: { consumers: new Map([[ann.id, ann]]) },
        plugins: { "mtls-auth": pluginInstance("mtls-auth", config, fakeContext({ now: Date.now })) },
        pluginMembers: { ...plugin, config },
      };
    }
    const start = (test: TestContext, trusted: readonly TestAuthority[] = [authority]): Promise<Rig> =>
      startRig(test, engine, withPlugin(trusted));

    const expired = { notBefore: new Date(Date.now() - 2 * DAY), notAfter: new Date(Date.now() - DAY) };
    const future = { notBefore: new Date(Date.now() + DAY), notAfter: new Date(Date.now() + 2 * DAY) };
    const chained = async () => {
      const pair = await intermediate.issue(client);
      return { ...pair, certificate: `${pair.certificate}\n${intermediate.certificate}` };
    };
    const table: readonly (readonly [what: string, pair: () => Promise<KeyPair | null>, message: string | null])[] = [
      ["a certificate of the authority", () => authority.issue(client), null],
      ["a chain with an intermediate certificate", chained, null],
      ["a certificate without its intermediate certificate", () => intermediate.issue(client), FAILED],
      ["a certificate of another authority", () => other.issue(client), FAILED],
      ["an expired certificate", () => authority.issue({ ...client, ...expired }), FAILED],
      ["a certificate that is not valid yet", () => authority.issue({ ...client, ...future }), FAILED],
      ["the certificate of a server", () => authority.issue({ ...client, usage: "server" }), FAILED],
      ["no certificate", async () => null, ABSENT],
    ];
    for (const { what: protocol, send } of protocols(engine))
      for (const [what, pair, message] of table) {
        it(`${message === null ? "admits" : "refuses"} ${what} (${protocol})`, async (test) => {
          const { status, body } = await send(test, (await start(test)).tlsPort, await pair());
          if (message === null) assert.deepEqual([status, body["x-consumer-username"]], [200, "ann"]);
          else assert.deepEqual([status, body.message], [401, message]);
        });
      }

    it("refuses requests without TLS", async (test) => {
      const socket = await dial(test, (await start(test)).port);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      assert.match(await receiveUntil(socket, "}"), new RegExp(`^HTTP/1\\.1 401 [^]*"message":"${ABSENT}"`));
    });

    it("removes a client's own X-Client-Cert-Dn and X-Client-Cert-San even on a route without mtls-auth", async (test) => {
      const { port } = await startRig(test, engine, { upstream: echo });
      const socket = await dial(test, port);
      socket.write(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Client-Cert-Dn: CN=ann\r\nX_Client_Cert_San: ann\r\nX-Client-Cert: x\r\n\r\n",
      );
      const text = await receiveUntil(socket, "}");
      assert.ok(!/client.cert.(?:dn|san)/i.test(text) && text.includes("x-client-cert"), text);
    });

    const routeId = { id: "11111111-1111-4111-8111-111111111111" };
    const requests: readonly (readonly [what: string, RigOptions, ofRoute: boolean, ofOthers: boolean])[] = [
      ["no plugin needs one", { plugins: {} }, false, false],
      ["a global plugin needs one", {}, true, true],
      ["the plugin is disabled", { pluginMembers: { enabled: false } }, false, false],
      [
        "the plugin's route has snis",
        { pluginMembers: { route: routeId }, route: { snis: ["a.example"] } },
        true,
        false,
      ],
      ["the plugin's route has no snis", { pluginMembers: { route: routeId } }, true, true],
    ];
    for (const [what, more, ofRoute, ofOthers] of requests) {
      it(`requests a certificate for ${ofRoute ? (ofOthers ? "every name" : "the name of the route") : "no name"} if ${what}`, async (test) => {
        const base = withPlugin([authority]);
        const members = { ...base.pluginMembers, ...more.pluginMembers };
        const { tlsPort } = await startRig(test, engine, {
          ...base,
          ...more,
          route: { ...routeId, ...more.route },
          pluginMembers: members,
        });
        const requested = [];
        for (const name of ["A.example", "b.example"])
          requested.push((await certificateRequest(test, tlsPort, name)) !== null);
        assert.deepEqual(requested, [ofRoute, ofOthers]);
      });
    }

    it("lists the names of authorities in the request for a certificate only with send_ca_dn", async (test) => {
      const rig = await start(test);
      const listed = async () =>
        (await certificateRequest(test, rig.tlsPort, "a.example"))?.includes("the trusted authority");
      const names = [await listed()];
      await rig.swap(withPlugin([authority], { config: { send_ca_dn: true } }));
      names.push(await listed());
      assert.deepEqual(names, [false, true]);
    });

    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      it(`resumes no session in a handshake that requests a certificate (${maxVersion})`, async (test) => {
        const { plugins: _, ...plain } = withPlugin([authority]);
        const rig = await startRig(test, engine, plain);
        const pair = await authority.issue(client);
        const visit = async (more: ConnectionOptions) => {
          const socket = await dialTls(test, rig.tlsPort, { ...more, maxVersion });
          let session: Buffer | undefined;
          socket.on("session", (last: Buffer) => {
            session = last;
          });
          const { status } = await askOn(socket);
          // With TLS 1.2, the event may not have set `session`: the session is then read from the socket.
          const [isResumed, last = socket.getSession()] = [socket.isSessionReused(), session];
          return { status, isResumed, session: last && { session: last } };
        };
        const early = await visit({});
        assert.equal((await visit({ ...early.session })).isResumed, separatesSessions);
        await rig.swap(withPlugin([authority]));
        const seen = [];
        for (const more of [{ ...early.session }, { ...early.session, ...options(pair) }]) {
          const { status, isResumed } = await visit(more);
          seen.push([status, isResumed]);
        }
        const first = await visit(options(pair));
        for (const more of [{ ...first.session }, { ...first.session, ...options(pair) }]) {
          const { status, isResumed } = await visit(more);
          seen.push([status, isResumed]);
        }
        assert.deepEqual(seen, [
          [401, false],
          [200, false],
          [401, false],
          [200, false],
        ]);
      });
    }

    it("answers 421 on a connection that was opened before a plugin needed a certificate", async (test) => {
      const { plugins: _, ...plain } = withPlugin([authority]);
      const rig = await startRig(test, engine, plain);
      const socket = await dialTls(test, rig.tlsPort, options(await authority.issue(client)));
      assert.equal((await askOn(socket)).status, 200);
      await rig.swap(withPlugin([authority]));
      const { status, body } = await askOn(socket);
      assert.deepEqual([status, body.message], [421, "Misdirected request"]);
    });

    it("verifies the certificate of an open connection again when the trusted authorities change", async (test) => {
      const rig = await start(test);
      const socket = await dialTls(test, rig.tlsPort, options(await authority.issue(client)));
      const statuses = [(await askOn(socket)).status];
      for (const trusted of [[other], [other, authority]]) {
        await rig.swap(withPlugin(trusted));
        statuses.push((await askOn(socket)).status);
      }
      assert.deepEqual(statuses, [200, 401, 200]);
    });
  });
}
