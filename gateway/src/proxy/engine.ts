/** What an HTTP engine is to the gateway: one function. Every engine runs the suite in test/conformance/engine. */
import type { Connections } from "../plugins/prometheus/metrics.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Observer } from "./observability/observer.ts";
import type { ProxyLog } from "./pipeline.ts";
import type { GatewayErrorName } from "./response/gateway-errors.ts";
import type { ListenAddress, ProxySettings } from "./settings.ts";
import type { Guard } from "./upstream/guard.ts";

export interface ProxyOptions {
  readonly listen: ListenAddress;
  /** Where clients are answered over TLS; absent: nowhere. */
  readonly listenTls?: ListenAddress;
  /** Whether other threads listen on the same addresses: the system shares the connections out among them. Default false. */
  readonly reusePort?: boolean;
  /** Places for connections of clients. Default: this listener's own, as many as the settings say. */
  readonly connectionSlots?: ConnectionSlots;
  readonly settings: ProxySettings;
  /** Default: one of this listener's own, as the settings say. It learns the addresses that are listened on. */
  readonly guard?: Guard;
  readonly log: ProxyLog;
  /** Default null: no access log and no tracing. */
  readonly observer?: Observer | null;
  /** Called for every request that is answered before it has a route. */
  readonly onUnrouted?: (fault: GatewayErrorName) => void;
  /** The runtime that a new request begins with. */
  readonly runtime: () => Runtime;
}

/** How many connections of clients there may be, together and of one address, over all who share the places. */
export interface ConnectionSlots {
  /** False: there are none left, or the address has as many as it may have. */
  acquire(address: string): boolean;
  /** Gives one back that was taken. */
  release(address: string): void;
}

export interface ProxyListener {
  readonly address: ListenAddress;
  /** Null when nothing is answered over TLS. */
  readonly tlsAddress: ListenAddress | null;
  /** Of both listeners. */
  readonly connections: () => Connections;
  /** Bytes that clients make the listener hold, as `ClientMemory` counts them. */
  readonly memory: () => number;
  /**
   * Drains: no new connections, idle ones end, requests under way get their response, tunnels go on. After `deadline`
   * milliseconds (default 30 s) what is left is cut off.
   */
  close(options?: { readonly deadline?: number }): Promise<void>;
}

/** Rejects when the address cannot be listened on (`code` is Node's, such as EADDRINUSE). */
export type CreateProxy = (options: ProxyOptions) => Promise<ProxyListener>;
