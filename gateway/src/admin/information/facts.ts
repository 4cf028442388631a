/** Information about the admin listener and the nodes. */
import type { Connections } from "../../metrics/metrics.ts";
import type { AdminSettings } from "../../settings/admin.ts";
import type { Fleet } from "../../stores/opened-store.ts";
import type { Store } from "../../stores/store.ts";

/** The Kong release whose admin API is implemented: clients adapt to it. */
export const KONG_VERSION = "3.9.1";

/** An address that accepts client requests. */
export interface ProxyAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

export interface ListenerInfo {
  /** Id of the admin listener. */
  readonly node: string;
  readonly version: string;
  readonly settings: AdminSettings;
  readonly store: Store;
  readonly fleet: Fleet;
  /** Hash of the served configuration; absent if it is not one document. */
  readonly hash?: () => string | null;
  /** Addresses of the node in this process; empty without one. */
  readonly proxies: readonly ProxyAddress[];
  readonly address: () => { readonly host: string; readonly port: number };
  /** Connections of the admin listener itself. */
  readonly connections: () => Connections;
}

/** Whether single entities can be written. */
export const isWritable = ({ store, fileWritable }: Pick<AdminSettings, "store" | "fileWritable">): boolean =>
  store !== "file" || fileWritable;
