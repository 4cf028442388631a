import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Process, type StartOptions, waitFor } from "../../process/index.ts";
import { obtainTool } from "../../programs/tool.ts";
import { type AuditedRequest, readAudit } from "../audit.ts";
import { writeCommand } from "../command.ts";
import {
  apiServer,
  type ComponentName,
  type ComponentOptions,
  nodeName,
  podComponentCommandLines,
  podStateFiles,
  writeConfiguration,
} from "./components.ts";
import { type ClusterCredentials, writeCredentials } from "./credentials.ts";
import { type Forward, forwardPort } from "./forward.ts";
import { systemImages } from "./images.ts";
import { removeLeftovers, usableHierarchies } from "./machine.ts";
import { type CommandResult, type Node, type RunOptions, startClusterNode } from "./node.ts";
import { dnsCanaryUrl, systemManifests } from "./system.ts";

/**
 * A real Kubernetes cluster of one node with real pods, in its own Linux namespaces and control groups.
 *
 * Its network is isolated, except for `forwardPort`. A command inside the cluster sees the machine's files at the same
 * paths, but can write only to the folder for temporary files (os.tmpdir()), so all output must go there. There is no
 * image registry: a pod uses an image from `importImage`, with an imagePullPolicy other than Always.
 */
export interface Cluster {
  /** The state folder. Its path is the same inside the cluster and outside. */
  readonly folder: string;
  /** Path of the administrator's kubeconfig. Its server is reachable from inside only. */
  readonly kubeconfig: string;
  /** All requests for objects to the API server so far. Only with the option `audit`. */
  audited(): readonly AuditedRequest[];
  /**
   * Runs a command inside to its end, whatever its exit code. The command can resolve the names of Services. KUBECONFIG
   * is the administrator's, `kubectl` is on PATH, and HOME is an empty writable folder.
   *
   * @throws Error with its last output when it runs for longer than the option `timeout` (default 120 s).
   */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<CommandResult>;
  /**
   * Starts a long-running command inside, see startProcess. `stop` and `signal` of the resulting process reach the
   * command itself.
   */
  start(command: string, args: readonly string[], options: StartOptions): Promise<Process>;
  /**
   * The command line with which a shell of this machine runs a command inside. The command gets the environment of the
   * shell.
   */
  commandInside(command: readonly string[]): readonly string[];
  /** Runs kubectl inside as the administrator and resolves to its stdout. Rejects with its stderr. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /**
   * Writes a kubeconfig with a client certificate of this user and these groups, for commands that run inside. Resolves
   * to its path.
   */
  kubeconfigFor(user: string, groups?: readonly string[]): Promise<string>;
  /** Imports the images of an archive (an OCI image layout or the output of `docker save`) into the node. */
  importImage(archive: string): Promise<void>;
  /** Kills a component, like a crash. Pods and other components keep running. */
  stopComponent(name: ComponentName): Promise<void>;
  /** Starts a component that was stopped. Resolves when it is ready. */
  startComponent(name: ComponentName): Promise<void>;
  /** Forwards a port on 127.0.0.1 of this machine to an address inside, such as a Service. */
  forward(host: string, port: number): Promise<Forward>;
  /** Writes a kubeconfig of the administrator for commands that run outside, and resolves to its path. */
  outsideKubeconfig(): Promise<string>;
  /** The last log lines of each component, and lists of the pods and the events. */
  logs(): Promise<string>;
  /** Resolves when a component ends without being stopped, to a text with its name and its last log lines. */
  readonly failed: Promise<string>;
  /** Stops everything and removes the state: no process, mount, control group or file is left. */
  down(): Promise<void>;
}

export interface ClusterOptions {
  /** Paths of archives of images to import (see `importImage`). */
  readonly images?: readonly string[];
  /** The API server keeps an audit log, which `audited` reads. Default false. */
  readonly audit?: boolean;
}

/** The number of PersistentVolumes. */
const volumeCount = 8;
const timeout = 90_000;

/**
 * Starts a cluster: etcd, API server, controller manager, scheduler, kubelet, kube-proxy, containerd and CoreDNS.
 * Resolves when a pod has responded under its Service's name, about 15 s after all binaries are built. Clusters are
 * isolated from each other; each takes about a gigabyte of memory.
 *
 * @throws CannotRun on a machine that cannot run a cluster (it needs root, Linux and cgroup v1); Error with the ends of
 * the logs and the folder in which they are kept, when the cluster does not become ready.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { images = [], audit = false } = options;
  await usableHierarchies(); // Checked first, so that nothing is built on a machine that cannot run a cluster.
  const programs = await fetchPrograms();
  await removeLeftovers();
  let credentials: ClusterCredentials | undefined;
  const node = await startClusterNode(programs.pause, async (folder) => {
    writeConfiguration({ folder, audit, ...programs });
    credentials = await writeCredentials(folder);
    const cache = join(folder, "kubectl-cache");
    writeCommand(join(folder, "bin"), "kubectl", [programs.kube, "kubectl", `--cache-dir=${cache}`]);
  });
  if (credentials === undefined) throw new Error("the state folder was not prepared");
  const cluster = assemble({ node, credentials, options: { folder: node.folder, audit, ...programs } });
  try {
    await boot(cluster, { node, images: [...programs.images, ...images] });
    return cluster;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const logs = await cluster.logs();
    const kept = mkdtempSync(join(tmpdir(), "sluice-pods-logs-"));
    cpSync(join(node.folder, "logs"), kept, { recursive: true });
    await cluster.down();
    throw new Error(`${message}\n${logs}\nall logs are kept in ${kept}`, { cause: error });
  }
}

async function fetchPrograms() {
  const [kube, pause, containerd] = [
    await obtainTool("kube"),
    await obtainTool("pause"),
    await obtainTool("containerd"),
  ];
  const cni = dirname(await obtainTool("cni-plugins"));
  await obtainTool("nft");
  return { kube, pause, containerd, cni, images: await systemImages() };
}

interface Parts {
  readonly node: Node;
  readonly credentials: ClusterCredentials;
  readonly options: ComponentOptions;
}

function assemble({ node, credentials, options }: Parts): Cluster {
  const { folder } = node;
  const path = (name: string) => join(folder, name);
  const lines = podComponentCommandLines(options);
  const running = new Map<ComponentName, Process>();
  let fail: (report: string) => void = () => {};
  const failed = new Promise<string>((resolve) => {
    fail = resolve;
  });
  const forwards: Forward[] = [];
  let inside: Promise<Process> | undefined;
  let users = 0;

  const answerOf = async (command: string, args: readonly string[], options?: RunOptions) => {
    const { code, stdout, stderr } = await node.run(command, args, options);
    if (code === 0) return stdout;
    throw new Error(`${[command, ...args].join(" ")}: ${stderr.trim() || stdout.trim() || `exit code ${code}`}`);
  };
  // This timeout is long because commands of kubectl that wait have their own timeouts.
  const kubectl = (args: readonly string[], input?: string) => answerOf("kubectl", args, { input, timeout: 600_000 });
  const ready: Partial<Record<ComponentName, () => unknown>> = {
    containerd: () => answerOf("ctr", ["version"]),
    // `kubectl apply` fails until the API server has created this namespace.
    "api-server": async () => (await kubectl(["get", "--raw=/readyz"])) && kubectl(["get", "namespace", "kube-system"]),
  };
  const opened = async (host: string, port: number) => {
    const socket = path("forward.sock");
    inside ??= node.start(process.execPath, [join(import.meta.dirname, "forward.ts"), socket], {
      name: "the forwarder",
      ready: /ready/,
    });
    await inside;
    const way = await forwardPort(socket, { host, port });
    forwards.push(way);
    return way;
  };
  return {
    folder,
    kubeconfig: path(podStateFiles.admin),
    audited: () => readAudit(folder),
    commandInside: node.enter,
    run: node.run,
    start: node.start,
    kubectl,
    async kubeconfigFor(user, groups = []) {
      const place = path(`user-${++users}.kubeconfig`);
      const identity = await credentials.authority.issue({ name: user, organizations: groups, usage: "client" });
      writeFileSync(place, credentials.access(apiServer, identity), { mode: 0o600 });
      return place;
    },
    async importImage(archive) {
      await answerOf("ctr", ["--namespace=k8s.io", "images", "import", resolve(archive)]);
    },
    failed,
    async stopComponent(name) {
      const component = running.get(name);
      running.delete(name);
      await component?.kill9();
    },
    async startComponent(name) {
      if (running.has(name)) throw new Error(`${name} is already running`);
      // Output goes to a file, not to this process: a busy suite must not block the node.
      const log = path(`logs/${name}.log`);
      const args = ["-c", 'exec "$@" >> "$0" 2>&1', log, ...lines[name]];
      const component = await node.start("sh", args, { name, ready: ready[name], timeout, cwd: folder });
      running.set(name, component);
      void component.exited.then(() => {
        if (running.get(name) === component) fail(`${name} has ended. Its last lines:\n${lastLines(log, 15)}`);
      });
    },
    forward: opened,
    async outsideKubeconfig() {
      const place = path("outside.kubeconfig");
      const { hostname, port } = new URL(apiServer);
      const way = await opened(hostname, Number(port));
      writeFileSync(place, credentials.access(`https://127.0.0.1:${way.port}`), { mode: 0o600 });
      return place;
    },
    async logs() {
      const logs = readdirSync(path("logs")).map((name) => `--- ${name}\n${lastLines(path(`logs/${name}`), 30)}`);
      const seen = await node
        .run("kubectl", ["get", "pods,events", "-A", "--request-timeout=5s"], { timeout: 10_000 })
        .then(
          ({ stdout, stderr }) => `--- pods and events\n${stdout}${stderr}`,
          () => "",
        );
      return [...logs, seen].join("\n");
    },
    async down() {
      running.clear();
      for (const way of forwards) way.close();
      await node.end();
    },
  };
}

/** Starts the components in order, and waits until the cluster works. */
async function boot(cluster: Cluster, { node, images }: { node: Node; images: readonly string[] }): Promise<void> {
  const volumes = Array.from({ length: volumeCount }, (_, index) => join(node.folder, "volumes", `${index + 1}`));
  for (const volume of volumes) {
    mkdirSync(volume, { recursive: true });
    // Kubernetes does not apply a pod's fsGroup to hostPath volumes.
    chmodSync(volume, 0o777);
  }
  const containers = async () => {
    await cluster.startComponent("containerd");
    for (const archive of images) await cluster.importImage(archive);
  };
  const control = async () => {
    // Started together: the API server loads while etcd starts, and then waits for etcd.
    await Promise.all([cluster.startComponent("etcd"), cluster.startComponent("api-server")]);
    await Promise.all((["controllers", "scheduler"] as const).map(cluster.startComponent));
    await cluster.kubectl(["apply", "--server-side", "-f", "-"], systemManifests(volumes));
  };
  await Promise.all([containers(), control()]);
  await Promise.all((["kubelet", "proxy"] as const).map(cluster.startComponent));
  await waitFor(() => cluster.kubectl(["wait", "--for=condition=Ready", `node/${nodeName}`, "--timeout=60s"]), {
    what: "the node to be Ready",
    timeout,
    interval: 200,
  });
  const { code, stderr } = await cluster.run(process.execPath, ["-e", awaitCanary]);
  if (code !== 0) throw new Error(`no pod is ready under the DNS name of its Service: ${stderr.trim()}`);
}

/** A program that waits until a pod responds under the DNS name of its Service: a Ready node alone proves little. */
const awaitCanary = `
  const end = performance.now() + ${timeout};
  for (;;) {
    const answer = await fetch(${JSON.stringify(dnsCanaryUrl)}, { signal: AbortSignal.timeout(1_000) }).catch((error) => error);
    if (answer.status === 200) break;
    if (performance.now() > end) throw answer.status ? new Error("the response has the status " + answer.status) : answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }`;

const lastLines = (file: string, count: number): string =>
  readFileSync(file, "utf8").trimEnd().split("\n").slice(-count).join("\n");
