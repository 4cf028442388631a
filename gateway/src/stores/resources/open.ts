/** Opens the store of custom resources: a cluster or a folder, depending on the settings. */
import { statSync } from "node:fs";
import {
  createClusterClient,
  createClusterRevisionStorage,
  createDirectoryClient,
  createDirectoryRevisionStorage,
  KubeconfigError,
  type Log,
  type ResourceClient,
  type RevisionStorage,
} from "@sluice/crds";
import { SettingsError } from "@sluice/model/serving";
import { type AdminSettings, adminSettings } from "../../settings/commands/admin.ts";
import type { Fleet, FleetNode, OpenedStore } from "../store.ts";
import { createResourceStore } from "./index.ts";
import { createOperatorClient, type OperatorClient } from "./operator-client.ts";

/** @throws SettingsError when the folder or the kubeconfig is missing. */
export function openResourceStore(settings: AdminSettings, log: Log): OpenedStore {
  const client = openResources(settings, log);
  const revisions = openRevisions(settings);
  const closing = new AbortController();
  const { signal } = closing;
  const operator = createOperatorClient({ url: settings.operator, token: settings.operatorToken, log, signal });
  const store = createResourceStore({
    client,
    homeNamespace: settings.homeNamespace,
    namespaces: settings.namespaces,
    class: settings.class,
    revisions,
    log,
    awaitNodes: operator.wait,
    signal,
  });
  return {
    store,
    fleet: fleetOf(operator),
    async close() {
      await store.whenSettled();
      closing.abort();
      await Promise.all([client.close(), revisions.close()]);
    },
  };
}

export const fleetOf = ({ status, askPlugin }: Pick<OperatorClient, "status" | "askPlugin">): Fleet => ({
  status,
  askPlugin,
  async nodes() {
    const operatorStatus = await status();
    return (Array.isArray(operatorStatus?.nodes) ? operatorStatus.nodes : []) as readonly FleetNode[];
  },
});

/** @throws SettingsError when the folder or the kubeconfig is missing. */
function openResources(
  { store, directory, unprotectWait }: Pick<AdminSettings, "store" | "directory" | "unprotectWait">,
  log: Log,
): ResourceClient {
  if (store === "cluster") return openCluster(log);
  const { variable } = adminSettings.directory;
  if (!directory) throw new SettingsError(`${variable} must be set: the folder of custom resources`);
  const facts = statSync(directory, { throwIfNoEntry: false });
  // A folder that is missing at the start is a configuration error. If it disappears after that, the store waits.
  if (!facts?.isDirectory()) {
    throw new SettingsError(
      `${variable} is ${directory}: ${facts ? "it is not a folder" : "the folder does not exist"}`,
    );
  }
  return createDirectoryClient({ directory, log, unprotectWait });
}

/** The operator that records the revisions has the same class and home namespace, or the same folder. */
function openRevisions({ store, directory, homeNamespace, class: className }: AdminSettings): RevisionStorage {
  if (store === "directory" && directory !== null)
    return createDirectoryRevisionStorage({ directory, class: className });
  return createClusterRevisionStorage({ namespace: homeNamespace, class: className });
}

function openCluster(log: Log): ResourceClient {
  try {
    return createClusterClient({ log });
  } catch (error) {
    throw error instanceof KubeconfigError ? new SettingsError(error.message) : error;
  }
}
