/**
 * The environment of all cases: a real etcd and API server with CRDs and roles, the population, two nodes, an
 * operator.
 */
import { join } from "node:path";
import { createClusterClient, type ResourceClient } from "@sluice/crds";
import { builtProgram } from "../../../tools/build/programs.ts";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { type ControlPlane, startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { type PushCertificateFiles, writePushCertificates } from "../../../tools/cluster/push-certificates.ts";
import { clusterUsers, roleManifests } from "../../../tools/cluster/rbac.ts";
import { freePort, type Process, startProcess, waitFor } from "../../../tools/process/index.ts";
import { createStage, type Stage } from "../proxy/stage.ts";
import { NAMESPACE, type PopulationSize } from "./population.ts";
import { closeProxyConnections } from "./proxy-requests.ts";
import { type RunningOperator, startOperatorProcess } from "./running-operator.ts";

export interface BenchNode {
  readonly process: Process;
  /** The address of its listeners. */
  readonly address: string;
  readonly proxy: number;
  /** Base address of the node's push listener. */
  readonly push: string;
}

export interface OperatorStageOptions {
  /** Writes the resources that exist before measurements begin, with an administrator's rights. */
  readonly populate: (client: ResourceClient, upstream: string) => Promise<void>;
  /** Files or folders with CRDs, in addition to Sluice's own. */
  readonly crds?: readonly string[];
  /** The addresses of the nodes' listeners. Default: all nodes have 127.0.0.1. */
  readonly addresses?: readonly string[];
  /** Environment of the operator. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface OperatorStage {
  readonly folder: string;
  readonly plane: ControlPlane;
  readonly client: ResourceClient;
  readonly certificates: PushCertificateFiles;
  /** Path of the kubeconfig of the operator, which has the permissions of the chart's role. */
  readonly kubeconfig: string;
  /** The `url` that all Services of the population have. */
  readonly url: string;
  /** Two nodes and an operator that has written every resource's status; started on first use. */
  running(): Promise<MeasuredOperator>;
  /** Stops nodes and operator. */
  clear(): Promise<void>;
  /** Starts two nodes without a document. The caller, or `clear`, stops them. */
  startNodes(): Promise<readonly BenchNode[]>;
  startOperator(nodes: readonly string[]): Promise<RunningOperator>;
  close(): Promise<void>;
}

/** With resources of Sluice. */
export interface PopulatedStage extends OperatorStage {
  readonly size: PopulationSize;
}

export interface MeasuredOperator {
  readonly nodes: readonly BenchNode[];
  readonly operator: RunningOperator;
}

async function startNode(name: string, address: string, certificates: PushCertificateFiles): Promise<BenchNode> {
  const [proxy, push, status] = [await freePort(), await freePort(), await freePort()];
  const main = await builtProgram("gateway");
  const started = await startProcess(main, ["gateway"], {
    name,
    ready: `http://127.0.0.1:${status}/status`,
    env: {
      SLUICE_PROXY_LISTEN: `${address}:${proxy}`,
      SLUICE_PROXY_TLS_LISTEN: `${address}:0`,
      SLUICE_PUSH_LISTEN: `127.0.0.1:${push}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      SLUICE_LOG_LEVEL: "warn",
      ...certificates.node,
    },
  });
  return { process: started, address, proxy, push: `https://127.0.0.1:${push}` };
}

async function preparePlane(plane: ControlPlane, crds: readonly string[]): Promise<string> {
  const [kubeconfig] = await Promise.all([
    plane.kubeconfigFor(clusterUsers.operator),
    plane.kubectl([
      "apply",
      "--server-side",
      ...[join(repositoryRoot, "crds"), ...crds].flatMap((path) => ["-f", path]),
    ]),
    plane.kubectl(["apply", "--server-side", "-f", "-"], roleManifests(NAMESPACE)),
  ]);
  await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  await waitFor(() => plane.kubectl(["get", "sluice", "--all-namespaces"]), { what: "the new kinds to be served" });
  return kubeconfig;
}

export async function createOperatorStage(options: OperatorStageOptions): Promise<OperatorStage> {
  const { populate, crds = [], addresses = ["127.0.0.1", "127.0.0.1"], env } = options;
  const machine: Stage = await createStage();
  const ends: (() => Promise<unknown>)[] = [machine.close];
  const kept: { stop(): Promise<unknown> }[] = [];
  let running: Promise<MeasuredOperator> | undefined;
  const keep = <Kind extends { stop(): Promise<unknown> }>(one: Kind): Kind => {
    kept.push(one);
    return one;
  };
  const clear = async () => {
    running = undefined;
    for (const one of kept.splice(0).reverse()) await one.stop();
  };
  const close = async () => {
    await clear();
    closeProxyConnections();
    for (const end of ends.toReversed()) await end();
  };
  try {
    const plane = await startControlPlane();
    ends.push(plane.stop);
    const [kubeconfig, certificates] = await Promise.all([
      preparePlane(plane, crds),
      writePushCertificates(join(machine.folder, "push")),
    ]);
    const log = { info() {}, warn: console.warn, error: console.error };
    const client = createClusterClient({ kubeconfig: plane.kubeconfig, log });
    ends.push(client.close);
    const url = `http://127.0.0.1:${machine.upstream}`;
    await populate(client, url);
    const startNodes = async () =>
      Promise.all(
        addresses.map(async (address, index) => {
          const node = await startNode(`node-${index + 1}`, address, certificates);
          keep(node.process);
          return node;
        }),
      );
    const startOperator = async (nodes: readonly string[]) =>
      keep(await startOperatorProcess({ kubeconfig, certificates, nodes, env }));
    const start = async (): Promise<MeasuredOperator> => {
      const nodes = await startNodes();
      const operator = await startOperator(nodes.map(({ push }) => push));
      await operator.untilAcknowledged(nodes.length);
      await operator.untilSettled();
      return { nodes, operator };
    };
    return {
      folder: machine.folder,
      plane,
      client,
      certificates,
      kubeconfig,
      url,
      running() {
        running ??= start();
        return running;
      },
      clear,
      startNodes,
      startOperator,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
