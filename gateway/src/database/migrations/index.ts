/** All migrations in order of execution. */

import { baseChanges } from "./base/base-changes.ts";
import { baseCounters } from "./base/base-counters.ts";
import { baseTables } from "./base/base-tables.ts";
import { baseWrite, writeAllFunction } from "./base/base-write.ts";
import { consumerGroupTables } from "./consumer-group-tables.ts";
import { credentialTables } from "./credential-tables.ts";
import { fleetCounterTables } from "./fleet-counter-tables.ts";
import { graphqlDocumentTables } from "./graphql-document-tables.ts";
import { mtlsAuthTables } from "./mtls-auth-tables.ts";
import { peerTables } from "./peer-tables.ts";
import { pluginCallTables } from "./plugin-call-tables.ts";
import { pluginCredentialTables } from "./plugin-credential-tables.ts";
import { revisionTables } from "./revision-tables.ts";
import { acmeTables } from "./tls/acme-tables.ts";
import { caCertificateTables } from "./tls/ca-certificate-tables.ts";
import { vaultTables } from "./vault-tables.ts";

/**
 * One schema migration. Never change a merged one: it does not run again in databases that have its name in the table
 * `migrations`.
 */
export interface Migration {
  /** Sorts after the previous migrations: `001_what_it_does`. */
  readonly name: string;
  /**
   * SQL that is compatible with nodes of the previous version, which share the database during an upgrade. They write
   * null to columns that they do not know, whatever the column's default: a new column must be nullable.
   */
  readonly up: string;
  /**
   * SQL that is not compatible with nodes of the previous version, such as dropping a column that they read. Run by
   * `sluice migrations finish`.
   */
  readonly finish?: string;
}

export const migrations: readonly Migration[] = [
  { name: "000_base", up: [baseTables, baseChanges, baseWrite, baseCounters].join("\n") },
  { name: "001_upstream_headers", up: "alter table services add column upstream_headers jsonb;" },
  {
    // `created_at` is truncated to whole seconds, so a key must end one second later than `created_at + ttl` to live
    // for its full `ttl`.
    name: "002_key_end",
    up: writeAllFunction("create or replace", "created_at + ttl <= extract(epoch from clock_timestamp()) - 1"),
  },
  { name: "003_credentials", up: credentialTables },
  { name: "004_consumer_groups", up: consumerGroupTables },
  { name: "005_ca_certificates", up: caCertificateTables },
  { name: "006_vaults", up: vaultTables },
  { name: "007_mtls_auth", up: mtlsAuthTables },
  { name: "008_plugin_credentials", up: pluginCredentialTables },
  { name: "009_plugin_calls", up: pluginCallTables },
  { name: "010_revisions", up: revisionTables },
  { name: "011_peers", up: peerTables },
  { name: "012_graphql_documents", up: graphqlDocumentTables },
  {
    name: "013_upstream_limits",
    up: `alter table upstreams add column slow_start_window double precision, add column outlier_detection jsonb;
         alter table services add column retry_budget jsonb;`,
  },
  { name: "014_fleet_counters", up: fleetCounterTables },
  { name: "015_acme", up: acmeTables },
];
