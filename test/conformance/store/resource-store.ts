/** Helpers for the suites of the stores over resources (cluster, directory). */
import type { ResourceClient, RevisionStorage } from "@sluice/crds";
import type { Collection, Entity, WaitResponse, WrittenResource } from "@sluice/model";
import { createResourceStore, type ResourceStore } from "../../../gateway/src/stores/resources/index.ts";
import type { Lookup, Store, StoreWriteOptions, WriteOutcome } from "../../../gateway/src/stores/store.ts";
import { quietLog } from "../resource-client/log.ts";

export interface StoreOpener {
  /** The resources of each write for which a store has waited for the nodes, in order. */
  readonly waited: (readonly WrittenResource[])[];
  open(orphanAge?: number): Store;
  /** Resolves when the cleanup after all writes has finished. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Stores over clients, each like the process of an admin listener. The nodes confirm every write at once. */
export function createOpener(
  connect: () => ResourceClient,
  options: { readonly homeNamespace: string; readonly class: string; readonly revisions?: RevisionStorage },
): StoreOpener {
  const following = new AbortController();
  const clients: ResourceClient[] = [];
  const stores: ResourceStore[] = [];
  const waited: (readonly WrittenResource[])[] = [];
  return {
    waited,
    async settled() {
      await Promise.all(stores.map((store) => store.whenSettled()));
    },
    open(orphanAge) {
      const client = connect();
      clients.push(client);
      const store = createResourceStore({
        client,
        ...options,
        log: quietLog,
        awaitNodes: async (written) => {
          waited.push(written);
          return programmed;
        },
        signal: following.signal,
        ...(orphanAge !== undefined && { orphanAge }),
      });
      stores.push(store);
      return store;
    },
    async close() {
      following.abort();
      await Promise.all(clients.map((client) => client.close()));
    },
  };
}

const programmed: WaitResponse = {
  programmed: true,
  revision: 1,
  acknowledged: [],
  lagging: [],
  silent: [],
  problems: [],
};

export const createIn = (store: Store, collection: Collection, entity: Entity, options?: StoreWriteOptions) =>
  store.write([{ op: "create", collection, entity }], options);
export const replaceIn = (store: Store, collection: Collection, entity: Entity, options?: StoreWriteOptions) =>
  store.write([{ op: "replace", collection, entity }], options);
export const removeFrom = (store: Store, collection: Collection, by: Lookup, options?: StoreWriteOptions) =>
  store.write([{ op: "remove", collection, by }], options);

/** Whether a removal with this outcome has removed an entity. */
export const isRemoved = ({ effects = [] }: WriteOutcome): boolean => effects.some(({ before }) => before !== null);
