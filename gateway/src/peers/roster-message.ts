/**
 * What nodes tell each other to find the nodes of their fleet, if no operator or database does: the request and the
 * response of an exchange on the listener for peers.
 */
import {
  isPeerIdentity,
  isPushView,
  MAX_FLEET_NODES,
  type PeerReport,
  type PublishedView,
} from "@sluice/model/serving";

export interface RosterMessage {
  readonly name: string;
  readonly state: PeerReport["state"];
  /** The view that the node has adopted; null: none yet. */
  readonly view: PublishedView | null;
  /** The names of the nodes that it has reached. */
  readonly reached: readonly string[];
}

/** @throws when the message is invalid */
export function parseRosterMessage(value: unknown): RosterMessage {
  if (!isPeerIdentity(value)) throw new Error("expected the name and the state of a node");
  const { name, state, view, reached } = value as Readonly<Record<string, unknown>> & typeof value;
  if (view !== null && !isPushView(view)) throw new Error("expected a view");
  if (!Array.isArray(reached) || reached.length > MAX_FLEET_NODES || !reached.every((each) => typeof each === "string"))
    throw new Error(`expected at most ${MAX_FLEET_NODES} names`);
  return { name, state, view: view === null ? null : viewOf(view), reached };
}

/** The nodes with their members in the order in which views are compared, and without others. */
function viewOf({ epoch, members, leaving }: PublishedView): PublishedView {
  const listOf = (nodes: PublishedView["members"]) => nodes.map(({ name, host, port }) => ({ name, host, port }));
  return { epoch, members: listOf(members), leaving: listOf(leaving) };
}
