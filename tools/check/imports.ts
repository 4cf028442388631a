/** The import rules of the files below one folder. If a file is below several, the longest of these paths counts. */
export interface ImportRule {
  /** Path from the root. */
  readonly folder: string;
  /** Packages of this repository that the folder's files may import. The files import each other by relative paths. */
  readonly internal: readonly string[];
  /** Packages and `node:` modules that the folder's files, except tests, must not import. */
  readonly not: readonly string[];
  /** The reason for the rule, which the error message gives. */
  readonly because: string;
}

const clusterClient = "@kubernetes/client-node";
const databases = ["pg", "@electric-sql/pglite"];
const httpEngine = ["@fastify/reply-from", "fastify", "undici"];
const network = [...databases, ...httpEngine, "node:http", "node:https", "node:http2", "node:net", "node:tls"];

/** Exports of `node:` modules that do not use the network: every file may import them, as it may import types. */
export const allowedNodeExports: Readonly<Record<string, readonly string[]>> = {
  "node:net": ["isIP", "isIPv4", "isIPv6", "BlockList", "SocketAddress"],
  "node:http": ["STATUS_CODES", "METHODS", "validateHeaderName", "validateHeaderValue"],
};

/**
 * The import rules that ARCHITECTURE.md describes. Test files (see `isTest`) may also import the folders `test` and
 * `tools` and the root's devDependencies; no other file may import those folders.
 */
export const importRules: readonly ImportRule[] = [
  {
    folder: "gateway/plugin-sdk",
    internal: [],
    not: [...network, "ioredis", clusterClient],
    because: "the interface of plugins depends on nothing internal and sees no HTTP engine",
  },
  {
    folder: "gateway/plugins",
    internal: ["@sluice/plugin-sdk"],
    not: [...network, "ioredis", clusterClient],
    because: "plugins use the plugin SDK and nothing else internal",
  },
  {
    folder: "crds/model",
    internal: ["@sluice/plugin-sdk", "@sluice/plugins"],
    not: [...network, "ioredis", clusterClient],
    because: "the model is pure data; of plugins it imports the schemas only",
  },
  {
    folder: "crds/client",
    internal: ["@sluice/model"],
    not: [],
    because: "the resource client may use only the model",
  },
  {
    folder: "crds/acme",
    internal: ["@sluice/model", "@sluice/plugin-sdk"],
    not: [clusterClient, "ioredis", ...databases],
    because: "the operator and the gateway share the orders, and each stores what the orders need in its own way",
  },
  {
    folder: "operator",
    internal: ["@sluice/model", "@sluice/crds", "@sluice/acme"],
    not: [clusterClient, "ioredis", ...databases],
    because: "operator and gateway share only the model; only the resource client accesses Kubernetes",
  },
  {
    folder: "gateway/console",
    internal: ["@sluice/model"],
    not: [...network, clusterClient],
    because: "the console runs in browsers and takes only types from the model",
  },
  {
    folder: "gateway",
    internal: ["@sluice/model", "@sluice/plugin-sdk", "@sluice/plugins"],
    not: [clusterClient],
    because:
      "in the gateway only admin, stores and the commands config, client and migrate may use the resource client",
  },
  ...[
    "gateway/src/admin",
    "gateway/src/stores",
    "gateway/src/commands/config",
    "gateway/src/commands/client",
    "gateway/src/commands/migrate",
  ].map((folder) => ({
    folder,
    internal: ["@sluice/model", "@sluice/crds", "@sluice/plugin-sdk"],
    not: [clusterClient],
    because: "only the resource client accesses Kubernetes",
  })),
  {
    folder: "gateway/src/acme",
    internal: ["@sluice/model", "@sluice/acme"],
    not: [clusterClient],
    because: "in the gateway only this folder orders certificates",
  },
  {
    folder: "gateway/src/proxy",
    internal: ["@sluice/model", "@sluice/plugin-sdk"],
    not: [clusterClient, "ioredis", ...databases],
    because: "the proxy connects to upstreams only",
  },
  ...["exchange", "balance", "compile", "metrics", "shared-memory"].map((folder) => ({
    folder: `gateway/src/${folder}`,
    internal: ["@sluice/model", "@sluice/plugin-sdk"],
    not: [clusterClient, "ioredis", ...network],
    because: "these folders see documents and exchanges, never the HTTP engine or the network",
  })),
  {
    folder: "gateway/src/counters",
    internal: ["@sluice/model", "@sluice/plugin-sdk"],
    not: [clusterClient, ...network],
    because: "counters connect only to Redis; gateway/src/database connects to databases",
  },
  {
    folder: "user-api",
    internal: [],
    not: [clusterClient],
    because: "the user API is an upstream of the gateway and imports nothing internal",
  },
  {
    folder: "pulumi",
    internal: ["@sluice/model"],
    not: [clusterClient],
    because: "the stacks may use only the model",
  },
  {
    folder: "pulumi/ownership",
    internal: [],
    not: [],
    because: "stacks create objects only through Pulumi, and read existing ones from the API server",
  },
  ...["test", "tools"].map((folder) => ({
    folder,
    internal: [
      "@sluice/plugin-sdk",
      "@sluice/plugins",
      "@sluice/model",
      "@sluice/crds",
      "@sluice/acme",
      "@sluice/gateway",
      "@sluice/operator",
      "@sluice/user-api",
      "@sluice/pulumi",
    ],
    not: [],
    because: "this repository has no such package",
  })),
];

/** Whether the file is below `test` or `tools`, and so belongs to no package. */
export const isDevelopment = (path: string): boolean => /^(test|tools)\//.test(path);

/**
 * Whether the file is for development only: a suite, a tool, or a helper beside sources that only suites import
 * (`testing-….ts`).
 */
export function isTest(path: string): boolean {
  return isDevelopment(path) || /\.test\.ts$|(^|\/)testing(-[^/]*)?\.ts$/.test(path);
}
