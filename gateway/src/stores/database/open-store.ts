/** Opens a database for an admin listener, a node, or both in one process. */
import { hostname } from "node:os";
import { type Address, SettingsError } from "@sluice/model/serving";
import { describeDatabaseError } from "../../database/describe-error.ts";
import { type Database, DatabaseFault, DatabaseUnreachable } from "../../database/driver.ts";
import { bootstrapTables } from "../../database/migrate.ts";
import { type RegisteredNode, readNewestRevision, readNodes } from "../../database/nodes.ts";
import { openDatabase, requireMigrated } from "../../database/open.ts";
import type { StartSettings } from "../../settings/commands/start.ts";
import type { DatabaseSettings } from "../../settings/database.ts";
import type { RevisionSettings } from "../../settings/revisions.ts";
import { reachedHost } from "../../sources/database-peers.ts";
import { createDatabaseSource } from "../../sources/database-source.ts";
import type { NodeStatusSource, Source, SourceLog } from "../../sources/source.ts";
import { revisionLimits } from "../revisions/revisions.ts";
import type { Fleet, FleetNode, OpenedStore } from "../store.ts";
import { createRevisionWait, type RevisionWait } from "./await-revision.ts";
import { callNodes } from "./call-nodes.ts";
import { createDatabaseStore } from "./index.ts";
import { deleteOldRevisions } from "./revisions.ts";

/** The interval at which revisions beyond SLUICE_REVISIONS_AGE are deleted if nothing is written. */
const HOUR = 60 * 60 * 1000;

/** A database for a node and an admin listener in one process: only one process can use the embedded database. */
export interface SharedDatabase extends OpenedStore {
  /** The source of a node. Stop it before the database is closed. */
  source(node: DatabaseNode): Source;
  /** Runs one statement: for the counters of rate-limiting with policy `cluster`. */
  readonly query: Database["query"];
  readonly database: Database;
  readonly awaitRevision: RevisionWait["awaitRevision"];
}

/**
 * A node: `status` returns the address of its status listener, and is called only after that listener has opened;
 * `askPlugin` calls one of its plugins; `peer` is its listener for other nodes.
 */
export type DatabaseNode = Pick<NodeStatusSource, "status" | "askPlugin" | "peer">;

type SharedDatabaseSettings = DatabaseSettings & Partial<RevisionSettings & Pick<StartSettings, "bootstrap">>;

/** @throws SettingsError for an invalid setting, or if tables are missing; the message names the command to run. */
export async function shareDatabase(settings: SharedDatabaseSettings, log: SourceLog): Promise<SharedDatabase> {
  const onLost = (reason: string) => log.warn({ reason }, "a connection to the database was lost");
  const database = await openDatabase(settings, { onLost, made: !settings.bootstrap });
  try {
    if (settings.bootstrap) await createTables(database, log);
    await requireMigrated(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  const wait = createRevisionWait(database);
  const limits = revisionLimits(settings);
  // Nodes have no setting for revisions, and do not delete them.
  const timer = settings.revisions === undefined ? undefined : setInterval(deleteOld, HOUR).unref();

  function deleteOld(): void {
    deleteOldRevisions(database, limits).catch((error) => {
      log.warn({ reason: describeDatabaseError(error) }, "old revisions cannot be deleted; the next try is in an hour");
    });
  }

  return {
    store: createDatabaseStore(database, wait.awaitRevision, limits),
    fleet: fleetOf(database),
    query: database.query,
    database,
    awaitRevision: wait.awaitRevision,
    source: ({ status, askPlugin, peer }) =>
      createDatabaseSource({
        database,
        log,
        place: () => placeOf(status()),
        askPlugin,
        ...(peer && { peer }),
        onServed: wait.reportServed,
      }),
    async close() {
      clearInterval(timer);
      wait.close();
      await database.close();
    },
  };
}

/** Does nothing if the database has tables. */
async function createTables(database: Database, log: SourceLog): Promise<void> {
  const { ran } = await bootstrapTables(database).catch((error: unknown) => {
    throw error instanceof DatabaseUnreachable || error instanceof DatabaseFault
      ? new SettingsError(error.message)
      : error;
  });
  if (ran !== undefined && ran.length > 0) log.info({}, "created the tables in the empty database");
}

/** A node's source with its own database connection, which is closed with the source. */
export async function openDatabaseSource(
  settings: DatabaseSettings,
  { log, node }: { readonly log: SourceLog; readonly node: DatabaseNode },
): Promise<{ readonly source: Source; readonly query: Database["query"]; readonly shared: SharedDatabase }> {
  const shared = await shareDatabase(settings, log);
  const { source, query, close } = shared;
  const own = source(node);
  async function stop(): Promise<void> {
    await own.stop();
    await close();
  }
  return { source: { ...own, stop }, query, shared };
}

const LOOPBACK = /^(127\.|::1$|localhost$)/;

/**
 * The address by which other machines know the node, and the URL of its status listener. A URL on loopback can only be
 * reached from the node's own machine.
 */
function placeOf({ host, port }: Address): { readonly address: string; readonly status: string } {
  const reached = reachedHost(host);
  return {
    address: `${LOOPBACK.test(host) ? hostname() : reached}:${port}`,
    status: `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`,
  };
}

function fleetOf(database: Database): Fleet {
  return {
    async status() {
      // The revision is read first, so a node that reaches a later revision in the meantime does not count as late.
      const revision = await readNewestRevision(database).catch(() => null);
      const nodes = await readNodes(database).catch(() => null);
      if (nodes === null || revision === null) return null;
      const addressesOf = (found: readonly RegisteredNode[]) => found.map(({ address }) => address);
      return {
        revision,
        silent: addressesOf(nodes.filter(({ silent }) => silent)),
        lagging: addressesOf(nodes.filter((node) => !node.silent && node.revision < revision)),
        nodes: nodes.map(({ id, ...node }) => ({ node: id, ...node, status: reachable(node) })),
      };
    },
    async nodes() {
      const nodes = await readNodes(database).catch(() => []);
      return nodes
        .filter(({ silent }) => !silent)
        .map((node): FleetNode => ({ node: node.id, address: node.address, status: reachable(node) }));
    },
    askPlugin: (call) => callNodes(database, call),
  };
}

/** The URL of the node's status listener; null if it is unknown, or a loopback address of another machine. */
function reachable({ address, status }: Pick<RegisteredNode, "address" | "status">): string | null {
  if (status === null || !LOOPBACK.test(new URL(status).hostname.replace(/^\[|\]$/g, ""))) return status;
  return address.startsWith(`${hostname()}:`) ? status : null;
}
