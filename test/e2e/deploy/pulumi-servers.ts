/**
 * The requirements of the prod stack: Postgres and Redis servers in the cluster that do not belong to the stack, and a
 * load balancer's address.
 */
import type { Cluster } from "../../../tools/cluster/pods/cluster.ts";
import { waitFor } from "../../../tools/process/index.ts";

const namespace = "servers";
const password = "s3cretword";

/**
 * The config of the prod stack for these servers. Redis is used without TLS, because the images would not trust its
 * certificate.
 */
export const servers = {
  secrets: {
    databaseUrl: `postgres://users:${password}@postgres.${namespace}.svc.cluster.local:5432/users`,
    redisPassword: password,
  },
  config: { "redis.host": `redis.${namespace}.svc.cluster.local`, "redis.tls": "false" },
} as const;

/** Starts both servers in their own namespace. */
export async function startPulumiServers(cluster: Cluster): Promise<void> {
  const items = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    ...serverOf("postgres", 5432, {
      image: "sluice/test-postgres:18",
      env: [
        { name: "POSTGRES_USER", value: "users" },
        { name: "POSTGRES_DB", value: "users" },
        { name: "POSTGRES_PASSWORD", value: password },
        { name: "PGDATA", value: "/var/lib/postgresql/data" },
      ],
      volumeMounts: [
        { name: "data", mountPath: "/var/lib/postgresql" },
        { name: "run", mountPath: "/var/run/postgresql" },
      ],
    }),
    ...serverOf("redis", 6379, {
      image: "sluice/test-redis:7",
      args: ["redis-server", "--requirepass", password, "--save", ""],
      volumeMounts: [{ name: "data", mountPath: "/data" }],
    }),
  ];
  await cluster.kubectl(
    ["apply", "--server-side", "-f", "-"],
    JSON.stringify({ apiVersion: "v1", kind: "List", items }),
  );
  await cluster.kubectl(["wait", "--namespace", namespace, "pod", "--all", "--for=condition=Ready", "--timeout=60s"]);
}

function serverOf(name: string, port: number, container: object): readonly object[] {
  const metadata = { name, namespace };
  const labels = { app: name };
  const spec = {
    terminationGracePeriodSeconds: 1,
    securityContext: { runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532 },
    volumes: ["data", "run"].map((volume) => ({ name: volume, emptyDir: {} })),
    containers: [{ name, readinessProbe: { tcpSocket: { port }, periodSeconds: 1 }, ...container }],
  };
  return [
    { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, labels }, spec },
    { apiVersion: "v1", kind: "Service", metadata, spec: { selector: labels, ports: [{ port }] } },
  ];
}

/** Waits for the LoadBalancer Service and gives it this address, because the cluster has no controller that does. */
export async function giveAddress(cluster: Cluster, namespace: string, ip: string): Promise<void> {
  const patch = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip }] } } });
  const service = ["--namespace", namespace, "service/sluice-gateway"];
  const given = () => cluster.kubectl(["patch", ...service, "--subresource=status", "--type=merge", "--patch", patch]);
  await waitFor(given, { what: "a Service that can be given an address", timeout: 120_000, interval: 500 });
}
