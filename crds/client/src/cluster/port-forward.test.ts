/** Forwarding to a Service, with a fake API server that has only the four endpoints that forwarding needs. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { WebSocketServer } from "ws";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { forwardService } from "./port-forward.ts";

const labels = { "app.kubernetes.io/component": "admin" };
const folder = temporaryFolder("port-forward");
const kubeconfig = join(folder.path, "kubeconfig");
let upstream: Server;
let apiServer: Server;
let ready = "True";

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const listening = (server: Server) => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));

before(async () => {
  upstream = createServer((request, response) => void response.end(`answer to ${request.url}`));
  await listening(upstream);
  apiServer = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://a");
    const selector = searchParams.get("labelSelector");
    const items =
      pathname === "/api/v1/namespaces/gateway/services" && selector === "app.kubernetes.io/component=admin"
        ? [
            {
              metadata: { name: "sluice-admin" },
              spec: { selector: { app: "x" }, ports: [{ port: 8001, targetPort: "admin" }] },
            },
          ]
        : pathname === "/api/v1/namespaces/gateway/pods" && selector === "app=x"
          ? [
              {
                metadata: { name: "sluice-admin-1" },
                spec: { containers: [{ ports: [{ name: "admin", containerPort: 8001 }] }] },
                status: { conditions: [{ type: "Ready", status: ready }] },
              },
            ]
          : [];
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ items }));
  });
  // The protocol of the API server: the number of the stream in the first byte, and the port in the first message.
  new WebSocketServer({ server: apiServer, handleProtocols: (offered) => [...offered][0] ?? false }).on(
    "connection",
    (socket, { url }) => {
      assert.equal(url, "/api/v1/namespaces/gateway/pods/sluice-admin-1/portforward?ports=8001");
      for (const stream of [0, 1]) socket.send(Buffer.from([stream, 8001 & 0xff, 8001 >> 8]));
      const pod = connect(portOf(upstream), "127.0.0.1");
      socket.on("message", (data) => void pod.write((data as Buffer<ArrayBuffer>).subarray(1)));
      pod.on("data", (data: Buffer) => socket.send(Buffer.concat([Buffer.from([0]), data])));
      pod.once("close", () => socket.close());
      socket.once("close", () => pod.destroy());
    },
  );
  await listening(apiServer);
  const named = {
    name: "local",
    cluster: { server: `http://127.0.0.1:${portOf(apiServer)}`, "insecure-skip-tls-verify": true },
  };
  const context = { name: "local", context: { cluster: "local", user: "me", namespace: "gateway" } };
  const text = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [named],
    users: [{ name: "me", user: {} }],
    contexts: [context],
    "current-context": "local",
  };
  writeFileSync(kubeconfig, JSON.stringify(text));
});
after(() => {
  for (const server of [upstream, apiServer]) {
    server.closeAllConnections();
    server.close();
  }
  folder.remove();
});

test("requests to the forwarded port reach a ready pod of the Service", async (context) => {
  const forwarded = await forwardService({ kubeconfig, labels });
  context.after(() => forwarded.close());
  assert.equal(forwarded.service, "gateway/sluice-admin");
  for (const path of ["/a", "/b"]) {
    const response = await fetch(`http://127.0.0.1:${forwarded.port}${path}`);
    assert.equal(await response.text(), `answer to ${path}`);
  }
});

test("a missing Service, pod or context is named", async () => {
  await assert.rejects(
    forwardService({ kubeconfig, labels, namespace: "other" }),
    /^KubeconfigError: there is no Service with the labels app\.kubernetes\.io\/component=admin in the namespace other of the context local$/,
  );
  await assert.rejects(forwardService({ kubeconfig, labels, context: "prod" }), /has no context prod; it has local$/);
  ready = "False";
  await assert.rejects(forwardService({ kubeconfig, labels }), /no pod of the Service sluice-admin is ready/);
});
