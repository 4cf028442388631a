/** Start-up settings of `sluice admin`. */
import { DEFAULT_CLASS, defineSettings, type SettingsOf } from "@sluice/model";
import { accessSettings } from "./access.ts";
import { databaseSettings } from "./database.ts";
import { fileSettings } from "./file.ts";
import { allowedUpstreams, compat, logLevel } from "./gateway.ts";

export const adminSettings = defineSettings({
  listen: {
    variable: "SLUICE_ADMIN_LISTEN",
    kind: "address",
    default: "127.0.0.1:8001",
    description:
      "Where the admin API is answered. Where other machines may reach it, callers must prove who they are: set " +
      "SLUICE_ADMIN_TOKEN, SLUICE_ADMIN_TLS_CA or SLUICE_ADMIN_KUBERNETES.",
  },
  ...accessSettings,
  store: {
    variable: "SLUICE_STORE",
    kind: "choice",
    words: ["cluster", "directory", "database", "file"],
    // The same default for every command: a cluster is only written to if it was named.
    default: "database",
    description:
      "Where entities are kept: custom resources in a cluster, the same in a folder, rows of a database, or a " +
      "declarative file.",
  },
  directory: {
    variable: "SLUICE_DIRECTORY",
    kind: "text",
    default: null,
    description: "The folder, with store `directory`.",
  },
  namespaces: {
    variable: "SLUICE_NAMESPACES",
    kind: "list",
    default: [],
    description: "Namespaces to read besides SLUICE_HOME_NAMESPACE, with store `cluster`. Unset: all.",
  },
  homeNamespace: {
    variable: "SLUICE_HOME_NAMESPACE",
    kind: "text",
    default: "default",
    description: "Namespace in which the admin listener writes.",
  },
  class: {
    variable: "SLUICE_CLASS",
    kind: "text",
    default: DEFAULT_CLASS,
    description:
      "Class of this Sluice: it handles resources with this spec.class, and those without one in its home namespace, in " +
      "namespaces assigned to it and, for the class sluice, in all namespaces that are not assigned.",
  },
  operator: {
    variable: "SLUICE_OPERATOR_URL",
    kind: "text",
    default: "http://127.0.0.1:8080",
    description: "The operator's listener, which tells when every node has what was written.",
  },
  ...databaseSettings,
  ...fileSettings,
  wait: {
    variable: "SLUICE_ADMIN_WAIT",
    kind: "duration",
    default: 5000,
    description: "How long a write waits for the nodes before it answers with `pending`.",
  },
  allowedUpstreams,
  compat,
  logLevel,
});

export type AdminSettings = SettingsOf<typeof adminSettings>;
