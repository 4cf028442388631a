/** A pod in another namespace, with a program that uses the gateway through the gateway's Service. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Cluster } from "../../../tools/cluster/pods/cluster.ts";
import type { ReceivedCall } from "./chart-callers.ts";
import type { FollowersOptions, FollowersReport } from "./chart-followers.ts";
import type { CallLoadOptions, LoadReport } from "./load.ts";

/** The namespace of the pod, and of the core Service `callers`, whose port 80 is the pod's slow upstream. */
export const callersNamespace = "callers";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Callers {
  /** Sends one request from the pod. */
  ask(
    url: string,
    init?: { method?: string; headers?: Readonly<Record<string, string>>; body?: string },
  ): Promise<Answer>;
  /**
   * Makes the gateway forward the path /slow to the pod's upstream. The upstream answers with the address of the
   * gateway pod that sent the request, after 300 ms or the number of milliseconds in the query parameter `takes`.
   */
  serve(): Promise<unknown>;
  /**
   * Sends requests from the pod until the returned function is called. `seen` lists the requests that reached the
   * pod's upstream.
   */
  load(options: CallLoadOptions): Promise<() => Promise<LoadReport & { readonly seen: readonly ReceivedCall[] }>>;
  /** Runs subscribers in the pod until the returned function is called. Resolves when each has received an event. */
  followers(options: FollowersOptions): Promise<() => Promise<FollowersReport>>;
}

/** Resources in the pod's namespace that forward requests from the gateway to the pod's slow upstream. */
const slow = `
apiVersion: sluice.dev/v1alpha1
kind: Service
metadata: { name: slow }
spec: { backendRef: { name: callers, port: 80 } }
---
apiVersion: sluice.dev/v1alpha1
kind: Route
metadata: { name: slow }
spec: { serviceRef: { name: slow }, paths: [/slow] }
`;

const files = ["chart-callers.ts", "chart-followers.ts", "load.ts"];

/** The Kubernetes objects of the pod. Node.js in the image runs the TypeScript sources without a build. */
const objects = (image: string) => [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: callersNamespace } },
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "callers", namespace: callersNamespace },
    data: {
      "package.json": '{ "type": "module" }',
      ...Object.fromEntries(files.map((name) => [name, readFileSync(join(import.meta.dirname, name), "utf8")])),
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "callers", namespace: callersNamespace, labels: { app: "callers" } },
    spec: {
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      containers: [
        {
          name: "callers",
          image,
          imagePullPolicy: "Never",
          command: ["node", `/program/${files[0]}`],
          readinessProbe: { tcpSocket: { port: 8081 }, periodSeconds: 1 },
          volumeMounts: [{ name: "program", mountPath: "/program" }],
        },
      ],
      volumes: [{ name: "program", configMap: { name: "callers" } }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "callers", namespace: callersNamespace },
    spec: {
      selector: { app: "callers" },
      ports: [{ name: "upstream", port: 80, targetPort: 8081 }],
    },
  },
];

export async function startCallers(cluster: Cluster, image: string): Promise<Callers> {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects(image) });
  await cluster.kubectl(["apply", "--server-side", "-f", "-"], list);
  const inTheirs = ["--namespace", callersNamespace];
  await cluster.kubectl([...inTheirs, "wait", "pod/callers", "--for=condition=Ready", "--timeout=60s"]);
  // The commands go to the pod's address, because the Service only has the port of the upstream.
  const address = await cluster.kubectl([...inTheirs, "get", "pod/callers", "-o", "jsonpath={.status.podIP}"]);
  const { port } = await cluster.forward(address, 8080);
  async function act<Result>(name: string, options: object = {}): Promise<Result> {
    const response = await fetch(`http://127.0.0.1:${port}/${name}`, { method: "POST", body: JSON.stringify(options) });
    const text = await response.text();
    if (!response.ok) throw new Error(`the callers' pod, ${name}: ${text}`);
    return JSON.parse(text);
  }
  return {
    serve: () => cluster.kubectl([...inTheirs, "apply", "--filename", "-"], slow),
    ask: (url, init = {}) => act("ask", { url, init }),
    async load(options) {
      const place = await act<number>("load", options);
      return () => act("end-load", { place });
    },
    async followers(options) {
      await act("followers", options);
      return () => act("end-followers");
    },
  };
}
