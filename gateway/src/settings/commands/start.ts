/** Start-up settings of `sluice start`, which runs a node and an admin listener on one database or file. */
import { defineSettings, type SettingsOf } from "@sluice/model/serving";
import { adminSettings } from "./admin.ts";
import { gatewaySettings } from "./gateway.ts";

const { source: _source, push: _push, pushToken: _token, ...nodeSettings } = gatewaySettings;
const { pushCert: _cert, pushKey: _key, pushAuthority: _authority, pushClient: _client, ...node } = nodeSettings;
const {
  directory: _directory,
  namespaces: _namespaces,
  homeNamespace: _home,
  operator: _operator,
  ...admin
} = adminSettings;

export const startSettings = defineSettings({
  ...node,
  ...admin,
  store: {
    variable: "SLUICE_STORE",
    kind: "choice",
    words: ["database", "file"],
    default: "database",
    description:
      "Where the admin API stores entities and the node reads them: in a database, or in a declarative file.",
  },
  bootstrap: {
    variable: "SLUICE_DATABASE_BOOTSTRAP",
    kind: "flag",
    default: false,
    description:
      "Whether the process creates the tables if the database is empty, as `sluice migrations bootstrap` does.",
  },
});

export type StartSettings = SettingsOf<typeof startSettings>;
