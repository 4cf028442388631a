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
  /** For an image that people run without a chart. */
  readonly standalone?: Standalone;
}

/** What an image needs so that `docker run` with published ports suffices. */
export interface Standalone {
  /** The default settings, as environment variables. */
  readonly settings: Readonly<Record<string, string>>;
  readonly ports: readonly number[];
  /** The folder with all data of the process. */
  readonly volume: string;
  /** The name of the command on the image's PATH, for `docker exec`. */
  readonly command: string;
  /** Source text of a program that exits with 0 if the process is ready. */
  readonly healthCheck: string;
}

export type WorkloadName = "operator" | "gateway" | "admin" | "sluice" | "user-api";

/** The folder for data in every image. */
export const imageDataFolder = "/var/lib/sluice";

/** Asks the status listener of a node, or the admin listener of a process without a node. */
const healthCheck = [
  "const ready = (port) => fetch('http://127.0.0.1:' + port + '/readyz').then(({ ok }) => ok, () => undefined);",
  "process.exit(((await ready(8007)) ?? (await ready(8001))) ? 0 : 1);",
].join(" ");

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
    // Traces, the embedded database and the orders of certificates belong to nodes; a separate admin listener uses none.
    without: [
      "@sluice/acme",
      "@electric-sql/pglite",
      "@opentelemetry/exporter-trace-otlp-http",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-trace",
    ],
  },
  sluice: {
    name: "sluice",
    title: "Sluice",
    description: "The command sluice: a node and the admin API in one process, over a database or a file.",
    workspace: "gateway",
    words: ["start"],
    console: true,
    without: [],
    standalone: {
      // Published ports lead to the container's own address. The admin API therefore needs a token, which the first
      // start creates. The status listener stays on loopback, because it has no authentication.
      settings: {
        SLUICE_PROXY_LISTEN: "0.0.0.0:8000",
        SLUICE_ADMIN_LISTEN: "0.0.0.0:8001",
        SLUICE_ADMIN_TOKEN_FILE: `${imageDataFolder}/admin-token`,
        SLUICE_DATABASE_DIR: `${imageDataFolder}/database`,
        SLUICE_DATABASE_BOOTSTRAP: "true",
      },
      ports: [8000, 8001],
      volume: imageDataFolder,
      command: "sluice",
      healthCheck,
    },
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
export const packageVersion: string = manifest.version;

/** The user and group of every image. Numeric, because Kubernetes cannot verify that a user name is not root. */
export const imageUser = { id: 65532, name: "sluice" };
