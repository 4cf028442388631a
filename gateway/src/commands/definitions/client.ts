/** The commands that read or change the configuration through the admin API. */
import type { Collection } from "@sluice/model";
import type { ArgumentDefinition, OptionDefinition } from "@sluice/model/command-line";
import { clientOptions, connectionOptions } from "./options.ts";
import type { SluiceCommand } from "./sluice-command.ts";

const status: SluiceCommand = {
  name: "status",
  summary: "shows the nodes, and the parts of the configuration that are not served as written",
  description:
    "The command also warns of certificates that expire within 14 days or do not cover their server name, and of " +
    "targets that are unhealthy or refused. Warnings do not change the exit code.",
  options: clientOptions("table", "yaml", "json"),
  exitCodes: { 3: "a node, a resource or a file has a problem" },
  examples: [
    { line: "sluice status", effect: "the installation of http://127.0.0.1:8001" },
    { line: "sluice status --admin-url https://admin.example:8444 --cacert ca.pem", effect: "another installation" },
  ],
  load: async () => (await import("../client/status.ts")).statusCommand,
};

/** Targets and members of consumer groups are listed only below their parents. */
const collections: Readonly<Record<Exclude<Collection, "targets" | "consumer_group_consumers">, true>> = {
  services: true,
  routes: true,
  plugins: true,
  consumers: true,
  consumer_groups: true,
  upstreams: true,
  certificates: true,
  ca_certificates: true,
  snis: true,
  vaults: true,
  graphql_documents: true,
  acls: true,
  keyauth_credentials: true,
  basicauth_credentials: true,
  hmacauth_credentials: true,
  jwt_secrets: true,
  mtls_auth_credentials: true,
  plugin_credentials: true,
};

const collection: ArgumentDefinition = {
  name: "COLLECTION",
  choices: Object.keys(collections),
  // The singular is the name without its `s`. The model has it too, but every command would then load the model.
  synonyms: new Map(Object.keys(collections).map((name) => [name.slice(0, -1), name])),
  description: "The kind of entity, in the plural or the singular.",
};

const get: SluiceCommand = {
  name: "get",
  summary: "lists entities, or shows one",
  description: "The formats yaml and json show entities as the admin API returns them, with keys in clear text.",
  arguments: [
    collection,
    {
      name: "NAME",
      optional: true,
      description: "Name or id of one entity, or its custom resource as NAMESPACE/NAME.",
    },
  ],
  options: {
    tag: { value: "TAG", description: "Only entities with this tag." },
    ...clientOptions("table", "wide", "yaml", "json"),
  },
  examples: [
    { line: "sluice get routes", effect: "lists all routes" },
    { line: "sluice get services shop -o yaml", effect: "prints a service" },
  ],
  load: async () => (await import("../client/get.ts")).getCommand,
};

const describe: SluiceCommand = {
  name: "describe",
  summary: "shows an entity with its source, conditions, references, plugins and targets",
  description: "Secrets are redacted.",
  arguments: [
    collection,
    { name: "NAME", description: "Name or id of the entity, or its custom resource as NAMESPACE/NAME." },
  ],
  options: clientOptions("text", "yaml", "json"),
  examples: [
    { line: "sluice describe routes shop", effect: "shows a route with its file and line, or its custom resource" },
    {
      line: "sluice describe plugins shop/keys",
      effect: "shows the plugin of the custom resource `keys` in the namespace `shop`",
    },
  ],
  load: async () => (await import("../client/get.ts")).describeCommand,
};

const prune: OptionDefinition = { description: "Delete entities that PATH does not contain. Default: they are kept." };

const document: Readonly<Record<string, OptionDefinition>> = {
  file: {
    short: "f",
    value: "PATH",
    required: true,
    description: "A declarative file, or a file or folder of custom resources.",
  },
  prune,
};

/** The options of a command that shows a plan and carries it out. */
const carryOutOptions: Readonly<Record<string, OptionDefinition>> = {
  yes: { short: "y", description: "Do not ask for confirmation." },
  force: { description: "Also change fields of custom resources that another field manager owns." },
  ...connectionOptions,
};

const plan: SluiceCommand = {
  name: "plan",
  summary:
    "shows the changes that a file or folder would make, and which requests would be routed or answered differently",
  description: "Works with every store. Keys and passwords are redacted in the output, but not in a saved plan.",
  options: {
    ...document,
    out: { value: "FILE", description: "Save the plan for `sluice apply FILE`; only its owner can read the file." },
    ...clientOptions("text", "yaml", "json"),
  },
  examples: [
    { line: "sluice plan -f sluice.yml --out plan.json", effect: "shows and saves a plan" },
    {
      line: "sluice plan -f resources/ --prune",
      effect: "also plans to delete the entities that the folder does not contain",
    },
  ],
  load: async () => (await import("../client/plan.ts")).planCommand,
};

const diff: SluiceCommand = {
  name: "diff",
  summary: "shows the difference between a file or folder and the current configuration",
  options: { ...document, ...clientOptions("text", "yaml", "json") },
  exitCodes: { 1: "there is a difference", 3: "the command failed; standard error has the reason and what to change" },
  examples: [
    { line: "sluice diff -f sluice.yml --prune", effect: "checks whether the current configuration equals the file" },
  ],
  load: async () => (await import("../client/plan.ts")).diffCommand,
};

const apply: SluiceCommand = {
  name: "apply",
  summary: "changes the configuration to that of a file or folder, or carries out a saved plan",
  description:
    "Either all changes are made or none. A saved plan is refused if the configuration has changed since the plan " +
    "was made. Nodes serve the changes when the command ends, unless one of them does not answer in time.",
  arguments: [{ name: "PLAN", optional: true, description: "A plan that `sluice plan --out` saved." }],
  options: {
    file: {
      short: "f",
      value: "PATH",
      description: "A declarative file, or a file or folder of custom resources, to plan and apply at once.",
    },
    prune,
    ...carryOutOptions,
  },
  examples: [
    { line: "sluice apply plan.json", effect: "applies a saved plan" },
    { line: "sluice apply -f sluice.yml --yes", effect: "shows the plan, and writes without asking" },
  ],
  load: async () => (await import("../client/plan.ts")).applyCommand,
};

const withoutRevisions = { 3: "the store keeps no revisions" };

const history: SluiceCommand = {
  name: "history",
  summary: "lists the revisions of the configuration, shows the changes of one, or compares two",
  description:
    "A revision is a recorded change of the configuration, with its time and author. Databases and declarative files " +
    "have revisions; for custom resources, the leading operator records them. Values of secrets are redacted.",
  arguments: [
    { name: "N", optional: true, description: "Number of a revision: its changes are shown." },
    { name: "M", optional: true, description: "Number of a second revision: the changes from N to M are shown." },
  ],
  options: {
    author: { value: "TEXT", description: "Only revisions whose author contains this text." },
    before: { value: "NUMBER", description: "Only revisions with a smaller number than this." },
    limit: { value: "NUMBER", description: "Maximum number of revisions (default 20)." },
    ...clientOptions("table", "wide", "yaml", "json"),
  },
  exitCodes: withoutRevisions,
  examples: [
    { line: "sluice history -o wide", effect: "the last revisions with the names of changed entities" },
    { line: "sluice history 7", effect: "the changes of revision 7, field by field" },
    { line: "sluice history 3 7", effect: "the difference between the states of revision 3 and revision 7" },
  ],
  load: async () => (await import("../client/revisions/history.ts")).historyCommand,
};

const rollback: SluiceCommand = {
  name: "rollback",
  summary: "restores the configuration of an earlier revision",
  description:
    "Shows what would change, and asks for confirmation. Either all changes are made or none, and they are recorded " +
    "as a new revision. Nodes serve the changes when the command ends, unless one of them does not answer in time.",
  arguments: [{ name: "N", description: "Number of the revision, as `sluice history` lists it." }],
  options: carryOutOptions,
  exitCodes: withoutRevisions,
  examples: [
    { line: "sluice rollback 3", effect: "shows the plan, and asks before it writes" },
    { line: "sluice rollback 3 --yes", effect: "shows the plan, and writes without asking" },
  ],
  load: async () => (await import("../client/revisions/rollback.ts")).rollbackCommand,
};

export const clientCommands: readonly SluiceCommand[] = [status, get, describe, plan, diff, apply, history, rollback];
