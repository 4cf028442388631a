/** GET /status: how the admin listener, its store and the nodes fare (kong-contract 1.6). */
import { emptySnapshot } from "@sluice/model";
import { processMembers } from "../../status/listener.ts";
import { type Facts, isWritable } from "./facts.ts";

/** Kong's word for an empty configuration; clients bring it anew then. */
const NO_HASH = "0".repeat(32);

/** @param trusted Whether the caller may know of nodes, their addresses and reasons; all others get Kong's members only. */
export async function statusBody(facts: Facts, trusted: boolean): Promise<object> {
  const { node, version, settings, store, fleet, connections } = facts;
  const unread = store.unready();
  const plain = {
    ...processMembers(connections()),
    ...(isWritable(settings) && { database: { reachable: unread.length === 0 } }),
    ...(facts.hash && { configuration_hash: shortHash(facts.hash()) }),
  };
  if (!trusted) return plain;
  const told = await fleet.status();
  return {
    ...plain,
    sluice: { node, version, store: settings.store, unread, fleet: { reachable: told !== null, ...told } },
  };
}

/** As long as Kong's. */
const shortHash = (hash: string | null): string =>
  hash === null || hash === emptySnapshot.hash ? NO_HASH : hash.slice(0, NO_HASH.length);
