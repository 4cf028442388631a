/** Starts a node by the command `sluice gateway`: with a file of given content, or with other settings. */
import { join } from "node:path";
import { type Document, deriveId } from "@sluice/model";
import { buildPrograms } from "../../../tools/build/programs.ts";
import { freePort, startProcess } from "../../../tools/process/index.ts";
import type { Stage, Started } from "./stage.ts";

export interface Content {
  readonly routes: number;
  /** Number of consumers, each with its own key: key-0, key-1, ... */
  readonly consumers?: number;
  readonly plugins?: readonly object[];
  /** Further entities. */
  readonly others?: Partial<Document>;
  /** The port of the upstream of /api. Default: the stage's upstream. */
  readonly upstream?: number;
}

/** The usual plugins of a gateway; the limit is never reached. */
export const fourPlugins: readonly object[] = [
  { name: "key-auth" },
  { name: "rate-limiting", config: { minute: 1_000_000_000 } },
  { name: "cors" },
  { name: "prometheus", config: { status_code_metrics: true, latency_metrics: true, bandwidth_metrics: true } },
];

/** A reference to the entity of this name, by id as in pushed documents. */
export const referTo = (collection: Parameters<typeof deriveId>[0], name: string): { readonly id: string } => ({
  id: deriveId(collection, name),
});
const named = (collection: Parameters<typeof deriveId>[0], name: string) => ({ ...referTo(collection, name), name });
const plain = { protocol: "http", host: "127.0.0.1" };

/** The number of distinct path prefixes. */
export const GROUPS = 97;

/** The route with this number; `members` override its own members. */
export const routeAt = (index: number, members: object = {}): object => ({
  ...named("routes", `route-${index}`),
  paths: [`/group-${index % GROUPS}/route-${index}`],
  service: referTo("services", "up"),
  ...members,
});

/** A document with the route /api in the middle of the others, and /reader. */
export function documentWith(
  stage: Stage,
  { routes, consumers = 0, plugins = [], others = {}, upstream }: Content,
): Document {
  const middle = Math.floor(routes / 2);
  const { certificate, key } = stage.certificate;
  const shown = referTo("certificates", "bench");
  const everybody = Array.from({ length: consumers }, (_, index) => `consumer-${index}`);
  return {
    _format_version: "3.0",
    services: [
      { ...named("services", "up"), ...plain, port: upstream ?? stage.upstream },
      { ...named("services", "reader"), ...plain, port: stage.reader },
    ],
    routes: [
      ...Array.from({ length: routes }, (_, index) => routeAt(index, index === middle ? { paths: ["/api"] } : {})),
      { ...named("routes", "reader"), paths: ["/reader"], service: referTo("services", "reader") },
    ],
    plugins: plugins.map((plugin, index) => ({
      ...referTo("plugins", `${index}`),
      ...plugin,
      service: referTo("services", "up"),
    })),
    consumers: everybody.map((username) => ({ ...referTo("consumers", username), username })),
    keyauth_credentials: everybody.map((username, index) => ({
      ...referTo("keyauth_credentials", username),
      key: `key-${index}`,
      consumer: referTo("consumers", username),
    })),
    certificates: [{ ...shown, cert: certificate, key }],
    snis: [{ ...named("snis", "localhost"), certificate: shown }],
    ...others,
  };
}

export interface SluiceStarted extends Started {
  readonly tlsPort: number;
  readonly statusPort: number;
}

const ownRoot = join(import.meta.dirname, "../../..");

/**
 * Starts a node. Resolves when its status listener responds to the path `ready` with a status below 500. `root` is a
 * checkout of Sluice; a checkout of another version must already be built.
 */
export async function startBenchNode(
  env: Readonly<Record<string, string>>,
  ready = "/status",
  root = ownRoot,
): Promise<SluiceStarted> {
  const [port, tlsPort, statusPort] = [await freePort(), await freePort(), await freePort()];
  // Benchmarks measure the built form.
  if (root === ownRoot) await buildPrograms();
  // Starts the command's file, not Node with this file as argument, so that the file's first line sets Node's flags.
  const started = await startProcess(join(root, "gateway/build/main.js"), ["gateway"], {
    name: "sluice",
    ready: `http://127.0.0.1:${statusPort}${ready}`,
    timeout: 120_000,
    env: {
      SLUICE_PROXY_LISTEN: `127.0.0.1:${port}`,
      SLUICE_PROXY_TLS_LISTEN: `127.0.0.1:${tlsPort}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${statusPort}`,
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      SLUICE_LOG_LEVEL: "warn",
      // As for the other proxies: h2load does not connect again when a connection has served its last request.
      SLUICE_KEEPALIVE_REQUESTS: "1000000000",
      // Each version runs on the Node that it installs.
      PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
      ...env,
    },
  });
  return { process: started, port, tlsPort, statusPort };
}

let files = 0;

export async function startSluice(
  stage: Stage,
  content: Content,
  env: Readonly<Record<string, string>> = {},
  root?: string,
): Promise<SluiceStarted> {
  const file = stage.file(`sluice-${files++}.json`, JSON.stringify(documentWith(stage, content)));
  return startBenchNode({ SLUICE_SOURCE: "file", SLUICE_FILE: file, ...env }, "/status/ready", root);
}
