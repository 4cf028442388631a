import manifest from "../../package.json" with { type: "json" };

/** A program of ours that runs in an image of its own. */
export interface Workload {
  readonly name: WorkloadName;
  readonly title: string;
  readonly description: string;
  /** The folder of its workspace, whose command is its `src/main.ts`. */
  readonly workspace: string;
  /** The words after the command, when a container gives none. */
  readonly words: readonly string[];
  /**
   * Packages that the workspace depends on and this image does not: whatever needs them is not for this workload. Their
   * own dependencies go with them.
   */
  readonly without: readonly string[];
}

export type WorkloadName = "operator" | "gateway" | "admin" | "user-api";

export const workloads: Readonly<Record<WorkloadName, Workload>> = {
  operator: {
    name: "operator",
    title: "Sluice operator",
    description: "Translates custom resources into one document and pushes it to every node.",
    workspace: "operator",
    words: [],
    without: [],
  },
  gateway: {
    name: "gateway",
    title: "Sluice gateway",
    description: "A node: takes clients' requests, and documents from the operator, a database or a file.",
    workspace: "gateway",
    words: ["gateway"],
    // A node has no access to Kubernetes, so `sluice admin`, `start` and `config` are in the other image.
    without: ["@sluice/crds"],
  },
  admin: {
    name: "admin",
    title: "Sluice admin listener",
    description: "Kong's admin API over custom resources or a database.",
    workspace: "gateway",
    words: ["admin"],
    // A node makes spans and an embedded database lives in the process of a node: neither is for a listener of its own.
    without: [
      "@electric-sql/pglite",
      "@opentelemetry/exporter-trace-otlp-http",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-trace",
    ],
  },
  "user-api": {
    name: "user-api",
    title: "Sluice user directory",
    description: "The user directory: GraphQL on Postgres or an embedded database.",
    workspace: "user-api",
    words: ["serve"],
    // A page for development: nine megabytes, and with its peer a server of its own.
    without: ["@graphql-yoga/render-graphiql"],
  },
};

/** The version of all that is ours. */
export const { version } = manifest;

/** The user and the group that every image runs as, by number, for Kubernetes cannot tell that a name is not root's. */
export const user = { id: 65532, name: "sluice" };
