/** The release under test: the chart with all parts, on one cluster with pods. */
import assert from "node:assert/strict";
import { type Cluster, startCluster } from "../../../tools/cluster/pods/cluster.ts";
import { runImages } from "../../../tools/images/images.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { type Callers, startCallers } from "./chart-callers-pod.ts";
import { charts, type HelmAnswer, release } from "./helm.ts";

/** The namespace of the release. */
export const releaseNamespace = "sluice";
export const proxy = `http://${release}-gateway.${releaseNamespace}.svc.cluster.local`;
export const minutes = 60_000;

/** Values for a trial with all parts, and images that are on the Kubernetes node. */
const trial = [
  ["postgres.enabled", "true"],
  ["postgres.image.repository", "sluice/test-postgres"],
  ["postgres.persistence.enabled", "true"],
  ["redis.enabled", "true"],
  ["redis.image.repository", "sluice/test-redis"],
  // A stopping node keeps WebSockets open for the whole drain time, and tests wait until it has stopped.
  ["gateway.drainSeconds", "5"],
  ["gateway.peers.enabled", "true"],
  ["admin.kubernetes", "true"],
  // The cluster has no load balancers.
  ["gatewayApi.serviceType", "ClusterIP"],
  ["userApi.replicas", "2"],
  ["userApi.env.SLUICE_USER_API_REQUESTS_PER_MINUTE", "0"],
  ["userApi.route.enabled", "true"],
  ["userApi.route.requestsPerMinute", "1000000"],
].flatMap(([name, value]) => ["--set", `${name}=${value}`]);

export interface ChartScene {
  readonly cluster: Cluster;
  /** A pod of another namespace: client, subscriber and upstream. */
  readonly callers: Callers;
  /** Runs kubectl in the release's namespace as the administrator; resolves to stdout. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** Runs Helm in the release's namespace; resolves to stdout. The error of a failed run includes the pods' logs. */
  helm(...args: readonly string[]): Promise<string>;
  /** Runs `helm upgrade --install` with the trial's values and these arguments. Resolves whatever the exit code is. */
  tryUpgrade(...args: readonly string[]): Promise<HelmAnswer>;
  /** Like `tryUpgrade`, but resolves to stdout, and rejects unless everything is installed and Ready. */
  upgrade(...args: readonly string[]): Promise<string>;
  /** Names of a part's pods, including terminating ones. */
  podsOf(component: string): Promise<readonly string[]>;
  /** One entry of a Secret in clear text. */
  secret(name: string, key: string): Promise<string>;
  /** The header that the user API's route requires. */
  consumer(): Promise<{ readonly apikey: string }>;
  /** The status of a request to the proxy's Service, sent from the Kubernetes node. */
  statusOf(path: string, headers?: Readonly<Record<string, string>>): Promise<number>;
  end(): Promise<void>;
}

/** Starts the cluster and the callers' pod. The charts are not installed yet. */
export async function startChartScene(): Promise<ChartScene> {
  const program = await obtainTool("helm");
  const { tar, images: built } = await runImages();
  const cluster = await startCluster({ images: [tar], audit: true });
  try {
    await cluster.kubectl(["create", "namespace", releaseNamespace]);
    await cluster.kubectl(["label", "namespace", releaseNamespace, "pod-security.kubernetes.io/enforce=restricted"]);
    return { ...acting(cluster, program), cluster, callers: await startCallers(cluster, built.gateway.name) };
  } catch (error) {
    await cluster.down();
    throw error;
  }
}

function acting(cluster: Cluster, program: string): Omit<ChartScene, "cluster" | "callers"> {
  const kubectl: ChartScene["kubectl"] = (...args) => cluster.kubectl(["--namespace", releaseNamespace, ...args]);
  const tryHelm = async (...args: readonly string[]): Promise<HelmAnswer> => {
    const answer = await cluster.run(program, [...args, "--namespace", releaseNamespace], { timeout: 4 * minutes });
    return { ...answer, code: answer.code ?? 1 };
  };
  const succeeded = async ({ code, stdout, stderr }: HelmAnswer): Promise<string> => {
    assert.equal(code, 0, `${stderr}\n${stdout}\n${code === 0 ? "" : await cluster.logs()}`);
    return stdout;
  };
  const tryUpgrade: ChartScene["tryUpgrade"] = (...args) =>
    tryHelm("upgrade", "--install", release, charts.sluice, ...trial, "--wait", "--timeout=3m", ...args);
  const secret: ChartScene["secret"] = async (name, key) =>
    Buffer.from(await kubectl("get", "secret", name, "-o", `jsonpath={.data.${key}}`), "base64").toString();
  return {
    kubectl,
    helm: async (...args) => succeeded(await tryHelm(...args)),
    tryUpgrade,
    upgrade: async (...args) => succeeded(await tryUpgrade(...args)),
    async podsOf(component) {
      const label = `app.kubernetes.io/component=${component}`;
      const names = await kubectl("get", "pods", "-l", label, "-o", "jsonpath={.items[*].metadata.name}");
      return names === "" ? [] : names.split(" ").sort();
    },
    secret,
    consumer: async () => ({ apikey: await secret(`${release}-user-api-key`, "key") }),
    async statusOf(path, headers = {}) {
      const script = `const { status } = await fetch(${JSON.stringify(`${proxy}${path}`)}, { headers: ${JSON.stringify(headers)} }); console.log(status)`;
      const { stdout, stderr } = await cluster.run(process.execPath, ["--input-type=module", "--eval", script]);
      assert.equal(stderr, "");
      return Number(stdout);
    },
    end: cluster.down,
  };
}
