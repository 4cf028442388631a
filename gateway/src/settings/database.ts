/**
 * Start-up settings of all commands that use a database. Names follow Kong's `pg_*` where Kong has the same setting.
 */
import { defineSettings, type SettingsOf } from "@sluice/model/serving";

export const databaseSettings = defineSettings({
  database: {
    variable: "SLUICE_DATABASE",
    kind: "choice",
    words: ["embedded", "postgres"],
    default: "embedded",
    description:
      "`embedded`: a database in this process, for a single node. `postgres`: a Postgres server (15 or newer), for " +
      "any number of nodes.",
  },
  databaseDirectory: {
    variable: "SLUICE_DATABASE_DIR",
    kind: "text",
    default: "./sluice-database",
    description: "Folder of the embedded database. Only one process at a time can use it.",
  },
  pgHost: {
    variable: "SLUICE_PG_HOST",
    kind: "text",
    default: "127.0.0.1",
    description: "Host name or address of the Postgres server.",
  },
  pgPort: {
    variable: "SLUICE_PG_PORT",
    kind: "integer",
    default: 5432,
    minimum: 1,
    maximum: 65_535,
    description: "Port of the Postgres server.",
  },
  pgTimeout: {
    variable: "SLUICE_PG_TIMEOUT",
    kind: "duration",
    default: 5000,
    description: "Timeout of a connection attempt and of a statement.",
  },
  pgUser: { variable: "SLUICE_PG_USER", kind: "text", default: "sluice", description: "User of the Postgres server." },
  pgPassword: {
    variable: "SLUICE_PG_PASSWORD",
    kind: "text",
    default: null,
    secret: true,
    description: "Password of the user SLUICE_PG_USER.",
  },
  pgDatabase: { variable: "SLUICE_PG_DATABASE", kind: "text", default: "sluice", description: "Name of the database." },
  pgSchema: {
    variable: "SLUICE_PG_SCHEMA",
    kind: "text",
    default: "sluice",
    description: "Schema of the tables: lower-case letters, digits and _. `sluice migrations bootstrap` creates it.",
  },
  pgPoolSize: {
    variable: "SLUICE_PG_POOL_SIZE",
    kind: "integer",
    default: 10,
    minimum: 2,
    maximum: 1000,
    description: "Maximum number of connections of a process, in addition to the one that listens for changes.",
  },
  pgSsl: {
    variable: "SLUICE_PG_SSL",
    kind: "flag",
    default: false,
    description: "Whether connections to Postgres use TLS. If true, a server without TLS is refused.",
  },
  pgSslVerify: {
    variable: "SLUICE_PG_SSL_VERIFY",
    kind: "flag",
    default: true,
    description: "Whether the server's certificate is verified. Kong's default is false.",
  },
  pgSslAuthority: {
    variable: "SLUICE_PG_SSL_CA",
    kind: "text",
    default: null,
    description:
      "PEM file of the certificate authorities for the server's certificate. Unset: the authorities that Node trusts.",
  },
});

export type DatabaseSettings = SettingsOf<typeof databaseSettings>;
