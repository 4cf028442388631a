/** Upstreams whose certificates are verified with the CA certificates of the service. */
import assert from "node:assert/strict";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import { createServer } from "node:https";
import { describe, it, type TestContext } from "node:test";
import type { TLSSocket } from "node:tls";
import type { UpstreamTls } from "@sluice/model";
import type { PluginPhases } from "@sluice/plugin-sdk";
import { caCertificateOf } from "../../../gateway/src/compile/testing-entities.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { dial, receiveUntil, sendRequest } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { grpcHeaders, message, receivedBody, requestHttp2 } from "./http2-client.ts";
import { becomes } from "./pool.ts";
import { type Engine, listen, portOf, type RigOptions, startRig } from "./proxy-rig.ts";

const right = await makeAuthority("right");
const wrong = await makeAuthority("wrong");
const expired = await makeAuthority("expired", { notAfter: new Date(Date.now() - 1000) });
const below = await right.delegate("below");
const leaf = { name: "up", sans: ["localhost"], usage: "server" } as const;
const pair = await right.issue(leaf);
const deep = await below.issue(leaf);
const tls = { cert: pair.certificate, key: pair.key };

const idOf = (cert: string): string => caCertificateOf(cert).id;

/** Options with a service that trusts these CAs. */
const trusting = (authorities: readonly string[], service: RigOptions["service"] = {}): RigOptions => ({
  authorities,
  service: {
    protocol: "https",
    host: "localhost",
    retries: 0,
    ca_certificates: authorities.map(idOf),
    ...service,
  },
});

/** Options with a service whose upstream is verified as a BackendTLSPolicy says. */
const withPolicy = (policy: UpstreamTls): RigOptions => ({
  service: {
    protocol: "https",
    host: "127.0.0.1",
    retries: 0,
    _sluice: { tls: { trusted_certificates: `${below.certificate}\n${right.certificate}`, ...policy } },
  },
});

async function startSecure(test: TestContext, options = tls): Promise<number> {
  const server = createServer(options, (_request, response) => response.end("ok"));
  server.on("upgrade", (_request, socket) => {
    socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
  });
  return portOf(await listen(test, server));
}

const chain = { cert: `${deep.certificate}\n${below.certificate}`, key: deep.key };
const old = await expired.issue(leaf);

/** The title, the upstream's certificate and key, the options, and the status that the client receives. */
const table: readonly (readonly [does: string, server: typeof tls, options: RigOptions, status: number])[] = [
  ["accepts an upstream with a certificate of the service's CA", tls, trusting([right.certificate]), 200],
  [
    "accepts an upstream with a certificate of one of the service's CAs",
    tls,
    trusting([wrong.certificate, right.certificate]),
    200,
  ],
  ["refuses an upstream with a certificate of another CA", tls, trusting([wrong.certificate]), 502],
  [
    "refuses every upstream if the ids in the service's ca_certificates belong to no CA certificate",
    tls,
    { ...trusting([right.certificate]), authorities: [] },
    502,
  ],
  [
    "refuses a certificate with a name other than the service's host",
    tls,
    trusting([right.certificate], { host: "127.0.0.1" }),
    502,
  ],
  [
    "refuses a certificate of an expired CA",
    { cert: old.certificate, key: old.key },
    trusting([expired.certificate]),
    502,
  ],
  ["accepts a chain with an intermediate CA", chain, trusting([right.certificate], { tls_verify_depth: 1 }), 200],
  ["refuses a chain beyond tls_verify_depth", chain, trusting([right.certificate], { tls_verify_depth: 0 }), 502],
  [
    "accepts a certificate that is valid for the policy's server name",
    tls,
    withPolicy({ server_name: "localhost" }),
    200,
  ],
  ["refuses a certificate that is not valid for the policy's server name", tls, withPolicy({ server_name: "up" }), 502],
  [
    "refuses a certificate of a CA that the policy does not name",
    tls,
    withPolicy({ server_name: "localhost", trusted_certificates: wrong.certificate }),
    502,
  ],
  [
    "accepts a certificate with one of the policy's names, whatever the server name",
    tls,
    withPolicy({
      server_name: "up.test",
      names: [
        { type: "uri", value: "spiffe://up.test/a" },
        { type: "dns", value: "LOCALHOST" },
      ],
    }),
    200,
  ],
  [
    "refuses a certificate without one of the policy's names, even if it is valid for the server name",
    tls,
    withPolicy({ server_name: "localhost", names: [{ type: "uri", value: "localhost" }] }),
    502,
  ],
  ["accepts any upstream with tls_verify false", tls, trusting([wrong.certificate], { tls_verify: false }), 200],
];

export function upstreamTrustSuite(engine: Engine): void {
  describe(`CA certificates of a service: the ${engine.name} engine`, () => {
    for (const [does, server, options, status] of table)
      it(does, async (test) => {
        const rig = await startRig(test, engine, { upstream: await startSecure(test, server), ...options });
        assert.equal((await sendRequest(rig.port)).status, status);
      });

    it("applies a changed CA certificate to the next request, which uses no connection that was verified with the old one", async (test) => {
      const rig = await startRig(test, engine, {
        upstream: await startSecure(test),
        ...trusting([right.certificate]),
      });
      assert.equal((await sendRequest(rig.port)).status, 200);
      await rig.swap(trusting([wrong.certificate]));
      assert.equal((await sendRequest(rig.port)).status, 502);
      await rig.swap(trusting([right.certificate]));
      assert.equal((await sendRequest(rig.port)).status, 200);
    });

    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const)
      it(`resumes the TLS session of an earlier connection to the upstream (${maxVersion})`, async (test) => {
        const resumed: boolean[] = [];
        const server = createServer({ ...tls, maxVersion }, (_request, response) => {
          response.setHeader("Connection", "close").end("ok");
        });
        server.on("secureConnection", (socket: TLSSocket) => resumed.push(socket.isSessionReused()));
        const upstream = portOf(await listen(test, server));
        const rig = await startRig(test, engine, { upstream, ...trusting([right.certificate]) });
        for (let count = 0; count < 3; count++) assert.equal((await sendRequest(rig.port)).status, 200);
        assert.deepEqual(resumed, [false, true, true]);
        await rig.swap(trusting([right.certificate, wrong.certificate]));
        assert.equal((await sendRequest(rig.port)).status, 200);
        assert.deepEqual(resumed, [false, true, true, false], "other CA certificates begin another session");
      });

    it("lets plugins look up the current CA certificates by id", async (test) => {
      const access: PluginPhases["access"] = ({ identities }) => ({
        status: 200,
        message: String(identities.caCertificate(idOf(right.certificate))?.cert === right.certificate),
      });
      const plugins = { cors: { access } };
      const rig = await startRig(test, engine, { authorities: [right.certificate], plugins });
      assert.match((await sendRequest(rig.port)).body, /true/);
      await rig.swap({ authorities: [wrong.certificate], plugins });
      assert.match((await sendRequest(rig.port)).body, /false/);
    });

    it("verifies upstreams of WebSockets with the CA certificates", async (test) => {
      const upstream = await startSecure(test);
      const rig = await startRig(test, engine, { upstream, ...trusting([right.certificate]) });
      const handshake =
        "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
      const open = await dial(test, rig.port);
      open.write(handshake);
      assert.match(await receiveUntil(open, "hello"), /^HTTP\/1\.1 101 /);
      await rig.swap(trusting([wrong.certificate]));
      const refused = await dial(test, rig.port);
      refused.write(handshake);
      assert.match(await receiveUntil(refused, "\r\n\r\n"), /^HTTP\/1\.1 502 /);
    });

    it("applies the CA certificates to active health checks of the upstream that the service uses", async (test) => {
      const targets = { [`127.0.0.1:${await startSecure(test)}`]: 1 };
      const often = { interval: 0.02 };
      const active = {
        type: "https",
        https_sni: "localhost",
        healthy: { ...often, successes: 1, http_statuses: [200] },
        unhealthy: { ...often, tcp_failures: 1 },
      };
      const pool = { upstream: { healthchecks: { active } }, targets };
      const of = (cert: string) => ({ pool, ...trusting([cert], { host: "pool" }) });
      const rig = await startRig(test, engine, of(wrong.certificate));
      const isFit = () => rig.balancer().entries[0]?.member.health.healthy;
      await becomes(() => isFit() === false);
      await rig.swap(of(right.certificate));
      await becomes(() => isFit() === true);
    });
  });

  if (engine.name !== "http1") return;
  describe(`CA certificates of a service for gRPC: the ${engine.name} engine`, () => {
    it("verifies upstreams of gRPC calls with the CA certificates", async (test) => {
      const server = createSecureServer(tls);
      server.on("stream", async (stream: ServerHttp2Stream) => {
        const body = await receivedBody(stream);
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.end(body);
      });
      const upstream = portOf(await listen(test, server));
      const route = { protocols: ["grpc", "grpcs"] } as RigOptions["route"];
      const options = (cert: string) => ({ ...trusting([cert], { protocol: "grpcs" }), route });
      const { rig, session } = await startHttp2(test, engine, { upstream, ...options(right.certificate) });
      const statusOf = async () => {
        const { headers, trailers } = await requestHttp2(session, { headers: grpcHeaders, body: message("x") });
        return trailers?.["grpc-status"] ?? headers["grpc-status"];
      };
      assert.equal(await statusOf(), "0");
      await rig.swap(options(wrong.certificate));
      assert.equal(await statusOf(), "14");
    });
  });
}
