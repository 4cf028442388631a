/**
 * Runs the commands of the page about other implementations of the Gateway API, on a cluster with real pods. The other
 * implementation itself does not run: its Gateway, and the status that it writes, are there.
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
const controllerName = "gateway.envoyproxy.io/gatewayclass-controller";

const ofGatewayApi = (kind: string, metadata: object, spec: object) => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind,
  metadata,
  spec,
});

const httpRoute = (name: string, path: string, more: object = {}) =>
  ofGatewayApi(
    "HTTPRoute",
    { name, namespace: "shop" },
    {
      parentRefs: [{ name: "public", namespace: "infra" }],
      hostnames: ["shop.example"],
      rules: [{ matches: [{ path: { value: path } }], backendRefs: [{ name: "shop", port: 80 }], ...more }],
    },
  );

/** What the reader of the page has: a workload, and a Gateway and routes that another implementation serves. */
const objects: readonly object[] = [
  ...["infra", "shop"].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  ofGatewayApi("GatewayClass", { name: "eg" }, { controllerName }),
  ofGatewayApi(
    "Gateway",
    { name: "public", namespace: "infra" },
    {
      gatewayClassName: "eg",
      listeners: [{ name: "http", protocol: "HTTP", port: 80, allowedRoutes: { namespaces: { from: "All" } } }],
    },
  ),
  httpRoute("shop", "/"),
  httpRoute("reports", "/reports", {
    filters: [
      {
        type: "ExtensionRef",
        extensionRef: { group: "gateway.envoyproxy.io", kind: "HTTPRouteFilter", name: "closed" },
      },
    ],
  }),
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "shop", namespace: "shop" },
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
    metadata: { name: "shop", namespace: "shop" },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  },
];

const status = {
  parents: [
    {
      parentRef: { name: "public", namespace: "infra" },
      controllerName,
      conditions: ["Accepted", "ResolvedRefs"].map((type) => ({
        type,
        status: "True",
        reason: type,
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      })),
    },
  ],
};

test("the commands of leave-another-gateway.md print what the page shows", async (context) => {
  const folder = temporaryFolder("leave-another-gateway");
  context.after(() => folder.remove());
  // The page requires Helm on the PATH.
  writeCommand(folder.path, "helm", [await obtainTool("helm")]);
  const crds = await obtainTool("gateway-api-crds");
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
  const prepare = await startProcess(
    "bash",
    [
      "-ec",
      `kubectl apply --server-side -f '${crds}'
kubectl wait --for=condition=Established crd --all --timeout=30s
kubectl apply -f - <<EOF
$OBJECTS
EOF
for route in shop reports; do
  kubectl --namespace shop patch httproute $route --subresource=status --type=merge -p "$STATUS"
done`,
    ],
    {
      name: "kubectl",
      env: {
        ...env,
        OBJECTS: JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
        STATUS: JSON.stringify({ status }),
      },
    },
  );
  assert.equal((await prepare.ended()).code, 0, prepare.tail());
  const port = await freePort();
  const steps = await runPage(context, "docs/how-to/leave-another-gateway.md", {
    env,
    replaced: { "8000:80": `${port}:80`, ":8000": `:${port}` },
  });
  assert.ok(steps.filter(({ output }) => output !== "").length >= 3);
});
