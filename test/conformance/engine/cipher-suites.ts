/** Versions and cipher suites of TLS with clients, by the settings. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { before, describe, it, type TestContext } from "node:test";
import { type ConnectionOptions, connect } from "node:tls";
import { caCertificateOf } from "../../../gateway/src/compile/testing-entities.ts";
import { clientTlsOf, clientTlsSettings } from "../../../gateway/src/settings/client-tls.ts";
import { defaultsOf } from "../../../gateway/src/settings/defaults.ts";
import { freePort } from "../../../tools/process/index.ts";
import { type KeyPair, makeAuthority } from "../../../tools/programs/certificates.ts";
import { receiveUntil } from "./client.ts";
import { dialHttp2Tls, requestHttp2 } from "./http2-client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

const upstream: RigOptions["upstream"] = (_incoming, response) => response.end("here");
const old = { maxVersion: "TLSv1.2" } as const;
const GCM128 = "ECDHE-ECDSA-AES128-GCM-SHA256";
const GCM256 = "ECDHE-ECDSA-AES256-GCM-SHA384";
const CHACHA = "ECDHE-ECDSA-CHACHA20-POLY1305";
/** HTTP/2 prohibits it. */
const CBC = "ECDHE-ECDSA-AES128-SHA256";
const TLS13_AES128 = "TLS_AES_128_GCM_SHA256";
const TLS13_AES256 = "TLS_AES_256_GCM_SHA384";

type ClientTlsGiven = Partial<Parameters<typeof clientTlsOf>[0]>;
const settingsOf = (given: ClientTlsGiven) => ({
  clientTls: clientTlsOf({ ...defaultsOf(clientTlsSettings), ...given }),
});

/** Version and suite of a connection on which a request was served; null: the handshake fails. */
async function ask(test: TestContext, port: number, options: ConnectionOptions): Promise<string | null> {
  const client = { host: "127.0.0.1", servername: "a.example", rejectUnauthorized: false };
  const socket = connect({ port, ...client, ...options });
  test.after(() => socket.destroy());
  const isOpen = await once(socket, "secureConnect").then(
    () => true,
    () => false,
  );
  if (!isOpen) return null;
  const answer = receiveUntil(socket, "here");
  socket.write("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
  await answer;
  return `${socket.getProtocol()} ${socket.getCipher().name}`;
}

type Visit = readonly [client: string, options: ConnectionOptions, served: string | null];

const suites = (...ciphers: readonly string[]): ConnectionOptions => ({ ciphers: ciphers.join(":") });
const veryOld: ConnectionOptions = {
  minVersion: "TLSv1.1",
  maxVersion: "TLSv1.1",
  ciphers: "ECDHE-ECDSA-AES128-SHA@SECLEVEL=0",
};

const table: readonly (readonly [what: string, given: ClientTlsGiven, visits: readonly Visit[]])[] = [
  [
    "TLS 1.2 and 1.3 with forward secrecy and authenticated encryption by default",
    {},
    [
      ["TLS 1.3", suites(TLS13_AES256), `TLSv1.3 ${TLS13_AES256}`],
      ["TLS 1.2", { ...old, ...suites(GCM128) }, `TLSv1.2 ${GCM128}`],
      ["the client's order", { ...old, ...suites(CHACHA, GCM128) }, `TLSv1.2 ${CHACHA}`],
      ["CBC", { ...old, ...suites(CBC) }, null],
      ["TLS 1.1", veryOld, null],
    ],
  ],
  [
    "TLS 1.3 only, by the version",
    { tlsMinVersion: "TLSv1.3" },
    [
      ["TLS 1.3", {}, `TLSv1.3 ${TLS13_AES256}`],
      ["TLS 1.2", old, null],
    ],
  ],
  [
    "TLS 1.3 only, with the suites `modern`",
    { tlsCiphers: ["modern"] },
    [
      ["TLS 1.3", suites(TLS13_AES128), `TLSv1.3 ${TLS13_AES128}`],
      ["TLS 1.2", old, null],
    ],
  ],
  [
    "CBC with the suites `old`, but prefers authenticated encryption",
    { tlsCiphers: ["old"] },
    [
      ["CBC", { ...old, ...suites(CBC) }, `TLSv1.2 ${CBC}`],
      ["CBC first", { ...old, ...suites(CBC, GCM128) }, `TLSv1.2 ${GCM128}`],
      ["TLS 1.3", {}, `TLSv1.3 ${TLS13_AES256}`],
      ["TLS 1.1", veryOld, null],
    ],
  ],
  [
    "the listed suites of TLS 1.2 in the order of the list, and all usual ones of TLS 1.3",
    { tlsCiphers: [`${GCM256}:${GCM128}`, CBC] },
    [
      ["another order", { ...old, ...suites(CBC, GCM128, GCM256) }, `TLSv1.2 ${GCM256}`],
      ["the last suite", { ...old, ...suites(CBC) }, `TLSv1.2 ${CBC}`],
      ["another suite", { ...old, ...suites(CHACHA) }, null],
      ["TLS 1.3", suites(TLS13_AES128), `TLSv1.3 ${TLS13_AES128}`],
    ],
  ],
  [
    "the listed suites of TLS 1.3 only",
    { tlsCiphers: [TLS13_AES128] },
    [
      ["the suite", suites(TLS13_AES128), `TLSv1.3 ${TLS13_AES128}`],
      ["another suite", suites(TLS13_AES256), null],
      ["TLS 1.2", old, null],
    ],
  ],
];

export function cipherSuiteSuite(engine: Engine): void {
  describe(`cipher suites of TLS: the ${engine.name} engine`, () => {
    let pair: KeyPair;
    before(async () => {
      const authority = await makeAuthority();
      pair = await authority.issue({ name: "a.example", sans: ["a.example"], usage: "server" });
    });

    for (const [what, given, visits] of table) {
      it(`serves ${what}`, async (test) => {
        const settings = settingsOf(given);
        const { tlsPort } = await startRig(test, engine, { upstream, settings, certificates: { "*": pair } });
        for (const [client, options, served] of visits) assert.equal(await ask(test, tlsPort, options), served, client);
      });
    }

    it("applies the settings to ports of the document, and to handshakes that request a certificate", async (test) => {
      const port = await freePort();
      const authority = await makeAuthority();
      const { proxy, tlsPort } = await startRig(test, engine, {
        upstream,
        settings: settingsOf({ tlsCiphers: [GCM256] }),
        certificates: { "*": pair },
        listeners: [{ name: "l", port, public_port: 443, protocol: "https" }],
        listenerCertificates: { l: pair },
        routes: { onPort: { _sluice: { listeners: ["l"], priority: 1 } } },
        authorities: [authority.certificate],
        plugins: { "mtls-auth": {} },
        pluginMembers: { config: { ca_certificates: [caCertificateOf(authority.certificate).id] } },
      });
      await proxy.openPorts([{ port, protocol: "https" }]);
      for (const each of [tlsPort, port]) {
        assert.equal(await ask(test, each, { ...old, ...suites(GCM128, GCM256) }), `TLSv1.2 ${GCM256}`, `${each}`);
        assert.equal(await ask(test, each, { ...old, ...suites(GCM128) }), null, `${each}`);
      }
    });

    // Only this engine serves HTTP/2.
    if (engine.name !== "http1") return;
    it("refuses HTTP/2 over a suite of TLS 1.2 that HTTP/2 prohibits, but serves HTTP/1.1 over it", async (test) => {
      const settings = settingsOf({ tlsCiphers: [CBC, GCM128, CHACHA] });
      const { tlsPort } = await startRig(test, engine, { upstream, settings, certificates: { "*": pair } });
      for (const suite of [GCM128, CHACHA]) {
        const session = dialHttp2Tls(test, tlsPort, { ...old, ...suites(suite) });
        assert.equal((await requestHttp2(session)).status, 200, suite);
      }
      const session = dialHttp2Tls(test, tlsPort, { ...old, ...suites(CBC) });
      const [code] = await once(session, "goaway");
      assert.equal(code, 12, "INADEQUATE_SECURITY");
      assert.equal(await ask(test, tlsPort, { ...old, ...suites(CBC) }), `TLSv1.2 ${CBC}`);
    });
  });
}
