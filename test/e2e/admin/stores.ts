/** The stores that an admin listener can write to, each as a running product for Kong's clients. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startClusterProduct } from "../../cluster/product.ts";
import { temporaryFolder } from "../../process/index.ts";
import { freeAddresses } from "../../product/free-addresses.ts";
import { startDirectoryProduct } from "../../start/directory-product.ts";

export interface RunningStore {
  /** Address of the admin listener, http. */
  readonly admin: string;
  /** Address of a node's proxy, http. */
  readonly proxy: string;
  stop(): Promise<void>;
}

export interface WritableStore {
  /** As in SLUICE_STORE, with what else it needs. */
  readonly name: string;
  /** Starts the product without any entity. */
  start(): Promise<RunningStore>;
}

export const writableStores: readonly WritableStore[] = [
  { name: "directory", start: () => start("directory") },
  { name: "cluster", start: () => start("cluster") },
];

async function start(name: "directory" | "cluster"): Promise<RunningStore> {
  const work = temporaryFolder(`clients-${name}`);
  const chosen = await freeAddresses();
  const resources = join(work.path, "resources");
  mkdirSync(resources);
  const product =
    name === "directory"
      ? await startDirectoryProduct({ chosen, work: work.path, folder: resources })
      : await startClusterProduct({ chosen, work: work.path });
  return {
    admin: `http://${chosen.admin}`,
    proxy: `http://${chosen.proxy}`,
    async stop() {
      await product.stop();
      work.remove();
    },
  };
}
