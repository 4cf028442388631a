import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClusterObject, Conflict, type Resource, ResourceRejected } from "@sluice/crds";
import { pino } from "pino";
import { waitFor } from "../../../tools/process/index.ts";
import type { CertificatePair } from "../certificates/authority.ts";
import { rotateWebhookCertificate } from "./webhook-certificate.ts";

const configuration = (uid: string): ClusterObject => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "webhook", uid, resourceVersion: "1" },
  webhooks: [
    { name: "a.sluice.dev", clientConfig: { service: { namespace: "sluice", name: "webhook" } } },
    { name: "b.sluice.dev", clientConfig: { url: "https://127.0.0.1:1/validate" } },
  ],
});

/**
 * Starts the rotation on a fake API server that has the configuration `found` and rejects the first writes of a Secret
 * with `refusals`. test/product/cluster/webhook.ts uses a real API server.
 */
async function scene(found: ClusterObject | null, refusals: Error[] = []) {
  const abort = new AbortController();
  const shown: CertificatePair[] = [];
  const lines: string[] = [];
  const written: ClusterObject[] = [];
  let secret: Resource | null = null;
  const kept = rotateWebhookCertificate({
    client: {
      get: async () => secret,
      async apply(_kind, resource) {
        const refusal = refusals.shift();
        if (refusal) throw refusal;
        secret = { ...resource, metadata: { ...resource.metadata, uid: "1", resourceVersion: "1" } };
        return secret;
      },
    },
    objects: {
      get: async () => found,
      async apply(_kind, object) {
        written.push(object);
        return object;
      },
    },
    name: "webhook",
    secretNamespace: "sluice",
    manager: "sluice-operator",
    onCertificate: (pair) => shown.push(pair),
    log: pino({}, { write: (line: string) => void lines.push(line) }),
    signal: abort.signal,
    interval: 20,
  });
  return {
    shown,
    lines,
    written,
    async end() {
      abort.abort();
      await kept;
    },
  };
}

test("every webhook of the configuration gets the authority as caBundle, and no other setting is written", async () => {
  const { shown, written, end } = await scene(configuration("1"));
  await waitFor(() => shown.length > 0, { what: "a certificate" });
  await end();
  const [first] = written;
  const webhooks = first?.webhooks as readonly { readonly clientConfig: { readonly caBundle: string } }[];
  const caBundle = webhooks[0]?.clientConfig.caBundle ?? "";
  assert.match(Buffer.from(caBundle, "base64").toString(), /^-----BEGIN CERTIFICATE-----/);
  assert.deepEqual(first, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "webhook", resourceVersion: "1" },
    webhooks: ["a.sluice.dev", "b.sluice.dev"].map((name) => ({ name, clientConfig: { caBundle } })),
  });
});

test("without a ValidatingWebhookConfiguration no certificate is created, and the log names what is missing", async () => {
  const { shown, lines, end } = await scene(null);
  await waitFor(() => lines.length > 1, { what: "two checks to be logged" });
  await end();
  assert.equal(shown.length, 0);
  assert.match(
    lines[0] ?? "",
    /there is no ValidatingWebhookConfiguration webhook: resources are not validated at kubectl apply/,
  );
});

test("a missing permission is logged, and rotation is retried", async () => {
  const { shown, lines, end } = await scene(configuration("1"), [
    new ResourceRejected('cannot create resource "secrets"'),
  ]);
  await waitFor(() => shown.length > 0, { what: "a certificate" });
  await end();
  assert.match(lines[0] ?? "", /cannot create resource \\"secrets\\"/);
});

test("after a conflict with another replica the rotation is retried, and the conflict is not logged", async () => {
  const { shown, lines, end } = await scene(configuration("1"), [new Conflict("exists", "already exists")]);
  await waitFor(() => shown.length > 0, { what: "a certificate" });
  await end();
  assert.doesNotMatch(lines.join(""), /already exists/);
});
