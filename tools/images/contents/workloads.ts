import manifest from "../../../package.json" with { type: "json" };

/** A program of Sluice that has its own image. */
export interface ImageWorkload {
  readonly name: WorkloadName;
  readonly title: string;
  readonly description: string;
  /** The folder of the program's workspace; the command is its `src/main.ts`. */
  readonly workspace: string;
  /** The default arguments of the command. */
  readonly words: readonly string[];
  /**
   * Dependencies of the workspace that this image leaves out, with their own dependencies. This workload does not use
   * them.
   */
  readonly without: readonly string[];
  /** Whether the image has the web console. */
  readonly console?: true;
}

export type WorkloadName = "operator" | "gateway" | "admin" | "user-api";

export const workloads: Readonly<Record<WorkloadName, ImageWorkload>> = {
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
    description: "A node: serves clients' requests, configured by the operator, a database or a file.",
    workspace: "gateway",
    words: ["gateway"],
    // A node has no access to Kubernetes; `sluice admin`, `start` and `config` are in the image of `admin`.
    without: ["@sluice/crds"],
  },
  admin: {
    name: "admin",
    title: "Sluice admin listener",
    description: "Kong's admin API over custom resources or a database.",
    workspace: "gateway",
    words: ["admin"],
    console: true,
    // Traces and the embedded database belong to nodes; a separate admin listener uses neither.
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
    // GraphiQL is for development; it takes nine megabytes, and its peer dependency is a whole server.
    without: ["@graphql-yoga/render-graphiql"],
  },
};

/** The version of all packages of Sluice. */
export const { version } = manifest;

/** The user and group of every image. Numeric, because Kubernetes cannot verify that a user name is not root. */
export const user = { id: 65532, name: "sluice" };
