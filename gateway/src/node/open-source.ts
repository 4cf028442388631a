/** Opens the source of documents that the settings select. */
import { type AcmeStatus, PemError, readPemFiles, SettingsError } from "@sluice/model/serving";
import type { Logger } from "pino";
import type { AcmeDatabase } from "../acme/database-storage.ts";
import type { OpenOrders } from "../acme/node-orders.ts";
import type { DatabaseQuery } from "../counters/database-counters.ts";
import { type GatewaySettings, gatewaySettings as names } from "../settings/commands/gateway.ts";
import type { NodeStatusSource, Source, SourceLog } from "../sources/source.ts";

/** A source, and access to its database if it has one. */
interface OpenedSource {
  readonly source: Source;
  /** Runs one statement in the source's database. */
  readonly query?: DatabaseQuery;
  /** Orders certificates. Absent: another process does, or the settings name no folder for them. */
  readonly orders?: OpenOrders;
}

/** Loads only the modules of the configured source. */
export async function openSource(
  settings: GatewaySettings,
  log: Logger,
  node: NodeStatusSource,
): Promise<OpenedSource> {
  if (settings.source === "file") {
    if (!settings.file) throw new SettingsError(`${names.file.variable} must be set: the declarative file to serve`);
    const { createFileSource } = await import("../sources/file/file-source.ts");
    const source = createFileSource({ file: settings.file, log, unprotectWait: settings.unprotectWait });
    const orders = await fileOrders(settings, log);
    return { source: orders.around(source), orders: orders.open };
  }
  if (settings.peers.length > 0)
    throw new SettingsError(`${names.peers.variable} is only for source file: with others, the nodes need no list`);
  if (settings.source === "database") {
    const { openDatabaseSource } = await import("../stores/database/open-store.ts");
    const { shared, ...opened } = await openDatabaseSource(settings, { log, node });
    return { ...opened, orders: databaseOrders(shared) };
  }
  return { source: await openPushSource(settings, log, node) };
}

/** The orders of a node whose documents come from this database. */
export const databaseOrders =
  (database: AcmeDatabase): OpenOrders =>
  async (options) =>
    (await import("../acme/database-orders.ts")).createDatabaseOrders({ database, ...options });

/** Orders certificates of a declarative file. */
export interface OrdersOfFile {
  /** The source with the ordered certificates. */
  around(source: Source): Source;
  readonly open: OpenOrders;
  /** By the ids of certificates. */
  statuses(): ReadonlyMap<string, AcmeStatus>;
}

/** Without SLUICE_ACME_DIR, the source stays as it is, and the node reports certificates that it cannot order. */
export async function fileOrders(
  { acmeFolder }: Pick<GatewaySettings, "acmeFolder">,
  log: SourceLog,
): Promise<OrdersOfFile> {
  if (acmeFolder === null) {
    const { UnorderedCertificates } = await import("../acme/unordered-certificates.ts");
    const unordered = new UnorderedCertificates();
    return { around: (source) => source, open: unordered.open, statuses: () => unordered.statuses() };
  }
  const { FileOrders } = await import("../acme/file-orders.ts");
  return new FileOrders(acmeFolder, log);
}

async function openPushSource(
  settings: GatewaySettings,
  log: Logger,
  { askPlugin, peer }: NodeStatusSource,
): Promise<Source> {
  const { createPushSource } = await import("../sources/push/push-source.ts");
  const { push: listen, pushToken, pushCert, pushKey, pushAuthority, pushClient } = settings;
  const { keptDocument: file, keptDocumentWait: patience } = settings;
  const journal =
    file === null
      ? {}
      : { journal: (await import("../sources/push/snapshot-journal.ts")).createSnapshotJournal({ file, log }) };
  const options = { listen, ...journal, operatorTimeout: patience, askPlugin, ...(peer && { peer }), log };
  const all = `${names.pushCert.variable}, ${names.pushKey.variable} and ${names.pushAuthority.variable}`;
  if (pushCert && pushKey && pushAuthority) {
    const files = { cert: pushCert, key: pushKey, ca: pushAuthority };
    const tls = { ...(await readPemFiles(files).catch(settingsError)), files, client: pushClient };
    return createPushSource({ ...options, tls });
  }
  if (pushCert || pushKey || pushAuthority) throw new SettingsError(`${all} belong together: set all three`);
  if (!pushToken)
    throw new SettingsError(`the push listener needs credentials: set ${names.pushToken.variable}, or ${all}`);
  return createPushSource({ ...options, token: pushToken });
}

/**
 * Rethrows the error. A PemError becomes a SettingsError, which is reported in one line without a stack, because the
 * user must fix the file.
 */
function settingsError(error: Error): never {
  throw error instanceof PemError ? new SettingsError(error.message) : error;
}
