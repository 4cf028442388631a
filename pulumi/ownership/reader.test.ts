import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { Config, RunError, runtime } from "@pulumi/pulumi";
import { createReader, type ExistingObject, hasGatewayApi } from "./reader.ts";

/** The paths of all requests. */
const asked: string[] = [];
/** An API server that responds to a read of a Secret with the status in the Secret's name: `status-403`. */
const server = createServer((request, response) => {
  asked.push(request.url ?? "");
  const [, status] = /status-(\d+)$/.exec(request.url ?? "") ?? [];
  const resources = [{ name: "secrets", kind: "Secret", namespaced: true, verbs: ["get"], singularName: "secret" }];
  const found = { apiVersion: "v1", kind: "Secret", metadata: { name: "a", labels: { team: "b" } } };
  const body = status === undefined ? { kind: "APIResourceList", groupVersion: "v1", resources } : found;
  response.writeHead(Number(status ?? 200), { "content-type": "application/json" }).end(JSON.stringify(body));
});

function kubeconfig(clusters: Readonly<Record<string, number>>): string {
  const [first = ""] = Object.keys(clusters);
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: Object.entries(clusters).map(([name, port]) => ({
      name,
      // Without insecure-skip-tls-verify, the client refuses plain HTTP.
      cluster: { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true },
    })),
    users: [{ name: "me", user: {} }],
    contexts: [{ name: "here", context: { cluster: first, user: "me" } }],
    "current-context": "here",
  });
}

function readerOf(config: Readonly<Record<string, string>>) {
  runtime.setAllConfig(Object.fromEntries(Object.entries(config).map(([key, text]) => [`kubernetes:${key}`, text])));
  const read = createReader(new Config("kubernetes"));
  return (name: string) => read({ apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "shop" } });
}

describe("an existing object", () => {
  let port: number;
  before(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    port = (server.address() as AddressInfo).port;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  test("is read with its labels", async () => {
    const found = await readerOf({ kubeconfig: kubeconfig({ a: port }) })("status-200");
    assert.deepEqual(found?.metadata.labels, { team: "b" });
    assert.equal(asked.at(-1), "/api/v1/namespaces/shop/secrets/status-200");
  });

  // After 401 or 403, the provider itself reports the missing permission.
  for (const status of [401, 403, 404])
    test(`counts as missing after a response ${status}`, async () => {
      assert.equal(await readerOf({ kubeconfig: kubeconfig({ a: port }) })(`status-${status}`), null);
    });

  for (const status of [429, 500, 503])
    test(`causes a RunError with the status after a response ${status}`, async () => {
      const reading = readerOf({ kubeconfig: kubeconfig({ a: port }) })(`status-${status}`);
      await assert.rejects(reading, (error) => RunError.isInstance(error) && error.message.includes(`${status}`));
    });

  test("counts as missing without a cluster", async () => {
    assert.equal(await readerOf({ kubeconfig: "/nowhere" })("status-200"), null);
  });

  test("is read from the cluster that the provider uses", async () => {
    const other = { kubeconfig: kubeconfig({ a: 1, b: port }), cluster: "b" };
    assert.notEqual(await readerOf(other)("status-200"), null);
  });
});

for (const [what, versions, expected] of [
  [
    "with the CRD",
    [
      { name: "v1beta1", served: true },
      { name: "v1", served: true },
    ],
    true,
  ],
  ["whose CRD is too old", [{ name: "v1beta1", served: true }], false],
  ["whose CRD does not serve v1", [{ name: "v1", served: false }], false],
  ["without the CRD", undefined, false],
] as const)
  test(`a cluster ${what} ${expected ? "serves" : "does not serve"} GatewayClasses`, async () => {
    const crd: ExistingObject = {
      kind: "CustomResourceDefinition",
      metadata: { name: "gatewayclasses" },
      spec: { versions },
    };
    assert.equal(await hasGatewayApi(async () => (versions ? crd : null)), expected);
  });
