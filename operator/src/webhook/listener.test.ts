import assert from "node:assert/strict";
import { request } from "node:https";
import { after, before, describe, test } from "node:test";
import { connect } from "node:tls";
import { Registry } from "prom-client";
import { type KeyPair, makeAuthority } from "../../../tools/programs/certificates.ts";
import { renegotiationError } from "../../../tools/programs/renegotiation.ts";
import { listenForReviews, type WebhookListener } from "./listener.ts";

const question = {
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "1",
    operation: "CREATE",
    namespace: "default",
    name: "a",
    object: { apiVersion: "sluice.dev/v1alpha1", kind: "Route", metadata: { name: "a" }, spec: { paths: ["~/("] } },
  },
};

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly type?: string | null;
  readonly body?: string;
}

const registry = new Registry();
let listener: WebhookListener;
let ca: string;
let pairs: readonly KeyPair[];
before(async () => {
  const authority = await makeAuthority();
  ca = authority.certificate;
  const issue = () => authority.issue({ name: "webhook", sans: ["127.0.0.1"], usage: "server" });
  pairs = [await issue(), await issue()];
  listener = await listenForReviews({
    listen: { host: "127.0.0.1", port: 0 },
    homeNamespace: "default",
    isOwn: () => true,
    registry,
  });
});
after(() => listener?.close());

function show(index: number): void {
  const pair = pairs[index];
  assert.ok(pair);
  listener.setCertificate(pair);
}

function ask({ method = "POST", path = "/validate", type = "application/json", body }: Asked = {}) {
  const { host, port } = listener.address;
  const headers = type === null ? {} : { "content-type": type };
  return new Promise<{ status: number | undefined; allow: string | undefined; text: string }>((resolve, reject) => {
    const call = request({ host, port, method, path, headers, ca, agent: false }, async (response) => {
      const text = (await response.setEncoding("utf8").toArray()).join("");
      resolve({ status: response.statusCode, allow: response.headers.allow, text });
    });
    call.on("error", reject).end(method === "GET" ? undefined : (body ?? JSON.stringify(question)));
  });
}

/** The serial number of the certificate that a new connection sees. */
const shown = () =>
  new Promise<string>((resolve, reject) => {
    const socket = connect({ host: listener.address.host, port: listener.address.port, ca }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    }).on("error", reject);
  });

describe("the webhook's listener", { concurrency: false }, () => {
  test("accepts no connection before it has a certificate", async () => {
    await assert.rejects(ask(), /handshake failure|no suitable|ECONNRESET|alert/i);
  });

  test("answers a review over TLS", async () => {
    show(0);
    const { status, text } = await ask();
    assert.equal(status, 200);
    const { response } = JSON.parse(text);
    assert.deepEqual([response.uid, response.allowed, response.status.code], ["1", false, 422]);
  });

  const big = JSON.stringify({ ...question, padding: "x".repeat(3 * 1024 * 1024) });
  for (const [what, asked, status] of [
    ["a body above 3 MiB", { body: big }, 413],
    ["a different content type", { type: "text/plain" }, 415],
    ["YAML", { type: "application/yaml" }, 415],
    ["no content type", { type: null }, 415],
    ["a body that is not JSON", { body: "{" }, 400],
    ["an empty body", { body: "" }, 400],
    ["a body that is not an AdmissionReview", { body: "{}" }, 400],
    ["GET", { method: "GET", type: null }, 405],
    ["PUT", { method: "PUT" }, 405],
    ["a different path", { path: "/" }, 404],
  ] as const)
    test(`answers ${what} with ${status}`, async () => {
      const answer = await ask(asked);
      assert.equal(answer.status, status, answer.text);
      if (status === 405) assert.equal(answer.allow, "POST");
    });

  test("counts reviews with controller-runtime's metric names", async () => {
    const text = await registry.metrics();
    const counted = (code: number) =>
      Number(text.match(`controller_runtime_webhook_requests_total{webhook="/validate",code="${code}"} (\\d+)`)?.[1]);
    assert.deepEqual([counted(200), counted(413), counted(405), counted(500)], [1, 1, 2, 0]);
    assert.match(text, /^controller_runtime_webhook_latency_seconds_count\{webhook="\/validate"\} 1[0-9]$/m);
    assert.match(text, /^controller_runtime_webhook_requests_in_flight\{webhook="\/validate"\} 0$/m);
  });

  test("accepts a body of just under 3 MiB", async () => {
    assert.equal((await ask({ body: big.replace("x".repeat(1024), "") })).status, 200);
  });

  test("uses a new certificate from the next connection on", async () => {
    const first = await shown();
    show(1);
    assert.notEqual(await shown(), first);
    assert.equal((await ask()).status, 200);
  });

  test("refuses TLS renegotiation", async () => {
    assert.ok(await renegotiationError(listener.address));
  });
});
