/** Memory of the stack's pods. */
import { waitFor } from "../../../tools/process/index.ts";
import { type DeployStage, pulumiNamespace } from "./stage.ts";

/** Memory of one pod, in MB (2^20 bytes), and its restarts. */
export interface PodMemory {
  readonly component: string;
  /** The kubelet's working set: the memory of the pod's control group without inactive file cache. */
  readonly workingSet: number;
  /** The peak resident size of the pod's largest process, from /proc. */
  readonly peak: number;
  /** The sum of the containers' memory limits. */
  readonly limit: number;
  /** The sum of the containers' restarts. */
  readonly restarts: number;
}

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly containers: readonly { readonly resources: { readonly limits: { memory: string } } }[] };
  readonly status: { readonly containerStatuses?: readonly { readonly restartCount: number }[] };
}

/** The response of the kubelet's /stats/summary. */
interface Summary {
  readonly pods: readonly {
    readonly podRef: { readonly name: string; readonly namespace: string };
    readonly memory?: { readonly workingSetBytes?: number; readonly time: string };
  }[];
}

const MB = 2 ** 20;
/** Timeout in milliseconds for statistics of every pod: the kubelet collects them every 10 to 15 s. */
const SUMMARY = 60_000;

/** Each pod's peak memory until the call, and its working set from the kubelet's first statistics after the call. */
export async function memoryOfPods({ cluster, kubectl }: DeployStage): Promise<readonly PodMemory[]> {
  const { items }: { items: readonly Pod[] } = JSON.parse(await kubectl("get", "pods", "--output=json"));
  const pods = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const { stdout } = await cluster.run(process.execPath, ["--input-type=module", "--eval", peaks]);
  const peakOf: Readonly<Record<string, number>> = JSON.parse(stdout);
  const asked = new Date();
  async function usageOfAll(): Promise<readonly PodMemory[] | null> {
    const summary: Summary = JSON.parse(
      await cluster.kubectl(["get", "--raw", "/api/v1/nodes/node/proxy/stats/summary"]),
    );
    const ours = new Map(
      summary.pods
        .filter(({ podRef, memory }) => podRef.namespace === pulumiNamespace && new Date(memory?.time ?? 0) > asked)
        .map(({ podRef, memory }) => [podRef.name, memory?.workingSetBytes ?? 0]),
    );
    if (!pods.every(({ metadata }) => ours.has(metadata.name))) return null;
    return pods.map(({ metadata, spec, status }) => ({
      component: metadata.labels["app.kubernetes.io/component"] ?? metadata.name,
      workingSet: (ours.get(metadata.name) ?? 0) / MB,
      peak: (peakOf[metadata.uid] ?? 0) / 1024,
      limit: spec.containers.reduce((sum, { resources }) => sum + mebibytes(resources.limits.memory), 0),
      restarts: (status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
    }));
  }
  return waitFor(usageOfAll, { what: "the kubelet to report the usage of all pods", timeout: SUMMARY, interval: 1000 });
}

function mebibytes(quantity: string): number {
  const [, number = "", unit = ""] = /^(\d+)(Mi|Gi)$/.exec(quantity) ?? [];
  return Number(number) * (unit === "Gi" ? 1024 : 1);
}

/** Prints the greatest VmHWM of each pod's processes in kB, by the pod's uid, which is in the control group's name. */
const peaks = `
  import { readdirSync, readFileSync } from "node:fs";
  const found = {};
  for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
    try {
      const pod = /:memory:.*\\/pod([0-9a-f-]+)/.exec(readFileSync("/proc/" + pid + "/cgroup", "utf8"))?.[1];
      const most = Number(/^VmHWM:\\s+(\\d+)/m.exec(readFileSync("/proc/" + pid + "/status", "utf8"))?.[1]);
      if (pod) found[pod] = Math.max(found[pod] ?? 0, most);
    } catch {} // The process has ended.
  }
  console.log(JSON.stringify(found));`;
