/**
 * The nodes that are registered in the database: each sends a heartbeat twice a second with the revision that it
 * serves.
 */
import type { DatabaseConnection } from "./driver.ts";
import type { Revision } from "./read-changes.ts";

/** Payload `<revision> <id>` when a node serves a new revision; empty when a node has been removed. */
export const NODES_CHANNEL = "sluice_nodes";
/** The payload is the number of a revision that was written. */
export const CHANGES_CHANNEL = "sluice_changes";

/** Seconds without a heartbeat after which a node counts as silent. Writes do not wait for silent nodes. */
const SILENT = 2;
/**
 * Seconds without a heartbeat after which a node is no longer listed. Its record is deleted the next time that a node
 * stops.
 */
const FORGOTTEN = 3600;

export interface NodeRecord {
  readonly id: string;
  readonly address: string;
  /** Base URL of the node's status listener; null: other machines cannot reach it. */
  readonly status: string | null;
  readonly version: string;
  readonly revision: number;
}

export interface RegisteredNode extends NodeRecord {
  /** No heartbeat for 2 s. */
  readonly silent: boolean;
  /** The time of the last heartbeat, in ISO 8601. */
  readonly lastSeen: string;
}

/** Reads `revision` first, because `reset` locks the tables in that order. */
const heartbeatSql = (signal: string) => `with
  newest as materialized (select number, epoch from revision),
  registered as (
    insert into nodes (id, address, status, version, revision, last_seen)
      values ($1, $2, $3, $4, $5::text::bigint, clock_timestamp())
    on conflict (id) do update set address = excluded.address, status = excluded.status, version = excluded.version,
      revision = excluded.revision, last_seen = excluded.last_seen
    returning id
  )
  select number, epoch::text${signal} from newest, registered`;

const [HEARTBEAT, HEARTBEAT_WITH_NOTIFY] = [
  heartbeatSql(""),
  heartbeatSql(`, pg_notify('${NODES_CHANNEL}', $5 || ' ' || $1)`),
];

/**
 * Sends a node's heartbeat; with `notify` it also notifies the processes that wait for nodes. Resolves to the newest
 * revision.
 */
export async function sendHeartbeat(
  connection: DatabaseConnection,
  node: NodeRecord,
  notify: boolean,
): Promise<Revision> {
  const { id, address, status, version, revision } = node;
  const [row] = await connection.query(notify ? HEARTBEAT_WITH_NOTIFY : HEARTBEAT, [
    id,
    address,
    status,
    version,
    `${revision}`,
  ]);
  return { number: Number(row?.number), epoch: String(row?.epoch) };
}

export async function removeNode(connection: DatabaseConnection, id: string): Promise<void> {
  await connection.query(
    `with gone as (delete from nodes where id = $1 or last_seen < clock_timestamp() - interval '${FORGOTTEN} s')
       select pg_notify('${NODES_CHANNEL}', '')`,
    [id],
  );
}

export async function readNodes(connection: DatabaseConnection): Promise<readonly RegisteredNode[]> {
  const rows = await connection.query(
    `select id, address, status, version, revision,
         last_seen < clock_timestamp() - interval '${SILENT} s' as silent,
         to_char(last_seen at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "lastSeen"
       from nodes where last_seen > clock_timestamp() - interval '${FORGOTTEN} s' order by address, id`,
  );
  const nodes = rows as unknown as readonly RegisteredNode[];
  const live = new Set(nodes.filter(({ silent }) => !silent).map(({ address }) => address));
  // A node that was killed and restarted has a new id at the same address: its former, silent record is left out.
  return nodes.filter(({ silent, address }) => !silent || !live.has(address));
}

export async function readNewestRevision(connection: DatabaseConnection): Promise<number> {
  const [row] = await connection.query("select number from revision", []);
  return Number(row?.number);
}
