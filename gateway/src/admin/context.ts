/** The objects that all parts of the admin listener depend on. */
import type { Log } from "@sluice/crds";
import type { Target, TemporaryLogLevel, Upstream } from "@sluice/model";
import type { Connections } from "../metrics/metrics.ts";
import type { AdminSettings } from "../settings/commands/admin.ts";
import type { Effect, OpenedStore } from "../stores/store.ts";
import type { PlanOf } from "./plan/plan.ts";

/** An address that accepts client requests. */
export interface ProxyAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

export interface HealthChange {
  readonly upstream: Upstream;
  readonly target: Target;
  /** One of the target's addresses (`10.0.0.1:80`); undefined: all. */
  readonly address: string | undefined;
  readonly healthy: boolean;
}

/** Sets the health of a target in the node of this process. Resolves to an error message; undefined on success. */
export type SetHealth = (change: HealthChange) => Promise<string | undefined>;

/** Returns the warning headers for the response to a write with these effects. */
export type WarningHeaders = (effects: readonly Effect[]) => Promise<Readonly<Record<string, string>>>;

export interface AdminContext extends Pick<OpenedStore, "store" | "fleet" | "hash"> {
  readonly settings: AdminSettings;
  readonly version: string;
  readonly node: string;
  readonly log: Log;
  /** The log level of this process. */
  readonly logLevel: TemporaryLogLevel;
  readonly warnings: WarningHeaders;
  readonly planOf: PlanOf;
  /** Absent: no node runs in this process. */
  readonly setHealth?: SetHealth;
  /** Addresses of the node in this process; empty when the process has no node. */
  readonly proxies: readonly ProxyAddress[];
  /** Those of its listeners for connections that are not HTTP. */
  readonly streams: readonly ProxyAddress[];
  readonly address: () => { readonly host: string; readonly port: number };
  readonly connections: () => Connections;
}
