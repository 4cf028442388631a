/** A cluster with pods on which the conformance suite of the Gateway API can run: with the CRDs, Sluice and a class. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Cluster, startCluster } from "../cluster/pods/cluster.ts";
import { programImage } from "../cluster/pods/images.ts";
import { runImages } from "../images/images.ts";
import { obtainTool } from "../programs/tool.ts";

/** The image of the suite's echo servers. */
export const echoImage = "sluice.test/gateway-api-echo:1";

const namespace = "sluice";
const charts = resolve(import.meta.dirname, "../../charts");

/** Two nodes, so that a Gateway is Programmed only when both have it, and only the parts that the suite needs. */
const values = [
  "gateway.replicas=2",
  // The suite deletes Gateways one after the other: without a drain, their connections end at once.
  "gateway.drainSeconds=1",
  "admin.enabled=false",
  // The cluster has no load balancers; the suite runs where it reaches cluster IPs.
  "gatewayApi.serviceType=ClusterIP",
  "userApi.enabled=false",
].flatMap((value) => ["--set", value]);

export interface InstallationOptions {
  /**
   * Paths of archives of images that pods use, besides Sluice's own. Default: the image of the suite's echo servers.
   */
  readonly images?: readonly string[];
  /** More values of the chart, such as `gateway.tls.enabled=true`. */
  readonly values?: readonly string[];
}

/**
 * Starts a cluster and installs Sluice on it. Resolves when every pod is Ready.
 *
 * @throws CannotRun on a machine that cannot run a cluster; Error when something cannot be installed.
 */
export async function startInstallation(options: InstallationOptions = {}): Promise<Cluster> {
  const { images: others = [programImage(await obtainTool("gateway-api-echo"), echoImage)], values: more = [] } =
    options;
  const { tar } = await runImages();
  const [helm, crds] = [await obtainTool("helm"), await obtainTool("gateway-api-crds")];
  const cluster = await startCluster({ images: [tar, ...others] });
  const install = async (name: string, ...more: readonly string[]) => {
    const args = ["upgrade", "--install", name, join(charts, name), "--namespace", namespace, "--create-namespace"];
    const { code, stdout, stderr } = await cluster.run(helm, [...args, "--wait", "--timeout=5m", ...more], {
      timeout: 360_000,
    });
    if (code !== 0) throw new Error(`helm cannot install ${name}: ${stderr}${stdout}\n${await cluster.logs()}`);
  };
  try {
    await cluster.kubectl(["apply", "--server-side", "-f", "-"], manifestsIn(crds));
    await cluster.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
    await install("sluice-crds");
    await install("sluice", ...values, ...more.flatMap((value) => ["--set", value]));
    return cluster;
  } catch (error) {
    await cluster.down();
    throw error;
  }
}

/** The YAML documents of all files of a folder. */
const manifestsIn = (folder: string): string =>
  readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n---\n");
