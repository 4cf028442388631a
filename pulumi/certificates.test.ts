import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { test } from "node:test";
import { connect, createServer } from "node:tls";
import { makePushCertificates } from "./certificates.ts";

test("operator and gateway prove to each other who they are", async () => {
  const made = await makePushCertificates();
  const server = createServer({
    ca: made["ca.crt"],
    cert: made["gateway.crt"],
    key: made["gateway.key"],
    requestCert: true,
    rejectUnauthorized: true,
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const accepted = once(server, "secureConnection");
  const client = connect({
    port: address.port,
    host: "127.0.0.1",
    servername: "sluice-gateway",
    ca: made["ca.crt"],
    cert: made["operator.crt"],
    key: made["operator.key"],
  });
  await once(client, "secureConnect");
  const [socket] = await accepted;
  assert.equal(socket.getPeerCertificate().subjectaltname, "DNS:sluice-operator");
  client.destroy();
  server.close();
  await once(server, "close");
});

test("they are good for ten years, from an hour ago", async () => {
  const now = new Date("2026-01-02T03:04:05Z");
  const { "gateway.crt": pem } = await makePushCertificates(now);
  const certificate = new X509Certificate(pem);
  assert.equal(certificate.validFromDate.toISOString(), "2026-01-02T02:04:05.000Z");
  assert.equal(certificate.validToDate.toISOString(), "2036-01-02T03:04:05.000Z");
});
