/** The commands for declarative files, databases and plugin packages. */
import type { ArgumentDefinition } from "@sluice/model/command-line";
import type { configCommands } from "../config/index.ts";
import type { SluiceCommand } from "./sluice-command.ts";

const file: ArgumentDefinition = { name: "FILE", description: "A declarative file." };

/** @param definition.name Also the name under which the subcommand is loaded. */
const configSubcommand = (
  definition: Omit<SluiceCommand, "name" | "load"> & { readonly name: keyof typeof configCommands },
): SluiceCommand => ({
  ...definition,
  load: async () => (await import("../config/index.ts")).configCommands[definition.name],
});

const store = "SLUICE_STORE selects the store.";

const config: SluiceCommand = {
  name: "config",
  summary: "checks, converts, imports and exports declarative files",
  examples: [{ line: "sluice config parse sluice.yml", effect: "reports every error in the file" }],
  subcommands: [
    configSubcommand({
      name: "init",
      summary: "writes an example file",
      arguments: [{ ...file, optional: true, description: "The file to write (default ./sluice.yml)." }],
      examples: [{ line: "sluice config init", effect: "writes ./sluice.yml" }],
    }),
    configSubcommand({
      name: "parse",
      summary: "reports every error in a file with its position",
      arguments: [file],
      examples: [{ line: "sluice config parse sluice.yml", effect: "checks one file" }],
    }),
    configSubcommand({
      name: "import",
      aliases: ["db_import"],
      summary: "creates and updates the file's entities in the store; deletes nothing",
      description: store,
      arguments: [file],
      examples: [{ line: "sluice config import sluice.yml", effect: "writes into the embedded database" }],
    }),
    configSubcommand({
      name: "export",
      aliases: ["db_export"],
      summary: "writes all entities of the store to a file",
      description: store,
      arguments: [
        {
          ...file,
          optional: true,
          description: "The file to write (default ./sluice.yml), or - for standard output.",
        },
      ],
      examples: [{ line: "sluice config export -", effect: "prints all entities of the embedded database" }],
    }),
    configSubcommand({
      name: "convert",
      summary: "converts a declarative file to custom resources, or a folder of custom resources to a declarative file",
      arguments: [{ name: "FILE|FOLDER", description: "The declarative file, or the folder of resources." }],
      options: {
        to: {
          value: "FORM",
          choices: ["custom-resources", "declarative"],
          required: true,
          description: "The form to convert to.",
        },
        out: { value: "PATH", description: "The folder or file to write. Default: standard output." },
      },
      examples: [
        { line: "sluice config convert sluice.yml --to custom-resources --out resources", effect: "writes a folder" },
        { line: "sluice config convert resources --to declarative", effect: "prints a declarative file" },
      ],
    }),
  ],
};

const migrateKubernetes: SluiceCommand = {
  name: "kubernetes",
  summary: "reports which objects of Kong's ingress controller are served, and converts them",
  description:
    "Prints a row for each Ingress, object of konghq.com, core Service and credential of Kong's ingress controller 3.x, " +
    "with its annotations: whether Sluice serves it in the same way, differently, or not at all, with the action to " +
    "take instead. With --cluster the objects are read from the cluster of the kubeconfig, with GET requests only.",
  options: {
    filename: {
      short: "f",
      value: "PATH",
      description: "A file, a folder with YAML or JSON files, or - for standard input.",
    },
    cluster: { description: "Read the objects from the cluster of the kubeconfig." },
    context: { value: "NAME", description: "The context of the kubeconfig (default: the current one)." },
    kubeconfig: { value: "FILE", description: "The kubeconfig (default: KUBECONFIG)." },
    "ingress-class": { value: "NAME", description: "The IngressClass of Kong's controller (default kong)." },
    write: {
      value: "FOLDER",
      description:
        "Write the resources into the folder, as NAMESPACE/KIND/NAME.yaml. Requests whose protection cannot be " +
        "converted are answered with 503.",
    },
  },
  exitCodes: { 3: "some objects are not served" },
  examples: [
    { line: "sluice migrate kubernetes -f manifests", effect: "reports on a folder" },
    { line: "helm template ./shop | sluice migrate kubernetes -f -", effect: "reports on the manifests of a chart" },
    { line: "sluice migrate kubernetes --cluster --write resources", effect: "reads a cluster, and writes resources" },
  ],
  load: async () => (await import("../migrate/kubernetes/index.ts")).migrateKubernetesCommand,
};

const migrate: SluiceCommand = {
  name: "migrate",
  summary: "reports which part of a Kong configuration Sluice can serve, and converts that part",
  description:
    "Prints which entities of a Kong configuration Sluice serves in the same way, which ones differently, and which " +
    "ones not at all, with the action to take instead. With --admin the entities are read from Kong's admin API, with " +
    "GET requests only.",
  arguments: [{ name: "FILE", optional: true, description: "A declarative file, or a dump of decK." }],
  options: {
    admin: { value: "URL", description: "Kong's admin API, to read instead of a file." },
    header: { value: "HEADER", description: "A header for Kong's admin API, such as 'Kong-Admin-Token: secret'." },
    write: {
      value: "PATH",
      description:
        "Write the part that can be served: custom resources into the folder PATH, or a declarative file (--format). " +
        "A plugin that Sluice lacks and that may protect its scope is written so that requests in that scope are " +
        "answered with 503.",
    },
    format: {
      value: "FORM",
      choices: ["resources", "file"],
      description: "The form that --write writes (default resources).",
    },
  },
  exitCodes: { 3: "Sluice cannot serve a part of the configuration" },
  examples: [
    { line: "sluice migrate kong.yml", effect: "reports on a declarative file of Kong" },
    {
      line: "sluice migrate --admin http://kong:8001 --write resources",
      effect: "reads a running Kong, and writes custom resources",
    },
  ],
  subcommands: [migrateKubernetes],
  load: async () => (await import("../migrate/index.ts")).migrateCommand,
};

const load = async () => (await import("../migrations.ts")).migrationsCommand;

/** Kong's subcommands all have both options. */
const options = {
  yes: { short: "y", description: "Do not ask for confirmation (only 'reset' asks)." },
  quiet: { short: "q", description: "Print only errors." },
};

const migrations: SluiceCommand = {
  name: "migrations",
  summary: "creates and migrates the tables of the database",
  description: "SLUICE_DATABASE and SLUICE_PG_* select the database.",
  examples: [{ line: "sluice migrations bootstrap", effect: "creates the tables in an empty database" }],
  subcommands: [
    {
      name: "bootstrap",
      summary: "creates the tables in an empty database",
      options,
      examples: [
        { line: "sluice migrations bootstrap --database postgres", effect: "on the Postgres server of SLUICE_PG_*" },
      ],
      load,
    },
    {
      name: "up",
      summary: "runs new migrations; nodes of the previous version keep working",
      options,
      examples: [{ line: "sluice migrations up", effect: "the first step of an upgrade" }],
      load,
    },
    {
      name: "finish",
      summary: "completes the migrations that 'up' began; nodes of the previous version must have stopped",
      options,
      examples: [{ line: "sluice migrations finish", effect: "the last step of an upgrade" }],
      load,
    },
    {
      name: "list",
      summary: "prints the migrations",
      options,
      exitCodes: {
        3: "the database needs 'bootstrap'",
        4: "the database needs 'finish'",
        5: "the database needs 'up'",
      },
      examples: [{ line: "sluice migrations list --quiet", effect: "only sets the exit code" }],
      load,
    },
    {
      name: "status",
      summary: "prints the migrations as JSON",
      options,
      examples: [{ line: "sluice migrations status", effect: "for scripts" }],
      load,
    },
    {
      name: "reset",
      summary: "drops all tables and their contents",
      options,
      examples: [{ line: "sluice migrations reset --yes", effect: "without asking for confirmation" }],
      load,
    },
  ],
};

const plugin: SluiceCommand = {
  name: "plugin",
  summary: "writes the package of a new plugin",
  examples: [{ line: "sluice plugin new my-plugin", effect: "writes a package with a test into ./my-plugin" }],
  subcommands: [
    {
      name: "new",
      summary: "writes a plugin package with a test into the new folder NAME",
      arguments: [{ name: "NAME", description: "Name of the plugin: lower-case letters, digits and single dashes." }],
      examples: [{ line: "sluice plugin new my-plugin", effect: "writes ./my-plugin" }],
      load: async () => (await import("../plugin/index.ts")).newPluginCommand,
    },
  ],
};

export const configurationCommands: readonly SluiceCommand[] = [migrations, config, migrate, plugin];
