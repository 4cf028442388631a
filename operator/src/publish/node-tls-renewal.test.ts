/** The connections to nodes when the operator's certificate is renewed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { createNodeConnector } from "./node-client.ts";

/** A node that can hold back its responses until the test releases them. */
async function scene(t: TestContext) {
  const authority = await makeAuthority();
  const { certificate, key } = await authority.issue({ name: "node", sans: ["node"], usage: "server" });
  const waiting: (() => void)[] = [];
  let patient = false;
  const asked: string[] = [];
  const server = createServer(
    { cert: certificate, key, ca: authority.certificate, requestCert: true },
    (request: IncomingMessage, response: ServerResponse) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      asked.push(String(subject.CN));
      const answer = () => response.end(JSON.stringify({ node: subject.CN, hash: null, revision: 0, version: "test" }));
      if (patient) waiting.push(answer);
      else answer();
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const show = async (name: string) => {
    const pair = await authority.issue({ name, sans: [name], usage: "client" });
    return { cert: pair.certificate, key: pair.key, ca: authority.certificate, serverName: "node" };
  };
  return {
    address: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    show,
    hold() {
      patient = true;
    },
    release() {
      patient = false;
      for (const answer of waiting.splice(0)) answer();
    },
  };
}

test("no node is called until there is a certificate", async (t) => {
  const { address, asked, show } = await scene(t);
  const connector = createNodeConnector({ tls: null });
  t.after(() => connector.close());
  const client = connector.connect(address, { signal: new AbortController().signal });
  await assert.rejects(client.state(), /there is no client certificate yet/);
  assert.deepEqual(asked, []);
  connector.replaceTls(await show("first"));
  assert.equal((await client.state()).node, "first");
});

test("a call in progress finishes on its connection, and the next call uses the new certificate", async (t) => {
  const { address, asked, show, hold, release } = await scene(t);
  const connector = createNodeConnector({ tls: await show("first") });
  t.after(() => connector.close());
  const client = connector.connect(address, { signal: new AbortController().signal });
  hold();
  const call = client.state();
  await waitFor(() => asked.length === 1, { what: "the call to arrive" });
  connector.replaceTls(await show("second"));
  const next = client.state();
  await waitFor(() => asked.length === 2, { what: "the next call to arrive" });
  release();
  assert.deepEqual([(await call).node, (await next).node], ["first", "second"]);
  assert.equal((await client.state()).node, "second");
});
