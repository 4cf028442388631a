/** A Gateway with nodes of its own, which are created, scaled, replaced, given up and created again under load. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { callersNamespace } from "./chart-callers-pod.ts";
import { allAnswered, chartLoadText, eachSeenOnce } from "./chart-load.ts";
import { type ChartScene, minutes, releaseNamespace } from "./chart-scene.ts";
import { release } from "./helm.ts";
import { keptAtATime } from "./load.ts";

const within = { timeout: 90_000, interval: 500 };
const label = "gateway.networking.k8s.io/gateway-name=own";

const inTheirs = (apiVersion: string, kind: string, name: string, spec: object) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: callersNamespace },
  spec,
});

const parameters = (spec: object) => inTheirs("sluice.dev/v1alpha1", "GatewayParameters", "own", spec);
const one = parameters({ deployment: { replicas: 1 } });
const shared = parameters({ nodes: "Shared" });

/** A Gateway, which gets nodes of its own by its class, and a route to the pod's upstream. */
const gatewayAndRoute = [
  inTheirs("gateway.networking.k8s.io/v1", "Gateway", "own", {
    gatewayClassName: "sluice",
    infrastructure: { parametersRef: { group: "sluice.dev", kind: "GatewayParameters", name: "own" } },
    listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
  }),
  inTheirs("gateway.networking.k8s.io/v1", "HTTPRoute", "own", {
    parentRefs: [{ name: "own" }],
    rules: [{ backendRefs: [{ name: "callers", port: 80 }] }],
  }),
];

interface UnderLoadOptions {
  readonly url: string;
  /** The maximum number of nodes that stop to serve the Gateway. */
  readonly nodesLess: number;
  readonly make: () => Promise<void>;
}

/** Makes a change under load. Asserts that every request is answered, and reaches the upstream once. */
async function underLoad(scene: ChartScene, t: TestContext, { url, nodesLess, make }: UnderLoadOptions): Promise<void> {
  const endLoad = await scene.callers.load({ url: `${url}/?takes=100`, headers: {}, every: 40 });
  let load: Awaited<ReturnType<typeof endLoad>>;
  try {
    await make();
  } finally {
    load = await endLoad();
  }
  t.diagnostic(chartLoadText(load));
  const meanwhile = await scene.kubectl("logs", `deployment/${release}-operator`, "--tail=20");
  allAnswered(load, { connectionsEnded: nodesLess * keptAtATime, meanwhile });
  eachSeenOnce(load, load.seen);
}

export function dedicatedNodes(scene: () => ChartScene): void {
  const kubectl: ChartScene["kubectl"] = (...args) => scene().kubectl(...args);
  const apply = (...items: readonly object[]) =>
    scene().cluster.kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const read = (kind: string, path: string) => kubectl("get", kind, "-l", label, "-o", `jsonpath={${path}}`);
  const words = async (kind: string, path: string) => (await read(kind, path)).split(" ").filter(Boolean).sort();
  const url = async () =>
    `http://${await read("services", '.items[?(@.spec.clusterIP!="None")].metadata.name')}.${releaseNamespace}.svc.cluster.local`;
  /** Addresses of the Gateway's own nodes, or of the release's. */
  const addresses = (labels: string) => () =>
    kubectl("get", "pods", "-l", labels, "-o", "jsonpath={.items[*].status.podIP}").then((found) =>
      found.split(" ").filter(Boolean).sort(),
    );
  const ownNodes = addresses(label);
  const sharedNodes = addresses("app.kubernetes.io/component=gateway");
  /** Addresses of the nodes that answer new connections to the Gateway. */
  async function answering(): Promise<readonly string[]> {
    const target = `${await url()}/?takes=0`;
    const once = () => scene().callers.ask(target, { headers: { connection: "close" } });
    const answers = await Promise.all(Array.from({ length: 20 }, once));
    return [...new Set(answers.map(({ status, body }) => (status === 200 ? body : `status ${status}`)))].sort();
  }
  const served = (what: string, nodes: () => Promise<readonly string[]>, count: number) =>
    waitFor(
      async () => {
        const [expected, found] = [await nodes(), await answering()];
        return expected.length === count && `${expected}` === `${found}`;
      },
      { what, ...within },
    );
  const programmed = () =>
    waitFor(
      async () => {
        const path = 'jsonpath={.status.conditions[?(@.type=="Programmed")].status}';
        return (await kubectl("get", "gateway", "own", "-n", callersNamespace, "-o", path)) === "True";
      },
      { what: "the Gateway to be Programmed", ...within },
    );

  test("a Gateway of the class sluice is served by nodes of its own, which have only its routes", {
    timeout: 3 * minutes,
  }, async () => {
    await apply(one, ...gatewayAndRoute);
    await programmed();
    await served("one node of the Gateway to answer", ownNodes, 1);
    const [node] = await ownNodes();
    const found = await scene().callers.ask(`http://${node}:8000/users/healthz`);
    assert.equal(found.status, 404, "a route of the shared nodes");
  });

  test("while a Gateway's own nodes scale from one to three and back, no request fails", {
    timeout: 4 * minutes,
  }, async (t) => {
    const make = async () => {
      await apply(parameters({ deployment: { replicas: 3 } }));
      await served("three nodes to answer", ownNodes, 3);
      await apply(one);
      await served("one node to answer", ownNodes, 1);
    };
    await underLoad(scene(), t, { url: await url(), nodesLess: 2, make });
  });

  test("while a Gateway's own nodes are replaced with those of the release, no request fails", {
    timeout: 4 * minutes,
  }, async (t) => {
    const before = await ownNodes();
    const make = async () => {
      await kubectl("rollout", "restart", `deployment/${release}-gateway`);
      await kubectl("rollout", "status", `deployment/${release}-gateway`, "--timeout=2m");
      await waitFor(async () => !(await ownNodes()).some((node) => before.includes(node)), {
        what: "the node to be replaced",
        ...within,
      });
      await served("the new node to answer", ownNodes, 1);
    };
    await underLoad(scene(), t, { url: await url(), nodesLess: 1, make });
  });

  test("while a Gateway moves to the shared nodes and back to its own, no request fails", {
    timeout: 5 * minutes,
  }, async (t) => {
    // Not the number of pods: pods of the rollout before may still be terminating.
    const shareds = Number(await kubectl("get", `deployment/${release}-gateway`, "-o", "jsonpath={.spec.replicas}"));
    const make = async () => {
      await apply(shared);
      await served("the shared nodes to answer", sharedNodes, shareds);
      await waitFor(async () => (await ownNodes()).length === 0, { what: "its own nodes to be removed", ...within });
      await programmed();
      await apply(one);
      await served("its own node to answer again", ownNodes, 1);
      const [port] = await words("services", ".items[*].spec.ports[?(@.port==80)].targetPort");
      const [node] = await sharedNodes();
      await waitFor(
        () =>
          scene()
            .callers.ask(`http://${node}:${port}/`)
            .then(
              () => false,
              () => true,
            ),
        {
          what: "the shared nodes to close the port of the Gateway",
          ...within,
        },
      );
      await programmed();
    };
    await underLoad(scene(), t, { url: await url(), nodesLess: 1 + shareds, make });
  });

  test("the nodes of a Gateway, and all their objects, are removed with the Gateway", {
    timeout: 2 * minutes,
  }, async () => {
    await scene().cluster.kubectl([
      "delete",
      "gateway/own",
      "httproute/own",
      "gatewayparameters/own",
      "-n",
      callersNamespace,
    ]);
    const kinds = "deployments,replicasets,pods,services,serviceaccounts,poddisruptionbudgets";
    await waitFor(async () => (await kubectl("get", kinds, "-l", label, "-o", "name")) === "", {
      what: "all objects to be removed",
      ...within,
    });
  });
}
