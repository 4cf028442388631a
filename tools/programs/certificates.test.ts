import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { type KeyPair, makeAuthority, type TestAuthority } from "./certificates.ts";

const authority = await makeAuthority();
const serving = await authority.issue({ name: "node", sans: ["127.0.0.1", "node.test"], usage: "server" });
const server = createServer({
  cert: serving.certificate,
  key: serving.key,
  ca: authority.certificate,
  requestCert: true,
  rejectUnauthorized: true,
});
server.on("tlsClientError", () => {});
server.on("secureConnection", (socket: TLSSocket) => {
  socket.end(JSON.stringify(socket.getPeerCertificate()));
  socket.on("error", () => {});
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
after(() => server.close());

/** The client's certificate as the server sees it. */
async function greet(client: KeyPair | undefined, trusted: TestAuthority, servername = "node.test") {
  const socket = connect({
    port: (server.address() as AddressInfo).port,
    host: "127.0.0.1",
    servername,
    ca: trusted.certificate,
    cert: client?.certificate,
    key: client?.key,
  });
  let text = "";
  for await (const chunk of socket) text += chunk;
  return JSON.parse(text);
}

test("a mutual TLS handshake succeeds, and the server reads the client's names", async () => {
  const sans = ["spiffe://test/operator", "operator.test", "127.0.0.2"];
  const client = await authority.issue({ name: "operator", organizations: ["testers"], sans, usage: "client" });
  const seen = await greet(client, authority);
  assert.deepEqual(seen.subject, { O: "testers", CN: "operator" });
  assert.equal(seen.subjectaltname, "URI:spiffe://test/operator, DNS:operator.test, IP Address:127.0.0.2");
});

test("a handshake fails without a client certificate, and with a certificate that the other side does not accept", async () => {
  const otherAuthority = await makeAuthority("other");
  const good = await authority.issue({ name: "operator", usage: "client" });
  const past = { notBefore: new Date("2020-01-01"), notAfter: new Date("2020-01-02") };
  const cases = {
    "no client certificate": () => greet(undefined, authority),
    "a client of another authority": async () =>
      greet(await otherAuthority.issue({ name: "x", usage: "client" }), authority),
    "a server's certificate as client": () => greet(serving, authority),
    "an expired client": async () => greet(await authority.issue({ name: "x", usage: "client", ...past }), authority),
    "a server of another authority": () => greet(good, otherAuthority),
    "a server of another name": () => greet(good, authority, "other.test"),
  };
  for (const [name, attempt] of Object.entries(cases)) await assert.rejects(attempt, name);
});
