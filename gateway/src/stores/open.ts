/** Opens the store named by SLUICE_STORE, together with its information about the nodes. */
import type { Log } from "@sluice/crds";
import type { AdminSettings } from "../settings/commands/admin.ts";
import type { OpenedStore } from "./store.ts";

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
