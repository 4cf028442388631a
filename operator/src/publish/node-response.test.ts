import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNodeState, parsePushRefusal, readNodeResponse } from "./node-response.ts";

const state = { node: "a", hash: null, revision: 0, version: "1" };
async function* body(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}
const read = async (...texts: readonly string[]) => parseNodeState(await readNodeResponse(body(...texts)));

test("a node's state is read however its response is chunked", async () => {
  assert.deepEqual(await read('{"node":"a","hash":null,', '"revision":0,"version":"1"}'), state);
  const failedListeners = [{ name: "a/b/c", port: 80, reason: "in use" }];
  const some = { ...state, hash: "h", revision: 3, term: 2, pluginSet: "p", missingPlugins: ["x"], statusPort: 8007 };
  const more = { ...some, failedListeners };
  assert.deepEqual(parseNodeState({ ...more, other: "member" }), more);
});

const others: readonly (readonly [what: string, ...texts: readonly string[]])[] = [
  ["that is a web page", "<html>Welcome!</html>"],
  ["that is empty", ""],
  ["that is half a state", '{"node":"a"'],
  ["that is a list", "[]"],
  ["that is null", "null"],
  ["that is an unrelated object", '{"hello":"world"}'],
  ...[
    { node: 7 },
    { hash: 7 },
    { revision: "1" },
    { revision: -1 },
    { revision: 1e300 },
    { term: "2" },
    { term: 0.5 },
    { version: null },
    { statusPort: 70_000 },
    { pluginSet: 1 },
    { missingPlugins: "x" },
    { missingPlugins: [1] },
    { failedListeners: [{ name: "a", port: "80", reason: "" }] },
  ].map((wrong) => [`with ${JSON.stringify(wrong)}`, JSON.stringify({ ...state, ...wrong })] as const),
];
for (const [what, ...texts] of others)
  test(`a response ${what} is refused`, () =>
    assert.rejects(read(...texts), /^Error: the response is not from a node: /));

test("a response that is too long is not read to its end", async () => {
  let given = 0;
  async function* endless(): AsyncGenerator<Buffer> {
    for (;;) {
      given += 65_536;
      yield Buffer.alloc(65_536, " ");
    }
  }
  await assert.rejects(readNodeResponse(endless()), /more than 1048576 bytes/);
  assert.ok(given <= 2 * 1024 * 1024);
});

test("the message and the valid violations of a refusal are read, and a missing message is replaced", () => {
  assert.deepEqual(parsePushRefusal({}), { message: "no reason is given", violations: [] });
  const violation = { path: ["a", 0], message: "is wrong" };
  assert.deepEqual(parsePushRefusal({ message: "no", violations: [violation, null, "x", { path: "a" }] }), {
    message: "no",
    violations: [violation],
  });
});
