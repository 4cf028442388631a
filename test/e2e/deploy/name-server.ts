/** A small workload of an image that the cluster itself uses: two pods of CoreDNS that respond with their names. */
import { dnsImage } from "../../../tools/cluster/pods/images.ts";

const selector = { app: "who" };

// The TXT record of every name is the pod's name; /health answers OK over HTTP.
const corefile = `.:5353 {
  log
  health
  template IN TXT {
    answer "{{ .Name }} 0 IN TXT {$POD}"
  }
}
`;

/** A Deployment `who` of two pods, its ConfigMap and Service, and a volume claim that no pod mounts. */
export const manifests = JSON.stringify({
  apiVersion: "v1",
  kind: "List",
  items: [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "who" }, data: { Corefile: corefile } },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "who" },
      spec: {
        replicas: 2,
        selector: { matchLabels: selector },
        template: {
          metadata: { labels: selector },
          spec: {
            automountServiceAccountToken: false,
            securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
            containers: [
              {
                name: "who",
                image: dnsImage,
                args: ["-conf", "/etc/who/Corefile"],
                env: [{ name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
                readinessProbe: { httpGet: { path: "/health", port: 8080 }, periodSeconds: 1 },
                // A removed pod must serve for a while, because nodes learn of its removal later than the pod itself.
                lifecycle: { preStop: { sleep: { seconds: 3 } } },
                resources: { limits: { cpu: "500m", memory: "128Mi" } },
                securityContext: {
                  allowPrivilegeEscalation: false,
                  capabilities: { drop: ["ALL"] },
                  readOnlyRootFilesystem: true,
                },
                volumeMounts: [{ name: "corefile", mountPath: "/etc/who" }],
              },
            ],
            volumes: [{ name: "corefile", configMap: { name: "who" } }],
          },
        },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "who" },
      spec: {
        selector,
        ports: [
          { name: "dns", port: 53, targetPort: 5353, protocol: "UDP" },
          { name: "http", port: 80, targetPort: 8080, protocol: "TCP" },
        ],
      },
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "who" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
  ],
});

/**
 * A Node.js program for the cluster: queries the Service until this many pods have answered, for 20 s at most, and
 * prints the names of the pods.
 */
export const askPods = (count: number): string => `
  import { lookup, Resolver } from "node:dns/promises";
  const { address } = await lookup("who.default.svc.cluster.local");
  const names = new Set();
  const end = performance.now() + 20_000;
  while (names.size < ${count} && performance.now() < end) {
    // Each resolver has its own socket, and a pod is chosen for each socket.
    const resolver = new Resolver({ timeout: 1_000, tries: 1 });
    resolver.setServers([address]);
    try {
      for (const [text] of await resolver.resolveTxt("who.")) names.add(text);
    } catch (error) {
      // A pod is Ready a moment before the node's rules include it.
      console.error(error.message);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  console.log([...names].sort().join("\\n"));`;

/**
 * A Node.js program for the cluster: sends requests one by one on new connections until SIGTERM, and prints how many
 * responses had each status, and how many requests failed with each error.
 */
export const requestUntilStopped = `
  import { get } from "node:http";
  let ended = false;
  process.on("SIGTERM", () => { ended = true; });
  const ask = () => new Promise((resolve) => {
    get("http://who.default.svc.cluster.local/health", { agent: false, timeout: 5_000 }, (response) => {
      response.resume().once("end", () => resolve(String(response.statusCode)));
    }).once("error", (error) => resolve(error.code ?? error.message));
  });
  const counts = {};
  for (let first = true; !ended; first = false) {
    const answer = await ask();
    counts[answer] = (counts[answer] ?? 0) + 1;
    if (first) console.log("asking");
  }
  console.log(JSON.stringify(counts));`;
