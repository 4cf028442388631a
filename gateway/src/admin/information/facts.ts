/** What the admin listener tells of itself and of the nodes. */
import type { Connections } from "../../plugins/prometheus/metrics.ts";
import type { AdminSettings } from "../../settings/admin.ts";
import type { Fleet } from "../../stores/open.ts";
import type { Store } from "../../stores/store.ts";

/** The release whose admin API this is: clients choose their ways by it. */
export const KONG_VERSION = "3.9.1";

/** Where clients' requests are taken. */
export interface ProxyListener {
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
  /** Of the configuration that is served; absent where it is not one document. */
  readonly hash?: () => string | null;
  /** Of the node in this process; empty where none runs. */
  readonly proxies: readonly ProxyListener[];
  readonly address: () => { readonly host: string; readonly port: number };
  /** Of the admin listener itself. */
  readonly connections: () => Connections;
}

/** Whether single entities can be written. */
export const isWritable = ({ store, fileWritable }: Pick<AdminSettings, "store" | "fileWritable">): boolean =>
  store !== "file" || fileWritable;
