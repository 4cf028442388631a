/** The challenges of CAs that validate names (RFC 8555 section 8.3, RFC 8737). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it, type TestContext } from "node:test";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { AcmeChallenge } from "@sluice/model";
import { type KeyPair, makeAuthority } from "../../../tools/programs/certificates.ts";
import { dial, receiveUntil } from "./client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

const TOKEN = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA";
const http: AcmeChallenge = {
  type: "http-01",
  domain: "shop.example",
  token: TOKEN,
  key_authorization: `${TOKEN}.thumbprint`,
};

const requestFor = (token: string) => `GET /.well-known/acme-challenge/${token} HTTP/1.1\r\nHost: shop.example\r\n\r\n`;

async function ask(test: TestContext, port: number, token: string): Promise<string> {
  const socket = await dial(test, port);
  socket.write(requestFor(token));
  return receiveUntil(socket, token === TOKEN ? "thumbprint" : "upstream");
}

async function handshake(
  test: TestContext,
  port: number,
  protocols: readonly string[],
  options: ConnectionOptions & { readonly allowHalfOpen?: boolean } = {},
): Promise<TLSSocket> {
  const socket = connect({
    ...options,
    port,
    host: "127.0.0.1",
    servername: "shop.example",
    ALPNProtocols: [...protocols],
    rejectUnauthorized: false,
  });
  socket.on("error", () => {});
  test.after(() => socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

const shownBy = (socket: TLSSocket): string => socket.getPeerX509Certificate()?.subject ?? "";

export function acmeChallengeSuite(engine: Engine): void {
  describe(`challenges of CAs: the ${engine.name} engine`, () => {
    it("answers the token of a pending challenge before it looks for a route", async (test) => {
      const rig = await startRig(test, engine, {
        upstream: (_, response) => response.end("upstream"),
        challenges: [http],
      });
      const response = await ask(test, rig.port, TOKEN);
      assert.match(response, /^HTTP\/1\.1 200 /);
      assert.match(response, /content-type: application\/octet-stream/i);
      assert.ok(response.endsWith(`\r\n\r\n${TOKEN}.thumbprint`));
    });

    it("routes requests with other tokens, and all of them once no challenge is pending", async (test) => {
      const upstream = (_: unknown, response: { end(text: string): void }) => response.end("upstream");
      const rig = await startRig(test, engine, { upstream, challenges: [http] });
      assert.match(await ask(test, rig.port, "other"), /upstream$/);
      await rig.swap({});
      const socket = await dial(test, rig.port);
      socket.write(requestFor(TOKEN));
      assert.match(await receiveUntil(socket, "upstream"), /upstream$/);
    });

    describe("with the protocol acme-tls/1", () => {
      async function start(test: TestContext, settings: RigOptions["settings"] = {}) {
        const authority = await makeAuthority();
        const issue = (name: string): Promise<KeyPair> =>
          authority.issue({ name, sans: ["shop.example"], usage: "server" });
        const { certificate: cert, key } = await issue("challenge");
        const challenge: AcmeChallenge = { type: "tls-alpn-01", domain: "Shop.example", cert, key };
        return startRig(test, engine, {
          certificates: { "shop.example": await issue("shop") },
          challenges: [challenge],
          settings,
        });
      }

      it("presents the certificate of the challenge, and closes the connection", async (test) => {
        const { tlsPort } = await start(test);
        const socket = await handshake(test, tlsPort, ["acme-tls/1"]);
        assert.equal(socket.alpnProtocol, "acme-tls/1");
        assert.equal(shownBy(socket), "CN=challenge");
        socket.resume();
        await once(socket, "end");
      });

      for (const [when, settings, closing] of [
        ["after the timeout of handshakes", { handshakeTimeout: 50 }, { keepIdle: true }],
        ["at once if the node stops", {}, {}],
      ] as const)
        it(`ends the connection of a client that does not close it ${when}, without a log line`, async (test) => {
          const { tlsPort, proxy, log } = await start(test, settings);
          const socket = await handshake(test, tlsPort, ["acme-tls/1"], { allowHalfOpen: true });
          await once(socket.resume(), "end");
          // Waits until all connections have ended.
          await proxy.close(closing);
          assert.deepEqual(log, []);
        });

      it("presents the usual certificate to clients that offer other protocols", async (test) => {
        const { tlsPort } = await start(test);
        for (const protocols of [["http/1.1"], ["acme-tls/1", "http/1.1"]]) {
          const socket = await handshake(test, tlsPort, protocols);
          assert.equal(socket.alpnProtocol, "http/1.1");
          assert.equal(shownBy(socket), "CN=shop");
        }
      });
    });

    it("fails the handshake for the name of a certificate that is not issued yet", async (test) => {
      const { tlsPort } = await startRig(test, engine, { certificates: {}, challenges: [http] });
      await assert.rejects(handshake(test, tlsPort, ["acme-tls/1"]));
    });
  });
}
