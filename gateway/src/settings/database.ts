/**
 * Start-up settings of all commands that use a database. Names and defaults follow Kong's `pg_*` where Kong has them.
 */
import { defineSettings, type SettingsOf } from "@sluice/model/serving";

export const databaseSettings = defineSettings({
  database: {
    variable: "SLUICE_DATABASE",
    kind: "choice",
    words: ["embedded", "postgres"],
    default: "embedded",
    description: "Which database: one in this process, for a single node, or a Postgres server (15 or newer) for many.",
  },
  databaseDirectory: {
    variable: "SLUICE_DATABASE_DIR",
    kind: "text",
    default: "./sluice-database",
    description: "The folder of the embedded database. One process at a time can have it.",
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
    description: "Its port.",
  },
  pgTimeout: {
    variable: "SLUICE_PG_TIMEOUT",
    kind: "duration",
    default: 5000,
    description: "How long a connection attempt or a statement may take.",
  },
  pgUser: { variable: "SLUICE_PG_USER", kind: "text", default: "sluice", description: "The user." },
  pgPassword: {
    variable: "SLUICE_PG_PASSWORD",
    kind: "text",
    default: null,
    secret: true,
    description: "The user's password.",
  },
  pgDatabase: { variable: "SLUICE_PG_DATABASE", kind: "text", default: "sluice", description: "The database." },
  pgSchema: {
    variable: "SLUICE_PG_SCHEMA",
    kind: "text",
    default: "sluice",
    description: "The schema that holds the tables: lower-case letters, digits and _. Made by the bootstrap.",
  },
  pgPoolSize: {
    variable: "SLUICE_PG_POOL_SIZE",
    kind: "integer",
    default: 10,
    minimum: 2,
    maximum: 1000,
    description: "How many connections a process has at most, beside the one that hears of changes.",
  },
  pgSsl: {
    variable: "SLUICE_PG_SSL",
    kind: "flag",
    default: false,
    description: "Talk to Postgres over TLS, and not at all if the server does not.",
  },
  pgSslVerify: {
    variable: "SLUICE_PG_SSL_VERIFY",
    kind: "flag",
    default: true,
    description: "Whether the server's certificate is verified. Kong does not by default.",
  },
  pgSslAuthority: {
    variable: "SLUICE_PG_SSL_CA",
    kind: "text",
    default: null,
    description: "PEM file of the authorities that may have signed it; unset: those that Node knows.",
  },
});

export type DatabaseSettings = SettingsOf<typeof databaseSettings>;
