/** Opens what holds the custom resources: a cluster or a folder, as the settings say. */
import { statSync } from "node:fs";
import {
  createClusterClient,
  createDirectoryClient,
  KubeconfigError,
  type Log,
  type ResourceClient,
} from "@sluice/crds";
import { type AdminSettings, adminSettings } from "../../settings/admin.ts";
import { SettingsError } from "../../settings/error.ts";
import type { Fleet, FleetNode, OpenedStore } from "../open.ts";
import { awaitNodes } from "./await-nodes.ts";
import { createResourceStore } from "./index.ts";
import { createOperatorClient, type OperatorClient } from "./operator-client.ts";

/** @throws SettingsError when there is no folder to open, or no kubeconfig to read. */
export function openResourceStore(settings: AdminSettings, log: Log): OpenedStore {
  const client = openResources(settings, log);
  const closing = new AbortController();
  const { signal } = closing;
  const operator = createOperatorClient({ url: settings.operator, log, signal });
  const store = createResourceStore({
    client,
    homeNamespace: settings.homeNamespace,
    namespaces: settings.namespaces,
    class: settings.class,
    log,
    awaitNodes: (written, timeout) => awaitNodes(written, { ask: operator.wait, timeout }),
    signal,
  });
  return {
    store,
    fleet: fleetOf(operator),
    async close() {
      await store.settled();
      closing.abort();
      await client.close();
    },
  };
}

/** The nodes as the operator knows them. */
export const fleetOf = ({ status }: Pick<OperatorClient, "status">): Fleet => ({
  status,
  async nodes() {
    const told = await status();
    return (Array.isArray(told?.nodes) ? told.nodes : []) as readonly FleetNode[];
  },
});

/** @throws SettingsError when there is no folder to open, or no kubeconfig to read. */
export function openResources(
  { store, directory, unprotectWait }: Pick<AdminSettings, "store" | "directory" | "unprotectWait">,
  log: Log,
): ResourceClient {
  if (store === "cluster") return openCluster(log);
  const { variable } = adminSettings.directory;
  if (!directory) throw new SettingsError(`${variable} must be set: the folder of custom resources`);
  const facts = statSync(directory, { throwIfNoEntry: false });
  // One that goes away later is waited for; one that was never there is a slip of whoever started this.
  if (!facts?.isDirectory()) {
    throw new SettingsError(`${variable} is ${directory}: ${facts ? "it is no folder" : "there is no such folder"}`);
  }
  return createDirectoryClient({ directory, log, unprotectWait });
}

function openCluster(log: Log): ResourceClient {
  try {
    return createClusterClient({ log });
  } catch (error) {
    throw error instanceof KubeconfigError ? new SettingsError(error.message) : error;
  }
}
