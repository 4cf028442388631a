import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import type { WaitResponse } from "@sluice/model";
import { NodesUnreachable } from "../store.ts";
import { awaitNodes, createOperatorClient } from "./operator-client.ts";

const good: WaitResponse = {
  programmed: true,
  revision: 1,
  acknowledged: ["a"],
  lagging: [],
  silent: [],
  problems: [],
};
const written = Array.from({ length: 250 }, (_, index) => ({ kind: "Plugin", namespace: "a", name: `${index}` }));

test("a wait for more than a hundred resources sends several requests", async () => {
  const asked: number[] = [];
  const answer = await awaitNodes(written, 1, async ({ resources }) => {
    asked.push(resources.length);
    return good;
  });
  assert.deepEqual(answer, good);
  assert.deepEqual(asked, [100, 100, 50]);
});

test("a node that lags in one of several responses counts as lagging", async () => {
  const answers = [good, { ...good, programmed: false, acknowledged: [], lagging: ["a"] }, good];
  const answer = await awaitNodes(written, 1, async () => answers.shift() ?? null);
  assert.deepEqual(answer, { ...good, programmed: false, acknowledged: [], lagging: ["a"] });
});

test("the result is unknown if one of several requests fails", async () => {
  const answers = [good, null, good];
  assert.equal(await awaitNodes(written, 1, async () => answers.shift() ?? null), null);
});

const call = { plugin: "id", request: { method: "DELETE", path: ["caches"], query: {} } } as const;
const silentLog = { info() {}, warn() {}, error() {} };

/**
 * A client of an operator that sends the same response to every request, and the Authorization header of each request
 * that the operator received.
 */
async function clientOf(t: TestContext, token: string | null, status: number, body: object) {
  const authorizations: (string | undefined)[] = [];
  const server = createServer(({ headers }, response) => {
    authorizations.push(headers.authorization);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const closing = new AbortController();
  t.after(() => {
    closing.abort();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createOperatorClient({ url, token, log: silentLog, signal: closing.signal });
  return { client, authorizations };
}

test("a request to an endpoint of a plugin carries the token, and no other request does", async (t) => {
  const results = { answered: [{ node: "a", response: null }], unanswered: [] };
  const { client, authorizations } = await clientOf(t, "secret", 200, results);
  assert.deepEqual(await client.askPlugin(call), results);
  await client.status();
  await client.wait(written.slice(0, 1), 1);
  assert.deepEqual(authorizations, ["Bearer secret", undefined, undefined]);
});

for (const [what, token, status, body, message] of [
  ["without a token, and no request is sent", null, 200, {}, /set SLUICE_OPERATOR_TOKEN here and in the operator/],
  [
    "if the operator refuses",
    "x",
    401,
    { message: "the bearer token is wrong" },
    /it answered 401: the bearer token is wrong/,
  ],
  ["if another program answers", "x", 200, { hello: 1 }, /is not a response of the operator/],
] as const)
  test(`the nodes cannot be asked ${what}`, async (t) => {
    const { client, authorizations } = await clientOf(t, token, status, body);
    await assert.rejects(
      client.askPlugin(call),
      (error) => error instanceof NodesUnreachable && message.test(error.message),
    );
    assert.equal(authorizations.length, token === null ? 0 : 1);
  });
