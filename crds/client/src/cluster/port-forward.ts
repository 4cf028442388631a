/** Forwards a local port to a Service of the cluster, as `kubectl port-forward` does. */
import { once } from "node:events";
import { createRequire } from "node:module";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { type ClusterConnection, createConnection } from "./api/connection.ts";
import { createCredentials, KubeconfigError, type KubeconfigOptions, loadKubeconfig } from "./api/credentials.ts";
import type { KubeConfig } from "./api/kube-config.ts";

export interface PortForwardOptions extends KubeconfigOptions {
  /** Default: the namespace of the context, or else `default`. */
  readonly namespace?: string;
  /** Labels of the Service. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface ForwardedPort {
  /** On 127.0.0.1. */
  readonly port: number;
  /** `namespace/name` */
  readonly service: string;
  close(): void;
}

interface Labelled {
  readonly metadata: { readonly name: string };
}

interface ServiceObject extends Labelled {
  readonly spec: {
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly { readonly port: number; readonly targetPort?: number | string }[];
  };
}

interface PodObject extends Labelled {
  readonly spec: {
    readonly containers: readonly {
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
    }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const require = createRequire(import.meta.url);

/**
 * Connections to the returned port reach the first port of the Service, at a ready pod.
 *
 * @throws KubeconfigError if the kubeconfig cannot be used, or there is no such Service or no ready pod.
 */
export async function forwardService({
  namespace: wanted,
  labels,
  ...options
}: PortForwardOptions): Promise<ForwardedPort> {
  const config = loadKubeconfig(options);
  const context = config.getCurrentContext();
  const namespace = wanted ?? config.getContextObject(context)?.namespace ?? "default";
  const connection = createConnection(createCredentials(config));
  const place = `namespace ${namespace} of the context ${context}`;
  try {
    const [service] = await listLabelled<ServiceObject>(connection, `${namespace}/services`, labels);
    if (!service)
      throw new KubeconfigError(`there is no Service with the labels ${selectorText(labels)} in the ${place}`);
    const { selector = {}, ports: [first] = [] } = service.spec;
    const pods = await listLabelled<PodObject>(connection, `${namespace}/pods`, selector);
    const pod = pods.find(isReady);
    if (!pod || !first)
      throw new KubeconfigError(`no pod of the Service ${service.metadata.name} is ready in the ${place}`);
    const port = portOf(pod, first.targetPort ?? first.port);
    const path = `/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}/portforward?ports=${port}`;
    const listener = await listen((client) => joinStreams(client, config, path));
    return { ...listener, service: `${namespace}/${service.metadata.name}` };
  } finally {
    await connection.close();
  }
}

const selectorText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");

async function listLabelled<Item>(
  connection: ClusterConnection,
  path: string,
  labels: Readonly<Record<string, string>>,
): Promise<readonly Item[]> {
  const listed = await connection.call({
    method: "GET",
    path: `/api/v1/namespaces/${path}`,
    query: { labelSelector: selectorText(labels) },
  });
  return (Object(listed) as { readonly items?: readonly Item[] }).items ?? [];
}

const isReady = ({ status }: PodObject): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => type === "Ready" && value === "True");

/** The number of a port that a Service may name. */
function portOf({ spec, metadata }: PodObject, target: number | string): number {
  if (typeof target === "number") return target;
  const named = spec.containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === target);
  if (!named) throw new KubeconfigError(`the pod ${metadata.name} has no port ${target}`);
  return named.containerPort;
}

/** Loaded on demand, and without the index of client-node (see kube-config.ts). */
const loadHandler = (): typeof import("@kubernetes/client-node/dist/web-socket-handler.js") =>
  require("@kubernetes/client-node/dist/web-socket-handler.js");

/** The number of the stream of data; the stream of errors follows it. */
const DATA = 0;

/**
 * Connects a client to the pod by a WebSocket of its own. Each message begins with the number of its stream; the first
 * message of each stream contains only the port.
 */
async function joinStreams(client: Socket, config: KubeConfig, path: string): Promise<void> {
  const input = new PassThrough();
  client.pipe(input);
  client.once("error", () => client.destroy());
  const begun = new Set<number>();
  const { WebSocketHandler } = loadHandler();
  try {
    const socket = await new WebSocketHandler(config).connect(path, null, (stream: number, bytes: Buffer) => {
      if (!begun.has(stream)) begun.add(stream);
      else if (stream === DATA) client.write(bytes);
      else client.destroy();
      return true;
    });
    socket.onclose = () => client.end();
    client.once("close", () => socket.close());
    WebSocketHandler.handleStandardInput(socket, input, DATA);
  } catch {
    client.destroy();
  }
}

async function listen(onClient: (client: Socket) => void): Promise<{ port: number; close(): void }> {
  const clients = new Set<Socket>();
  const server = createServer({ allowHalfOpen: false }, (client) => {
    clients.add(client);
    client.once("close", () => clients.delete(client));
    onClient(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const client of clients) client.destroy();
    },
  };
}
