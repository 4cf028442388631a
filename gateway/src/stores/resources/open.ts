/** Opens what holds the custom resources: a cluster or a folder, as the settings say. */
import {
  createClusterClient,
  createDirectoryClient,
  KubeconfigError,
  type Log,
  type ResourceClient,
} from "@sluice/crds";
import { type AdminSettings, adminSettings } from "../../settings/admin.ts";
import { SettingsError } from "../../settings/error.ts";

/** @throws SettingsError when there is no folder to open, or no kubeconfig to read. */
export function openResources(
  { store, directory }: Pick<AdminSettings, "store" | "directory">,
  log: Log,
): ResourceClient {
  if (store === "cluster") return openCluster(log);
  if (directory) return createDirectoryClient({ directory, log });
  throw new SettingsError(`${adminSettings.directory.variable} must be set: the folder of custom resources`);
}

function openCluster(log: Log): ResourceClient {
  try {
    return createClusterClient({ log });
  } catch (error) {
    throw error instanceof KubeconfigError ? new SettingsError(error.message) : error;
  }
}
