/** What the files below one folder may import. The rule of the longest folder that holds a file applies to it. */
export interface Room {
  /** Path from the root. */
  readonly folder: string;
  /** Packages of this repository that it may import. Its own files it imports by relative paths. */
  readonly internal: readonly string[];
  /** Packages and `node:` modules that it must not import, although its workspace depends on them. */
  readonly not: readonly string[];
  /** Why, for the reader of a fault. */
  readonly because: string;
}

const clusterClient = "@kubernetes/client-node";
const databases = ["pg", "@electric-sql/pglite"];
const httpEngine = ["@fastify/reply-from", "fastify", "undici"];
const network = [...databases, ...httpEngine, "node:http", "node:https", "node:http2", "node:net", "node:tls"];

/** What a network module has that does not reach the network: everybody may take it, as everybody may take types. */
export const harmless: Readonly<Record<string, readonly string[]>> = {
  "node:net": ["isIP", "isIPv4", "isIPv6", "BlockList", "SocketAddress"],
  "node:http": ["STATUS_CODES", "METHODS", "validateHeaderName", "validateHeaderValue"],
};

/**
 * Who may import whom, as ARCHITECTURE.md tells it. Test files (see `isTest`) may import the folders `test` and
 * `tools` and the root's devDependencies too; no other file imports those folders.
 */
export const rooms: readonly Room[] = [
  {
    folder: "crds/model",
    internal: [],
    not: [...network, "ioredis", clusterClient],
    because: "the model is pure data and imports nothing internal",
  },
  {
    folder: "crds/client",
    internal: ["@sluice/model"],
    not: [],
    because: "the resource client stands on the model only",
  },
  {
    folder: "operator",
    internal: ["@sluice/model", "@sluice/crds"],
    not: [clusterClient, "ioredis", ...databases],
    because: "operator and gateway meet in the document format; Kubernetes is reached through the resource client",
  },
  {
    folder: "gateway",
    internal: ["@sluice/model"],
    not: [clusterClient],
    because: "in the gateway only admin and stores may use the resource client",
  },
  ...["gateway/src/admin", "gateway/src/stores", "gateway/src/commands/config"].map((folder) => ({
    folder,
    internal: ["@sluice/model", "@sluice/crds"],
    not: [clusterClient],
    because: "Kubernetes is reached through the resource client",
  })),
  {
    folder: "gateway/src/proxy",
    internal: ["@sluice/model"],
    not: [clusterClient, "ioredis", ...databases],
    because: "the proxy talks HTTP to upstreams and to nobody else",
  },
  ...["gateway/src/balance", "gateway/src/compile", "gateway/src/runtime", "gateway/src/plugins"].map((folder) => ({
    folder,
    internal: ["@sluice/model"],
    not: [clusterClient, "ioredis", ...network],
    because: "balance, compile, runtime and plugins see an exchange, never the HTTP engine or the network",
  })),
  {
    folder: "gateway/src/plugins/rate-limiting",
    internal: ["@sluice/model"],
    not: [clusterClient, ...network],
    because: "rate-limit counters may use Redis and nothing else of the network",
  },
  {
    folder: "user-api",
    internal: [],
    not: [clusterClient],
    because: "the user API is a customer of the gateway and imports nothing internal",
  },
  {
    folder: "pulumi",
    internal: ["@sluice/model"],
    not: [clusterClient],
    because: "the stacks stand on the model only",
  },
  {
    folder: "pulumi/others",
    internal: [],
    not: [],
    because: "what a stack creates it tells Pulumi alone; what is there already it asks the API server",
  },
  ...["test", "tools"].map((folder) => ({
    folder,
    internal: [
      "@sluice/model",
      "@sluice/crds",
      "@sluice/gateway",
      "@sluice/operator",
      "@sluice/user-api",
      "@sluice/pulumi",
    ],
    not: [],
    because: "suites and development tools may import everything",
  })),
];

/** Whether the file is no part of any package: a suite or a development tool. */
export const isDevelopment = (path: string): boolean => /^(test|tools)\//.test(path);

/** True for what is development only: suites, tools, and files beside sources that only suites import (`testing-….ts`). */
export function isTest(path: string): boolean {
  return isDevelopment(path) || /\.test\.ts$|(^|\/)testing(-[^/]*)?\.ts$/.test(path);
}
