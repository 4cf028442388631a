import assert from "node:assert/strict";
import { test } from "node:test";
import { declarativeViolation, describeViolation } from "./describe.ts";

const message = "m";

for (const [violation, sentence] of [
  [{ path: [], message }, "m"],
  [{ path: ["services", 0, "paths", 1], message }, "services[0].paths[1]: m"],
  [{ path: ["services", 0, "@entity"], message }, "services[0]: m"],
  [{ path: ["routes", 0, "headers", "x y"], message }, 'routes[0].headers["x y"]: m'],
  [{ path: ["a"], message, position: { line: 2, column: 3 } }, "2:3: a: m"],
  [{ path: [], message, position: { file: "k.yaml", line: 2, column: 3 } }, "k.yaml:2:3: m"],
  [{ path: ["a"], message: "x\ny\u001b[31m\u009b" }, "a: x\\x0ay\\x1b[31m\\x9b"],
] as const) {
  test(`a violation is described as ${sentence}`, () => assert.equal(describeViolation(violation), sentence));
}

test("declarativeViolation returns Kong's response to an invalid document, whose fields mirror the document", () => {
  assert.deepEqual(
    declarativeViolation([
      { path: ["services", 1], message: "already declared" },
      { path: ["services", 0, "routes", 2, "host"], message: 'a "b"' },
      { path: ["services", 0, "routes", 2, "@entity"], message: "one of" },
      { path: ["routes", 0, "headers", "x-y"], message },
    ]),
    {
      code: 14,
      name: "invalid declarative configuration",
      message:
        'declarative config is invalid: {routes={{headers={["x-y"]="m"}}},services={{routes={[3]={["@entity"]={"one of"},host="a \\"b\\""}}},"already declared"}}',
      fields: {
        services: [{ routes: [null, null, { "@entity": ["one of"], host: 'a "b"' }] }, "already declared"],
        routes: [{ headers: { "x-y": "m" } }],
      },
    },
  );
});
