import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { applyChange, changeBetween, emptySnapshot, snapshotToDocument } from "@sluice/model";
import { waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { startTestNode } from "../testing-node.ts";
import { createNodeConnector, PushRefusedError } from "./node-client.ts";

const { value: snapshot = emptySnapshot } = applyChange(emptySnapshot, {
  put: { services: [{ name: "users", url: "http://users.test" }] },
  remove: {},
});
const document = snapshotToDocument(snapshot);

async function scene(t: TestContext, token = "token", timeout = 2000) {
  const node = await startTestNode("token");
  const connector = createNodeConnector({ token, timeout });
  const abort = new AbortController();
  const broken: string[] = [];
  t.after(async () => {
    await node.stop();
    await connector.close();
  });
  return {
    node,
    abort,
    broken,
    client: connector.connect(node.address, { signal: abort.signal, onDisconnect: () => broken.push("broken") }),
  };
}

test("a node acknowledges a document with its hash, and runs the document from then on", async (t) => {
  const { client, node } = await scene(t);
  assert.equal((await client.state()).hash, null);
  assert.equal((await client.put({ revision: 4, document })).hash, snapshot.hash);
  assert.deepEqual([(await client.state()).revision, node.snapshot?.hash], [4, snapshot.hash]);
});

test("a document that is large even when compressed arrives complete", async (t) => {
  const { client, node } = await scene(t);
  const services = Array.from({ length: 2000 }, () => ({ name: randomUUID(), url: `http://${randomUUID()}.test` }));
  const { value: long = emptySnapshot } = applyChange(emptySnapshot, { put: { services }, remove: {} });
  const sent = snapshotToDocument(long);
  assert.ok(gzipSync(JSON.stringify(sent)).length > 100_000);
  assert.equal((await client.put({ revision: 1, document: sent })).hash, long.hash);
  assert.equal(node.snapshot?.services.size, 2000);
});

test("a change is stale when the node does not run the base of the change", async (t) => {
  const { client } = await scene(t);
  const change = changeBetween(emptySnapshot, snapshot);
  assert.equal(await client.patch({ revision: 1, base: emptySnapshot.hash, change }), "stale");
});

test("a push that the node refuses throws PushRefusedError with the first violation", async (t) => {
  const { client } = await scene(t);
  const push = { revision: 1, document: { _format_version: "3.0", services: [{ name: "users" }] } };
  await assert.rejects(client.put(push), (error: Error) => {
    assert.ok(error instanceof PushRefusedError);
    assert.match(error.message, /^400: the document is refused \(services\.0\.host: required field missing\)$/);
    return true;
  });
});

for (const status of [401, 408, 429, 500, 503])
  test(`a response of ${status} may be temporary: it is not a refusal`, async (t) => {
    const { client, node } = await scene(t);
    node.answerWith(status);
    await assert.rejects(client.put({ revision: 1, document }), (error: Error) => {
      assert.deepEqual([error instanceof PushRefusedError, error.message], [false, `${status}: refused by the test`]);
      return true;
    });
  });

test("a request with a token other than the node's is refused", async (t) => {
  const { client } = await scene(t, "another");
  await assert.rejects(client.state(), /^Error: 401: not the operator$/);
});

for (const [what, isOurs, name, expected] of [
  ["the certificate of a node", true, "node", 1],
  ["a certificate for another name", true, "operator", 0],
  ["a node's certificate that another authority signed", false, "node", 0],
] as const)
  test(`a listener that presents ${what} is sent ${expected === 0 ? "nothing" : "the document"}`, async (t) => {
    const authority = await makeAuthority();
    const own = await authority.issue({ name: "operator", sans: ["operator"], usage: "client" });
    const shown = await (isOurs ? authority : await makeAuthority()).issue({ name, sans: [name], usage: "server" });
    const received: string[] = [];
    const server = createTlsServer({ cert: shown.certificate, key: shown.key }, async (request, response) => {
      for await (const bytes of request) received.push(`${bytes}`);
      response.end("{}");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const tls = { cert: own.certificate, key: own.key, ca: authority.certificate, serverName: "node" };
    const connector = createNodeConnector({ tls });
    t.after(async () => {
      await connector.close();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const client = connector.connect(`https://127.0.0.1:${port}`, { signal: new AbortController().signal });
    await assert.rejects(client.put({ revision: 1, document }));
    assert.equal(received.length, expected);
  });

test("a call in progress is rejected when the node is removed", async (t) => {
  const { client, node, abort } = await scene(t);
  await client.state();
  node.freeze();
  const call = client.put({ revision: 1, document });
  abort.abort();
  await assert.rejects(call, { name: "AbortError" });
});

test("the error of a call that gets no response has the time limit", async (t) => {
  const { client, node } = await scene(t, "token", 100);
  await client.state();
  node.freeze();
  await assert.rejects(client.state(), { message: "no response within 0.1 s" });
});

test("a call that is still connecting is rejected when the node is removed", async (t) => {
  const accepted = Promise.withResolvers<Socket>();
  // The server never answers the client's TLS handshake.
  const server = createServer(accepted.resolve);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const authority = await makeAuthority();
  const { certificate: cert, key } = await authority.issue({ name: "operator", sans: ["operator"], usage: "client" });
  const connector = createNodeConnector({ tls: { cert, key, ca: authority.certificate, serverName: "node" } });
  t.after(async () => {
    (await accepted.promise).destroy();
    server.close();
    await connector.close();
  });
  const abort = new AbortController();
  const { port } = server.address() as AddressInfo;
  const call = connector.connect(`https://127.0.0.1:${port}`, { signal: abort.signal }).state();
  await accepted.promise;
  abort.abort();
  await assert.rejects(call, { name: "AbortError" });
});

test("a closed connection of an idle node is reported, but not after the node is removed", async (t) => {
  const { client, node, abort, broken } = await scene(t);
  await client.state();
  assert.deepEqual(broken, []);
  await node.restart();
  await waitFor(() => broken.length > 0, { what: "the closed connection to be reported" });
  await client.state();
  abort.abort();
  const count = broken.length;
  await node.stop();
  await assert.rejects(client.state());
  assert.equal(broken.length, count);
});
