/** Explanations of requests to the listeners of a document. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { applyChange, checkDocument, type DocumentListener } from "@sluice/model";
import { firstKeyPair } from "../../../tools/programs/pairs.ts";
import { type ExplainRig, startExplainRig } from "./testing-worker.ts";

const listener = (name: string, port: number, members: Partial<DocumentListener> = {}): DocumentListener => ({
  name,
  port,
  public_port: 80,
  protocol: "http",
  ...members,
});

let rig: ExplainRig;
before(async () => {
  rig = await startExplainRig();
  const on = (listeners: readonly string[], match: object = {}) => ({ _sluice: { priority: 1, listeners, match } });
  const document = {
    _format_version: "3.0",
    certificates: [{ cert: firstKeyPair.cert, key: firstKeyPair.key, _sluice: { listeners: ["a/tls"] } }],
    routes: [
      { name: "own", paths: ["/"] },
      { name: "web", paths: ["/"], ...on(["a/web", "a/tls"]) },
      {
        name: "strict",
        paths: ["/strict"],
        ...on(["b/web"], {
          headers: [{ name: "X-A", value: "1" }],
          query: [{ name: "q", value: "x+", type: "regex" }],
        }),
      },
    ],
  };
  const loaded = checkDocument(document);
  assert.deepEqual(loaded.violations, undefined);
  const listeners = [
    listener("a/web", 9000, { hostname: "a.example" }),
    listener("a/tls", 9443, { public_port: 443, protocol: "https" }),
    listener("a/pass", 9443, { public_port: 443, protocol: "tls_passthrough", hostname: "pass.example" }),
    listener("b/web", 9001, { hostname: "*.example" }),
    listener("c/web", 9002, { hostname: "*.test" }),
    listener("d/web", 9003, { hostname: "*.test" }),
  ];
  const { value, violations } = applyChange(loaded.value?.snapshot ?? assert.fail(), {
    ...{ put: {}, remove: {} },
    listeners: Object.fromEntries(listeners.map((one) => [one.name, one])),
  });
  rig.worker.swap(value ?? assert.fail(JSON.stringify(violations)));
});
after(() => rig[Symbol.asyncDispose]());

const rows: readonly (readonly [request: object, listener: string | null, route: string | null, status: number])[] = [
  [{ url: "http://a.example/" }, null, "own", 503],
  [{ url: "http://a.example/", port: 9000 }, "a/web", "web", 503],
  [{ url: "https://a.example/", port: 443 }, "a/tls", "web", 503],
  [{ url: "http://b.example/", port: 80 }, "b/web", null, 404],
  [{ url: "http://a.test/", port: 9003 }, "d/web", null, 404],
  [{ url: "http://a.test/", port: 9000 }, null, null, 404],
];
for (const [request, expected, route, status] of rows)
  test(`the request ${JSON.stringify(request)} reaches the listener ${expected}`, async () => {
    const explained = await rig.explain(request);
    assert.deepEqual(
      [explained.listener, explained.route?.name ?? null, explained.response?.status],
      [expected, route, status],
    );
  });

const faults: readonly (readonly [request: object, unknown: RegExp])[] = [
  [{ url: "http://a.test/", port: 80 }, /^several listeners have the port 80: .*; there are 9002 \(c\/web\), 9003 \(d/],
  [{ url: "http://a.test/", port: 81 }, /^no listener has the port 81; there are /],
  [{ url: "https://pass.example/", port: 443 }, /^the listener a\/pass has the protocol tls_passthrough: /],
  [{ url: "https://a.example/", port: 9000 }, /^the listeners of the port 9000 do not serve https URLs$/],
];
for (const [request, unknown] of faults)
  test(`the request ${JSON.stringify(request)} cannot be explained`, async () =>
    assert.match((await rig.explain(request)).unknown ?? "", unknown));

test("the certificate of the listener and the conditions that do not hold are explained", async () => {
  const { handshake } = await rig.explain({ url: "https://a.example/", port: 9443 });
  assert.equal(handshake?.sni, "a/tls");
  assert.notEqual(handshake?.certificate, null);
  const reasonOf = async (request: object) => {
    const { candidates } = await rig.explain({ port: 9001, ...request });
    return candidates.map(({ attribute, reason }) => [attribute, reason]);
  };
  const url = "http://b.example/strict?q=y";
  assert.deepEqual(await reasonOf({ url }), [["header", "the header x-a is not 1"]]);
  assert.deepEqual(await reasonOf({ url, headers: { "X-A": "1" } }), [
    ["query", "the query parameter q does not match x+"],
  ]);
});
