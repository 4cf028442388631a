/**
 * What nodes tell each other to find the nodes of their fleet, if no operator or database does: the request and the
 * response of an exchange on the listener for peers.
 */
import type { PeerAddress, PeerState, PublishedView } from "./published-view.ts";

export interface RosterMessage {
  readonly name: string;
  readonly state: PeerState["state"];
  /** The view that the node has adopted; null: none yet. */
  readonly view: PublishedView | null;
  /** The names of the nodes that it has reached. */
  readonly reached: readonly string[];
}

/** Maximum number of nodes of a list. */
const MAX_NODES = 4096;
/** Maximum characters of a name, and of a host (RFC 1035, 2.3.4). */
const MAX_NAME = 253;

type Fields = Readonly<Record<string, unknown>>;

/** @throws when the message is invalid */
export function parseRosterMessage(value: unknown): RosterMessage {
  const { name, state, view, reached } = Object(value) as Fields;
  if (state !== "present" && state !== "leaving" && state !== "left") throw new Error("expected a state");
  return {
    name: nameOf(name),
    state,
    view: view === null ? null : viewOf(view),
    reached: listOf(reached, nameOf),
  };
}

function viewOf(value: unknown): PublishedView {
  const { epoch, members, leaving } = Object(value) as Fields;
  return {
    epoch: numberOf(epoch, Number.MAX_SAFE_INTEGER - 1),
    members: listOf(members, addressOf),
    leaving: listOf(leaving, addressOf),
  };
}

function addressOf(value: unknown): PeerAddress {
  const { name, host, port } = Object(value) as Fields;
  return { name: nameOf(name), host: nameOf(host), port: numberOf(port, 65_535) };
}

function nameOf(value: unknown): string {
  if (typeof value !== "string" || value === "" || value.length > MAX_NAME) throw new Error("expected a name");
  return value;
}

function numberOf(value: unknown, maximum: number): number {
  if (!Number.isSafeInteger(value) || Number(value) < 1 || Number(value) > maximum)
    throw new Error(`expected a number from 1 to ${maximum}`);
  return Number(value);
}

function listOf<Item>(value: unknown, parse: (item: unknown) => Item): readonly Item[] {
  if (!Array.isArray(value) || value.length > MAX_NODES)
    throw new Error(`expected a list of at most ${MAX_NODES} nodes`);
  return value.map(parse);
}
