/** Runs the plugins of a connection that is not HTTP. */
import type { Service, SnapshotRoute } from "@sluice/model";
import type { ConnectionRefusal, EndedConnection, ForwardAttempt, RawConnection, Timings } from "@sluice/plugin-sdk";
import type { ExchangeCount, PluginStep } from "../../compile/runtime.ts";
import { gatewayErrors } from "../../exchange/gateway-errors.ts";
import type { ProxyLog } from "../engine.ts";
import { streamLogRecordOf } from "./stream-log-record.ts";
import type { StreamRecord } from "./stream-record.ts";

export interface StreamPluginsOptions extends Pick<RawConnection, "clientAddress" | "protocol" | "serverName"> {
  readonly route: SnapshotRoute;
  readonly service: Service;
  /** High priority first. */
  readonly steps: readonly PluginStep[];
  readonly log: ProxyLog;
  /** The exchanges of the plugins' runtime: the connection counts as one, so that its plugins are not stopped. */
  readonly exchanges: ExchangeCount;
}

export class StreamPlugins {
  readonly #options: StreamPluginsOptions;
  readonly #stream: PluginStream;

  constructor(options: StreamPluginsOptions) {
    this.#options = options;
    this.#stream = new PluginStream(options);
  }

  /** Why a plugin closes the connection; null: none does. `ended` must be called later. */
  refusal(): ConnectionRefusal | null {
    this.#options.exchanges.open++;
    for (const { id, phases } of this.#options.steps) {
      try {
        const refusal = phases.connection?.(this.#stream);
        if (refusal !== undefined) return refusal;
      } catch (error) {
        this.#failed(id, error);
        return { status: gatewayErrors.unexpected.status, reason: `the plugin ${id} failed` };
      }
    }
    return null;
  }

  ended(record: StreamRecord): void {
    this.#stream.record = record;
    for (const { id, phases } of this.#options.steps) {
      try {
        phases.connectionLog?.(this.#stream);
      } catch (error) {
        this.#failed(id, error);
      }
    }
    const { exchanges } = this.#options;
    if (--exchanges.open === 0 && exchanges.onIdle !== null) exchanges.onIdle();
  }

  #failed(plugin: string, error: unknown): void {
    this.#options.log.error({ err: error, plugin }, "a plugin failed for a connection");
  }
}

/** A connection as plugins see it. */
class PluginStream implements EndedConnection {
  readonly clientAddress: string;
  readonly protocol: RawConnection["protocol"];
  readonly serverName: string | null;
  readonly route: SnapshotRoute;
  readonly service: Service;
  readonly namespace: string | null;
  readonly consumer = null;
  /** Null: the connection is open. */
  record: StreamRecord | null = null;
  #text: string | null = null;

  constructor({ clientAddress, protocol, serverName, route, service }: StreamPluginsOptions) {
    this.clientAddress = clientAddress;
    this.protocol = protocol;
    this.serverName = serverName;
    this.route = route;
    this.service = service;
    this.namespace = route._sluice?.namespace ?? null;
  }

  get status(): number {
    return this.#ended.status;
  }

  get bytesIn(): number {
    return this.#ended.bytesIn;
  }

  get bytesOut(): number {
    return this.#ended.bytesOut;
  }

  get timings(): Timings {
    const { started, connected, duration } = this.#ended;
    return { started, ended: started + duration, ...(connected !== null && { forwarded: started + connected }) };
  }

  get attempts(): readonly ForwardAttempt[] {
    return this.#ended.attempts;
  }

  logRecord(): string {
    this.#text ??= streamLogRecordOf(this.#ended, this.route, this.service);
    return this.#text;
  }

  get #ended(): StreamRecord {
    if (this.record === null) throw new Error("the connection has not ended");
    return this.record;
  }
}
