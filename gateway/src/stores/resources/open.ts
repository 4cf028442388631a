/** Opens what holds the custom resources: a cluster or a folder, as the settings say. */
import { createClusterClient, createDirectoryClient, type Log, type ResourceClient } from "@sluice/crds";
import { type AdminSettings, adminSettings } from "../../settings/admin.ts";
import { SettingsError } from "../../settings/error.ts";

/** @throws SettingsError when there is no folder to open; Error for a kubeconfig that cannot be read. */
export function openResources(
  { store, directory }: Pick<AdminSettings, "store" | "directory">,
  log: Log,
): ResourceClient {
  if (store === "cluster") return createClusterClient({ log });
  if (directory) return createDirectoryClient({ directory, log });
  throw new SettingsError(`${adminSettings.directory.variable} must be set: the folder of custom resources`);
}
