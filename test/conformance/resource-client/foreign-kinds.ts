/** Tests of resource clients with kinds that are not Sluice's. Part of the conformance suite. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { Resource, ResourceClient } from "@sluice/crds";
import type { LeaseHolder } from "./suite.ts";
import { createWitness } from "./witness.ts";

const manager = "sluice-admin";

export function describeForeignKinds(name: string, holder: () => LeaseHolder): void {
  describe(`${name} as a client of other kinds`, () => {
    let client: ResourceClient;
    let namespace: string;

    beforeEach(async () => {
      client = holder().client();
      namespace = await holder().namespace();
    });
    afterEach(() => client.close());

    test("replaces the status that a manager has applied, for the object with the given uid only", async () => {
      const at = { kind: "Ingress", namespace, name: "web" } as const;
      const spec = { defaultBackend: { service: { name: "web", port: { number: 80 } } } };
      const content = {
        apiVersion: "networking.k8s.io/v1",
        kind: "Ingress",
        metadata: { name: "web", namespace },
        spec,
      };
      const { uid } = (await client.apply("Ingress", content, { manager })).metadata;
      const addressed = (ip: string) => ({ loadBalancer: { ingress: [{ ip }] } });
      for (const ip of ["192.0.2.1", "192.0.2.2"]) await client.applyStatus(at, addressed(ip), { manager, uid });
      await client.applyStatus(at, addressed("192.0.2.3"), { manager, uid: "00000000-0000-4000-8000-000000000000" });
      assert.deepEqual((await client.get(at))?.status, addressed("192.0.2.2"));
    });

    test("returns the data of a Secret in base64", async () => {
      const secret: Resource = {
        apiVersion: "v1",
        kind: "Secret",
        type: "Opaque",
        metadata: { name: "key", namespace, labels: { "sluice.dev/credential": "key-auth" } },
        data: { key: Buffer.from("demo-key").toString("base64") },
      };
      await client.apply("Secret", secret, { manager });
      const [found] = await client.list("Secret", { namespace, labels: "sluice.dev/credential" });
      assert.deepEqual(found?.data, secret.data);
      assert.equal(found?.type, "Opaque");
    });

    test("finds Secrets with a TLS certificate by their type, even without Sluice's label", async () => {
      const data = { "tls.crt": "Yw==", "tls.key": "aw==" };
      const secret = (name: string, type: string): Resource => ({
        apiVersion: "v1",
        kind: "Secret",
        type,
        metadata: { name, namespace },
        data,
      });
      await client.apply("Secret", secret("other", "Opaque"), { manager });
      const stop = new AbortController();
      const witness = createWitness();
      const fields = "type=kubernetes.io/tls";
      client.watch("Secret", witness, { namespace, fields, signal: stop.signal });
      try {
        await witness.sees(({ reported }) => reported.length > 0, "the first list");
        await client.apply("Secret", secret("tls", "kubernetes.io/tls"), { manager });
        await witness.sees(({ reported }) => reported.length === 2, "the Secret");
        assert.deepEqual(witness.reported, ["replaced ", "changed tls"]);
        const found = await client.list("Secret", { namespace, fields });
        assert.deepEqual(
          found.map(({ metadata, data }) => [metadata.name, data]),
          [["tls", data]],
        );
      } finally {
        stop.abort();
      }
    });
  });
}
