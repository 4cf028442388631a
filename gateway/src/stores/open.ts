/** Opens the store named by SLUICE_STORE, together with its information about the nodes. */
import type { Log } from "@sluice/crds";
import type { AdminSettings } from "../settings/admin.ts";
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

// Each store is loaded on demand: a database needs no Kubernetes client.

/** @throws SettingsError for a missing or invalid setting of the store. */
export async function openStore(settings: AdminSettings, log: Log): Promise<OpenedStore> {
  if (settings.store === "cluster" || settings.store === "directory") {
    const { openResourceStore } = await import("./resources/open.ts");
    return openResourceStore(settings, log);
  }
  if (settings.store === "file") {
    const { openFile } = await import("./file/open.ts");
    return openFile(settings, log);
  }
  const { shareDatabase } = await import("./database/open-store.ts");
  return shareDatabase(settings, log);
}
