/**
 * Runs the commands of the page about ingress-nginx, on a cluster with real pods and an Ingress of another controller.
 */
import assert from "node:assert/strict";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { writeCommand } from "../../../tools/cluster/command.ts";
import { freePort, startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { cacheFolder } from "../../../tools/programs/obtain/cache.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { runPage } from "../run-page.ts";

const program =
  'require("node:http").createServer((_, response) => response.end("hello from the shop\\n")).listen(8080)';

const labels = { app: "shop" };

/** What the reader of the page has: a workload, and an Ingress that ingress-nginx serves. */
const shop: readonly object[] = [
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: "nginx" },
    spec: { controller: "k8s.io/ingress-nginx" },
  },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "shop" },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name: "shop",
              image: "sluice/gateway:0.1.0",
              imagePullPolicy: "IfNotPresent",
              command: ["node", "--eval", program],
              readinessProbe: { httpGet: { path: "/", port: 8080 }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "shop" },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: "shop",
      annotations: {
        "nginx.ingress.kubernetes.io/proxy-body-size": "8m",
        "nginx.ingress.kubernetes.io/custom-http-errors": "503",
      },
    },
    spec: {
      ingressClassName: "nginx",
      rules: [
        {
          host: "shop.example",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "shop", port: { number: 80 } } } }],
          },
        },
      ],
    },
  },
];

test("the commands of leave-ingress-nginx.md print what the page shows", async (context) => {
  const folder = temporaryFolder("leave-ingress-nginx");
  context.after(() => folder.remove());
  // The page requires Helm on the PATH.
  writeCommand(folder.path, "helm", [await obtainTool("helm")]);
  const work = join(folder.path, "work");
  const shared = { SLUICE_CACHE: cacheFolder(), SLUICE_WORK: work, HOME: folder.path };
  const cluster = await startProcess("npm", ["run", "cluster", "--", "--pods"], {
    name: "cluster",
    env: { ...shared, NODE_TEST_CONTEXT: undefined },
    ready: /Ctrl-C ends the cluster/,
    timeout: 600_000,
  });
  context.after(() => cluster.stop());
  const env = {
    ...shared,
    KUBECONFIG: join(work, "cluster/kubeconfig"),
    PATH: [folder.path, join(work, "cluster/bin"), process.env.PATH].join(delimiter),
  };
  const apply = await startProcess("sh", ["-c", "kubectl apply -f - <<EOF\n$OBJECTS\nEOF"], {
    name: "kubectl",
    env: { ...env, OBJECTS: JSON.stringify({ apiVersion: "v1", kind: "List", items: shop }) },
  });
  assert.equal((await apply.ended()).code, 0, apply.tail());
  const port = await freePort();
  const steps = await runPage(context, "docs/how-to/leave-ingress-nginx.md", {
    env,
    replaced: { "8000:80": `${port}:80`, ":8000": `:${port}` },
  });
  assert.ok(steps.filter(({ output }) => output !== "").length >= 3);
});
