/** Start-up settings of `sluice admin`. */
import { DEFAULT_CLASS, defineSettings, logFormat, type SettingsOf } from "@sluice/model";
import { accessSettings } from "../access.ts";
import { databaseSettings } from "../database.ts";
import { fileSettings } from "../file.ts";
import { pluginSettings } from "../plugins.ts";
import { revisionSettings } from "../revisions.ts";
import { allowedUpstreams, compatSetting, logLevel } from "./gateway.ts";

export const adminSettings = defineSettings({
  listen: {
    variable: "SLUICE_ADMIN_LISTEN",
    kind: "address",
    default: "127.0.0.1:8001",
    description:
      "Address of the admin API. On an address other than loopback, callers must authenticate: set " +
      "SLUICE_ADMIN_TOKEN, SLUICE_ADMIN_TOKEN_FILE, SLUICE_ADMIN_TLS_CA or SLUICE_ADMIN_KUBERNETES.",
  },
  ...accessSettings,
  store: {
    variable: "SLUICE_STORE",
    kind: "choice",
    words: ["cluster", "directory", "database", "file"],
    // The same default for every command: a cluster is only written to if the setting names it.
    default: "database",
    description:
      "Where the admin API stores entities: as custom resources in a cluster or in a folder (`directory`), in a " +
      "database, or in a declarative file.",
  },
  directory: {
    variable: "SLUICE_DIRECTORY",
    kind: "text",
    default: null,
    description: "Folder of custom resources, for store `directory`.",
  },
  namespaces: {
    variable: "SLUICE_NAMESPACES",
    kind: "list",
    default: [],
    description: "Namespaces to read in addition to SLUICE_HOME_NAMESPACE, for store `cluster`. Unset: all.",
  },
  homeNamespace: {
    variable: "SLUICE_HOME_NAMESPACE",
    kind: "text",
    default: "default",
    description:
      "Namespace in which the admin API creates resources. A resource that refers to one in another namespace is " +
      "created in that namespace instead.",
  },
  class: {
    variable: "SLUICE_CLASS",
    kind: "text",
    default: DEFAULT_CLASS,
    description:
      "Class of this Sluice installation, which handles the resources with this spec.class. It also handles " +
      "resources without spec.class in its home namespace, in namespaces that are assigned to it " +
      "(`classlessNamespaces` of the chart) and, if its class is sluice, in all unassigned namespaces.",
  },
  operator: {
    variable: "SLUICE_OPERATOR_URL",
    kind: "text",
    default: "http://127.0.0.1:8080",
    description: "URL of the operator's listener, which reports when every node serves a change.",
  },
  operatorToken: {
    variable: "SLUICE_OPERATOR_TOKEN",
    kind: "text",
    default: null,
    secret: true,
    description:
      "Token that the operator requires for requests to endpoints of plugins below /plugins/{id}/, such as those that " +
      "purge caches. Unset: with custom resources, the admin API answers such requests with 503.",
  },
  ...databaseSettings,
  ...fileSettings,
  ...revisionSettings,
  wait: {
    variable: "SLUICE_ADMIN_WAIT",
    kind: "duration",
    default: 5000,
    description: "Time for which a write waits for the nodes before the response says `pending`.",
  },
  console: {
    variable: "SLUICE_CONSOLE",
    kind: "choice",
    words: ["on", "read-only", "off"],
    default: "on",
    description:
      "Whether the admin listener serves the web console at /console. `read-only`: the console offers no changes, " +
      "but the admin API still accepts changes from every caller that may make them.",
  },
  plugins: pluginSettings,
  allowedUpstreams,
  compat: compatSetting,
  logLevel,
  logFormat,
});

export type AdminSettings = SettingsOf<typeof adminSettings>;
