/**
 * The environment of the fault tests: a real etcd and API server, two gateway nodes, and an operator that reaches the
 * API server through a proxy of the tests. The operator's twin is a second operator, without faults, that only reads;
 * the twin's document is the expected one.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClusterClient, type ResourceClient } from "@sluice/crds";
import { builtProgram } from "../../../tools/build/programs.ts";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { connectApi } from "../../../tools/cluster/api.ts";
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from "../../../tools/cluster/control-plane.ts";
import { type PushCertificateFiles, writePushCertificates } from "../../../tools/cluster/push-certificates.ts";
import { clusterUsers, roleManifests } from "../../../tools/cluster/rbac.ts";
import { freePort, type Process, startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import type { Env } from "../../../tools/start/processes.ts";
import { getUrl, type NamedUpstream, startNamedUpstream } from "../../product/client.ts";
import { type ApiProxy, startApiProxy } from "./api-proxy.ts";
import { twinManifests } from "./twin.ts";

const HOME = "default";

export interface RestartableNode {
  readonly name: string;
  /** Base URL of the proxy. */
  readonly proxy: string;
  readonly push: string;
  readonly status: string;
  process: Process;
  /** Starts the process again at the same addresses, after it has ended. */
  start(env?: Env): Promise<void>;
}

export interface RestartableOperator {
  /** Base URL of the operator's listener. */
  readonly url: string;
  process: Process;
  start(env?: Env): Promise<void>;
  /** The operator's own status. */
  status(): Promise<ReportedStatus>;
  /**
   * The sum of a metric's values; a label in its printed form, such as `code="429"`, selects among them. Rejects for
   * an unknown metric.
   */
  metric(name: string, label?: string): Promise<number>;
}

export interface ReportedStatus {
  readonly revision: number;
  readonly hash: string | null;
  readonly term: number | null;
  readonly acknowledged: readonly string[];
  readonly nodes: readonly {
    readonly address: string;
    readonly hash?: string | null;
    readonly trouble: string | null;
  }[];
}

export interface FaultEnvironment {
  readonly folder: string;
  readonly plane: ControlPlane;
  readonly api: ApiProxy;
  /** The administrator's client. */
  readonly client: ResourceClient;
  /** Hash of the operator's saved document; null: none is saved. */
  kept(): Promise<string | null>;
  readonly certificates: PushCertificateFiles;
  readonly upstream: NamedUpstream;
  readonly nodes: readonly [RestartableNode, RestartableNode];
  readonly operator: RestartableOperator;
  readonly twin: RestartableOperator;
  close(): Promise<void>;
}

export interface FaultEnvironmentOptions {
  readonly plane?: ControlPlaneOptions;
  /** Resolves to the URLs at which the operator reaches the nodes. Default: the nodes' push URLs. */
  readonly through?: (
    nodes: FaultEnvironment["nodes"],
    certificates: PushCertificateFiles,
  ) => Promise<readonly string[]>;
  /** Settings of the operator. */
  readonly operator?: Env;
  /** Settings of the second node. */
  readonly second?: Env;
  /** Flags of Node.js for the operator and the second node. */
  readonly flags?: readonly string[];
}

/** The condition in the first line of each built program. */
const CONDITION = "--conditions=built";

export async function nodeOf(name: string, settings: Env, flags: readonly string[] = []): Promise<RestartableNode> {
  const [proxy, push, status] = [await freePort(), await freePort(), await freePort()];
  const program = await builtProgram("gateway");
  const start = (env: Env = {}) =>
    startProcess(process.execPath, [CONDITION, ...flags, program, "gateway"], {
      name,
      ready: `http://127.0.0.1:${status}/status`,
      env: {
        SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
        SLUICE_PROXY_TLS_LISTEN: "127.0.0.1:0",
        SLUICE_PUSH_LISTEN: `127.0.0.1:${push}`,
        SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
        SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
        ...settings,
        ...env,
      },
    });
  const node: RestartableNode = {
    name,
    proxy: `http://127.0.0.1:${proxy}`,
    push: `https://127.0.0.1:${push}`,
    status: `http://127.0.0.1:${status}`,
    process: await start(),
    async start(env) {
      node.process = await start(env);
    },
  };
  return node;
}

export async function operatorOf(
  name: string,
  settings: Env,
  flags: readonly string[] = [],
): Promise<RestartableOperator> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const program = await builtProgram("operator");
  const start = (env: Env = {}) =>
    startProcess(process.execPath, [CONDITION, ...flags, program], {
      name,
      ready: `${url}/healthz`,
      env: {
        SLUICE_DIRECTORY: undefined,
        SLUICE_HOME_NAMESPACE: HOME,
        SLUICE_OPERATOR_LISTEN: `127.0.0.1:${port}`,
        SLUICE_IDENTITY: name,
        SLUICE_DOCUMENT_INTERVAL: "1s",
        ...settings,
        ...env,
      },
    });
  const operator: RestartableOperator = {
    url,
    process: await start(),
    async start(env) {
      operator.process = await start(env);
    },
    status: async () => (await getUrl(`${url}/status`)).body as ReportedStatus,
    async metric(name, label = "") {
      const text = (await getUrl(`${url}/metrics`)).body as string;
      const family = name.replace(/_(count|sum|bucket)$/, "");
      if (!text.includes(`# TYPE ${family} `)) throw new Error(`there is no metric ${name}`);
      const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      const values = lines.filter((line) => line.includes(label)).map((line) => Number(line.split(" ").at(-1)));
      return values.reduce((sum, value) => sum + value, 0);
    },
  };
  return operator;
}

/** Writes a kubeconfig for an address with a given user, and returns its path. */
export function writeKubeconfig(folder: string, { server, user = {} }: { server: string; user?: object }): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "kubeconfig");
  const cluster = { server, "insecure-skip-tls-verify": server.startsWith("http:") };
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "one", cluster }],
      users: [{ name: "one", user }],
      contexts: [{ name: "one", context: { cluster: "one", user: "one" } }],
      "current-context": "one",
    }),
    { mode: 0o600 },
  );
  return file;
}

/** Resolves to all parts. If one fails, waits for the others before it rejects: pending parts could not be stopped. */
async function together<Parts extends readonly unknown[]>(
  parts: readonly [...{ [At in keyof Parts]: Promise<Parts[At]> }],
) {
  await Promise.allSettled(parts);
  return Promise.all(parts) as Promise<Parts>;
}

/** A control plane with the CRDs, and with the users and their rights. */
async function planeOf(options?: ControlPlaneOptions): Promise<ControlPlane> {
  const plane = await startControlPlane(options);
  try {
    await prepare(plane);
    return plane;
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

async function prepare(plane: ControlPlane): Promise<void> {
  await Promise.all([
    plane.kubectl(["apply", "--server-side", "-f", join(repositoryRoot, "crds")]),
    plane.kubectl(["apply", "--server-side", "-f", "-"], roleManifests(HOME)),
    plane.kubectl(["apply", "--server-side", "-f", "-"], twinManifests(HOME)),
  ]);
  await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  await waitFor(() => plane.kubectl(["get", "sluice", "--all-namespaces"]), { what: "the new kinds to be served" });
}

export async function startFaultEnvironment(options: FaultEnvironmentOptions = {}): Promise<FaultEnvironment> {
  const folder = temporaryFolder("faults");
  const ends: (() => unknown)[] = [folder.remove];
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    const starting = async <Part>(part: Promise<Part>, end: (part: Part) => unknown): Promise<Part> => {
      const started = await part;
      ends.push(() => end(started));
      return started;
    };
    const certificates = await writePushCertificates(join(folder.path, "push"));
    const [plane, upstream, ...nodes] = await together([
      starting(planeOf(options.plane), ({ stop }) => stop()),
      starting(startNamedUpstream("echo"), ({ close }) => close()),
      starting(nodeOf("node-1", certificates.node), (node) => node.process.stop()),
      starting(nodeOf("node-2", { ...certificates.node, ...options.second }, options.flags), (node) =>
        node.process.stop(),
      ),
    ]);
    const client = createClusterClient({ kubeconfig: plane.kubeconfig, log: { info() {}, warn() {}, error() {} } });
    ends.push(client.close);
    const admin = connectApi(plane.kubeconfig);
    ends.push(admin.close);
    async function kept(): Promise<string | null> {
      const path = `/api/v1/namespaces/${HOME}/configmaps/sluice-operator-document`;
      const { body } = await admin.ask({ path });
      const { manifest } = (body as { data?: { manifest?: string } }).data ?? {};
      return manifest ? (JSON.parse(manifest) as { hash: string }).hash : null;
    }
    const api = await startApiProxy(await plane.kubeconfigFor(clusterUsers.operator));
    ends.push(api.close);
    const addresses = (await options.through?.(nodes, certificates)) ?? nodes.map(({ push }) => push);
    const kubeconfig = writeKubeconfig(join(folder.path, "operator"), { server: api.url });
    const own = { KUBECONFIG: kubeconfig, SLUICE_NODES: addresses.join(","), ...certificates.operator };
    const twins = {
      ...certificates.operator,
      KUBECONFIG: await plane.kubeconfigFor("twin"),
      SLUICE_NODES: nodes.map(({ push }) => push).join(","),
    };
    const [operator, twin] = await together([
      starting(operatorOf("operator", { ...own, ...options.operator }, options.flags), (one) => one.process.stop()),
      starting(operatorOf("twin", twins), (one) => one.process.stop()),
    ]);
    return { folder: folder.path, plane, api, client, kept, certificates, upstream, nodes, operator, twin, close };
  } catch (error) {
    await close();
    throw error;
  }
}
