/**
 * The views of the fleet of nodes that share the database (fleet-view.ts of @sluice/model). Each node sends heartbeats. The
 * first node that notices a change of the nodes writes the next view.
 */
import { type PeerReport, type PushView, REMOVE_PEER_AFTER, type ViewedNode } from "@sluice/model";
import type { Database, DatabaseConnection } from "./driver.ts";

/** Notified after a new view; the payload is its epoch. */
export const VIEWS_CHANNEL = "sluice_views";

export type StoredView = Pick<PushView, "epoch" | "members" | "leaving">;

/** A node that takes part, and the host on which the other nodes reach it. */
export interface PeerRecord extends PeerReport {
  readonly host: string;
}

/** Milliseconds between two heartbeats of a node above which the database may not have answered the others either. */
export const INTERRUPTION = REMOVE_PEER_AFTER / 2;

const IS_STEADY = `last_seen >= clock_timestamp() - interval '${INTERRUPTION} ms'`;
const IS_SILENT = `last_seen < clock_timestamp() - interval '${REMOVE_PEER_AFTER} ms'`;
const VIEW = "epoch, members, leaving";

/**
 * Registers the heartbeat of a node whose state has not changed. Whether the view may be outdated is in `stale`.
 * $3: whether the node may remove others.
 */
const BEAT = `with beat as (
    update peers set last_seen = clock_timestamp(), epoch = $2::text::bigint where name = $1 returning name
  )
  select ${VIEW}, not exists (select from beat) or $2::text::bigint > epoch
      or $3::text::boolean and exists (select from peers where name = $1 and ${IS_STEADY})
        and exists (select from peers where ${IS_SILENT} and name <> $1) as stale
    from peer_view`;

const REGISTER = `insert into peers (name, host, port, leaving, epoch, last_seen)
    values ($1, $2, $3, $4, $5::text::bigint, clock_timestamp())
  on conflict (name) do update set host = excluded.host, port = excluded.port, leaving = excluded.leaving,
    epoch = excluded.epoch, last_seen = excluded.last_seen`;

export interface PeerHeartbeat {
  readonly node: PeerRecord;
  /** The node's state has changed. */
  readonly isNews: boolean;
  /**
   * Nodes that were silent for REMOVE_PEER_AFTER are removed, unless this node's last heartbeat is older than
   * INTERRUPTION: if the database did not answer, all nodes seem silent.
   */
  readonly mayRemove: boolean;
}

/** Sends a node's heartbeat, and returns the present view. */
export async function sendPeerHeartbeat(database: Database, beat: PeerHeartbeat): Promise<StoredView> {
  const { node, isNews, mayRemove } = beat;
  if (!isNews) {
    const [row] = await database.query(BEAT, [node.name, `${node.epoch}`, `${mayRemove}`]);
    if (row && row.stale !== true) return viewOf(row);
  }
  return database.transaction((connection) => writeView(connection, beat));
}

/** Only one transaction at a time writes a view: it locks the row of the view first. */
async function writeView(connection: DatabaseConnection, { node, mayRemove }: PeerHeartbeat): Promise<StoredView> {
  const [row = {}] = await connection.query(`select ${VIEW} from peer_view for update`);
  const before = viewOf(row);
  const { name, host, port, state, epoch } = node;
  const [own] = await connection.query(`select ${IS_STEADY} as steady from peers where name = $1`, [name]);
  if (state === "left") await connection.query("delete from peers where name = $1", [name]);
  else await connection.query(REGISTER, [name, host, port, state === "leaving", `${epoch}`]);
  if (mayRemove && own?.steady === true) await connection.query(`delete from peers where ${IS_SILENT}`);
  const rows = await connection.query("select name, host, port, leaving, epoch from peers order by name");
  const nodesWith = (leaving: boolean) =>
    rows.filter((each) => each.leaving === leaving).map(({ name, host, port }) => ({ name, host, port }) as ViewedNode);
  const next = { members: nodesWith(false), leaving: nodesWith(true) };
  const highest = Math.max(epoch, ...rows.map((each) => Number(each.epoch)));
  if (highest <= before.epoch && isSame(before, next)) return before;
  // A database that was restored from a copy has an older epoch than the nodes.
  const view = { ...next, epoch: Math.max(before.epoch, highest) + 1 };
  await connection.query(
    "update peer_view set epoch = $1::text::bigint, members = $2::text::jsonb, leaving = $3::text::jsonb",
    [`${view.epoch}`, JSON.stringify(view.members), JSON.stringify(view.leaving)],
  );
  await connection.query(`select pg_notify('${VIEWS_CHANNEL}', $1)`, [`${view.epoch}`]);
  return view;
}

const viewOf = ({ epoch, members, leaving }: Readonly<Record<string, unknown>>): StoredView => ({
  epoch: Number(epoch),
  members: members as readonly ViewedNode[],
  leaving: leaving as readonly ViewedNode[],
});

/** The database may order the members of objects differently. */
function isSame(one: Omit<StoredView, "epoch">, other: Omit<StoredView, "epoch">): boolean {
  const textOf = ({ members, leaving }: Omit<StoredView, "epoch">) =>
    JSON.stringify([members, leaving].map((list) => list.map(({ name, host, port }) => [name, host, port])));
  return textOf(one) === textOf(other);
}
