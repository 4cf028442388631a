/** The commands that talk to the admin API. */
import type { Collection } from "@sluice/model";
import type { ArgumentDefinition, OptionDefinition } from "@sluice/model/command-line";
import type { SluiceCommand } from "./sluice-command.ts";

/** Where the admin API is, in addition to the settings; the names are those of curl. */
const connection: Readonly<Record<string, OptionDefinition>> = {
  cacert: { value: "FILE", description: "PEM file of the authorities that the admin API's certificate must have." },
  cert: { value: "FILE", description: "PEM file of a client certificate (mutual TLS)." },
  key: { value: "FILE", description: "PEM file of the private key of --cert." },
  context: { value: "NAME", description: "Reach the admin API in the cluster of this context of the kubeconfig." },
  kubeconfig: { value: "FILE", description: "Reach it in the cluster of this kubeconfig (default: KUBECONFIG)." },
  namespace: { short: "n", value: "NAME", description: "Reach it in this namespace of the cluster." },
  insecure: { short: "k", description: "Do not verify the certificate of the admin API." },
};

const outputOf = (...choices: readonly [string, ...string[]]): Readonly<Record<string, OptionDefinition>> => ({
  output: { short: "o", value: "FORMAT", choices, default: choices[0], description: "Format of the output." },
});

const explain: SluiceCommand = {
  name: "explain",
  summary: "explains how a request would be routed and answered, and why; sends nothing",
  arguments: [
    { name: "METHOD", description: "Method of the request." },
    { name: "URL", description: "URL of the request; its port is that of the listener." },
  ],
  options: {
    header: { short: "H", value: "HEADER", repeatable: true, description: "A header, such as 'apikey: abc'." },
    "client-address": { value: "ADDRESS", description: "Address of the client (default 127.0.0.1)." },
    body: { value: "TEXT", description: "The body of the request; @FILE for the content of a file." },
    "body-size": { value: "BYTES", description: "Size of the body, instead of a body." },
    "http-version": { value: "VERSION", choices: ["1.1", "2"], description: "Version of HTTP (default 1.1)." },
    "server-name": { value: "NAME", description: "Server name of the TLS handshake (default: the host of the URL)." },
    size: { value: "NUMBER", description: "Maximum number of routes to list (default 20)." },
    ...outputOf("text", "yaml", "json"),
    ...connection,
  },
  exitCodes: { 3: "the gateway answers the request itself", 4: "the result depends on something unknown" },
  examples: [
    { line: "sluice explain GET http://shop.example/cart", effect: "shows the route and the plugins of a request" },
    {
      line: "sluice explain POST http://shop.example/cart -H 'apikey: abc' --body '{}' -o json",
      effect: "the explanation as the admin API returns it",
    },
  ],
  load: async () => (await import("../client/explain.ts")).explainCommand,
};

const status: SluiceCommand = {
  name: "status",
  summary: "shows the nodes with their configuration, and what is not served as written",
  options: { ...outputOf("table", "yaml", "json"), ...connection },
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
  description: "The kind of entities.",
};

const get: SluiceCommand = {
  name: "get",
  summary: "lists entities, or shows one",
  description: "The formats yaml and json show entities as the admin API returns them, with keys in clear text.",
  arguments: [collection, { name: "NAME", optional: true, description: "Name or id of one entity." }],
  options: {
    tag: { value: "TAG", description: "Only entities with this tag." },
    ...outputOf("table", "wide", "yaml", "json"),
    ...connection,
  },
  examples: [
    { line: "sluice get routes", effect: "lists all routes" },
    { line: "sluice get services shop -o yaml", effect: "prints a service" },
  ],
  load: async () => (await import("../client/get.ts")).getCommand,
};

const describe: SluiceCommand = {
  name: "describe",
  summary: "shows an entity with its source, conditions, references and plugins",
  arguments: [collection, { name: "NAME", description: "Name or id of the entity." }],
  options: connection,
  examples: [{ line: "sluice describe routes shop", effect: "also shows the file and line, or the custom resource" }],
  load: async () => (await import("../client/get.ts")).describeCommand,
};

const document: Readonly<Record<string, OptionDefinition>> = {
  file: {
    short: "f",
    value: "PATH",
    required: true,
    description: "A declarative file, or a folder of custom resources.",
  },
  prune: { description: "Delete entities that PATH does not contain. Default: they are kept." },
};

const plan: SluiceCommand = {
  name: "plan",
  summary: "shows what would change with a file or folder, and which requests would be routed differently",
  description: "Any store can be planned. Keys and passwords are redacted in the output, but not in a saved plan.",
  options: {
    ...document,
    out: { value: "FILE", description: "Save the plan for `sluice apply FILE`; only its owner can read the file." },
    ...outputOf("text", "yaml", "json"),
    ...connection,
  },
  examples: [
    { line: "sluice plan -f sluice.yml --out plan.json", effect: "shows and saves a plan" },
    { line: "sluice plan -f resources/ --prune", effect: "with a folder of custom resources that is to be everything" },
  ],
  load: async () => (await import("../client/plan.ts")).planCommand,
};

const diff: SluiceCommand = {
  name: "diff",
  summary: "shows the difference between a file or folder and the configuration",
  options: { ...document, ...outputOf("text", "yaml", "json"), ...connection },
  exitCodes: { 1: "there is a difference", 3: "the command failed; standard error says why and what to change" },
  examples: [{ line: "sluice diff -f sluice.yml --prune", effect: "checks whether a file is what is configured" }],
  load: async () => (await import("../client/plan.ts")).diffCommand,
};

const apply: SluiceCommand = {
  name: "apply",
  summary: "changes the configuration to a file or folder, or as a saved plan says",
  description:
    "All changes are made or none. A saved plan is refused if the configuration has changed since. Nodes serve the " +
    "changes when the command ends, unless one of them does not answer in time.",
  arguments: [{ name: "PLAN", optional: true, description: "A plan that `sluice plan --out` saved." }],
  options: {
    file: { short: "f", value: "PATH", description: "A declarative file or a folder, to plan and apply at once." },
    prune: { description: "Delete entities that PATH does not contain. Default: they are kept." },
    yes: { short: "y", description: "Do not ask for confirmation." },
    force: { description: "Also change fields of custom resources that another field manager owns." },
    ...connection,
  },
  examples: [
    { line: "sluice apply plan.json", effect: "applies a saved plan" },
    { line: "sluice apply -f sluice.yml --yes", effect: "plans and applies without a question" },
  ],
  load: async () => (await import("../client/plan.ts")).applyCommand,
};

export const clientCommands: readonly SluiceCommand[] = [explain, status, get, describe, plan, diff, apply];
