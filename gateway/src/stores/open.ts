/** Opens what holds the entities, as SLUICE_STORE says, and with it what is known of the nodes that run them. */
import type { Log } from "@sluice/crds";
import type { AdminSettings } from "../settings/admin.ts";
import type { Store } from "./store.ts";

/** What the admin listener knows of the nodes. */
export interface Fleet {
  /** What GET /status tells of them, under `sluice`; null: nobody can be asked. */
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
  /** Hash of the configuration that is served, where it is one document (file); null before the first. */
  readonly hash?: () => string | null;
  /** Whoever still waits for nodes is answered that nobody can tell. */
  close(): Promise<void>;
}

// What a store needs is loaded with it: a database knows no Kubernetes client.

/** @throws SettingsError when a setting of the store is missing or cannot be used. */
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
