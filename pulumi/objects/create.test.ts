import assert from "node:assert/strict";
import { test } from "node:test";
import { runtime } from "@pulumi/pulumi";
import { registerInto } from "../testing.ts";
import { createPulumiObject } from "./create.ts";

for (const [what, spec, awaited] of [
  ["a Service within the cluster", {}, false],
  ["a Service on a port of every node", { type: "NodePort" }, false],
  ["a Service whose address a cloud assigns", { type: "LoadBalancer" }, true],
] as const) {
  test(`Pulumi ${awaited ? "waits" : "does not wait"} for ${what}`, async () => {
    const registered = registerInto();
    createPulumiObject({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "a", annotations: { note: "b" } },
      spec,
    });
    await runtime.disconnect();
    const metadata = registered[0]?.inputs.metadata;
    const expected = awaited ? { note: "b" } : { note: "b", "pulumi.com/skipAwait": "true" };
    assert.deepEqual(metadata, { name: "a", annotations: expected });
  });
}
