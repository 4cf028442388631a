/** An opened store, with the information about the nodes that serve its entities. */
import type { Store } from "./store.ts";

/** The admin listener's information about the nodes. */
export interface Fleet {
  /** The nodes' state for GET /status, under `sluice`; null: not available. */
  status(): Promise<Readonly<Record<string, unknown>> | null>;
  nodes(): Promise<readonly FleetNode[]>;
}

export interface FleetNode {
  readonly address: string;
  /** Base URL of its status listener, for metrics and health; null: it has none. */
  readonly status: string | null;
}

export interface OpenedStore {
  readonly store: Store;
  readonly fleet: Fleet;
  /** Hash of the served configuration, if it is one document (file); null before the first. */
  readonly hash?: () => string | null;
  /** Pending waits for nodes resolve to null. */
  close(): Promise<void>;
}
