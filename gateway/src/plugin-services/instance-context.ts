/**
 * The services of one plugin instance. They are created on first use, because there may be many thousands of instances.
 */

import { isIP, type Socket } from "node:net";
import type {
  CacheOptions,
  CounterMetric,
  CounterMetricOptions,
  Destination,
  Exchange,
  HistogramMetric,
  HistogramMetricOptions,
  HttpClient,
  LogFacts,
  PluginCache,
  PluginContext,
  PluginLog,
  PluginNetwork,
  PluginScope,
  PluginServices,
  SecureDestination,
  StreamDestination,
} from "@sluice/plugin-sdk";
import type { GatewayMetrics } from "../metrics/metrics.ts";
import type { Connect } from "../outbound/connect.ts";
import type { OpenDatagrams } from "../outbound/datagrams.ts";
import type { InstanceCache, PluginCaches } from "../plugin-caches/create-caches.ts";
import { InstanceTimers, type StartTimer } from "./instance-timers.ts";
import type { VaultEnvironment } from "./vault-values.ts";

/** The logger methods that plugins use. A pino logger has them. */
export interface ServicesLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** Opens a client that refuses forbidden addresses. Closing it fails requests under way. */
export type OpenHttpClient = () => HttpClient & { close(): void };

/** The services of a worker, from which those of each instance are made. */
export interface WorkerServices extends PluginServices {
  readonly metrics: GatewayMetrics;
  readonly connect: Connect;
  readonly openHttpClient: OpenHttpClient;
  readonly datagrams: OpenDatagrams;
  readonly caches: PluginCaches;
  readonly log: ServicesLog;
  readonly vault: VaultEnvironment;
  /** Default: timers of Node. */
  readonly startTimer?: StartTimer;
}

export class InstanceContext implements PluginContext {
  readonly scope: PluginScope;
  readonly #plugin: string;
  readonly #services: WorkerServices;
  #log: InstanceLog | null = null;
  #timers: InstanceTimers | null = null;
  #network: InstanceNetwork | null = null;
  #cache: InstanceCache<unknown> | null = null;

  constructor(plugin: string, scope: PluginScope, services: WorkerServices) {
    this.scope = scope;
    this.#plugin = plugin;
    this.#services = services;
  }

  get counters() {
    return this.#services.counters;
  }

  get concurrency() {
    return this.#services.concurrency;
  }

  get metrics() {
    return this.#services.metrics;
  }

  get operations() {
    return this.#services.operations;
  }

  get now() {
    return this.#services.now;
  }

  get log(): PluginLog {
    this.#log ??= new InstanceLog({ plugin: this.#plugin, instance: this.scope.id }, this.#services.log);
    return this.#log;
  }

  get timers(): InstanceTimers {
    this.#timers ??= new InstanceTimers(this.log, this.#services.startTimer);
    return this.#timers;
  }

  get network(): PluginNetwork {
    this.#network ??= new InstanceNetwork(this.#services, this.log);
    return this.#network;
  }

  counterMetric(options: CounterMetricOptions): CounterMetric {
    return this.#services.metrics.pluginCounter(this.#plugin, options);
  }

  histogramMetric(options: HistogramMetricOptions): HistogramMetric {
    return this.#services.metrics.pluginHistogram(this.#plugin, options);
  }

  cache<Value>(options: CacheOptions<Value>): PluginCache<Value> {
    if (this.#cache !== null) throw new Error("the instance has already opened its cache");
    const cache = this.#services.caches.open(this.scope.id, options);
    this.#cache = cache as InstanceCache<unknown>;
    return cache;
  }

  get openedCache(): InstanceCache<unknown> | null {
    return this.#cache;
  }

  /** Ends timers, connections and cache of the instance. */
  end(): void {
    this.#cache?.end?.();
    this.#timers?.end();
    this.#network?.end();
  }
}

class InstanceLog implements PluginLog {
  readonly #instance: { readonly plugin: string; readonly instance: string };
  readonly #log: ServicesLog;

  constructor(instance: { readonly plugin: string; readonly instance: string }, log: ServicesLog) {
    this.#instance = instance;
    this.#log = log;
  }

  info(message: string, facts?: LogFacts, exchange?: Exchange): void {
    this.#log.info(this.#details(facts, exchange), message);
  }

  warn(message: string, facts?: LogFacts, exchange?: Exchange): void {
    this.#log.warn(this.#details(facts, exchange), message);
  }

  error(message: string, facts?: LogFacts, exchange?: Exchange): void {
    this.#log.error(this.#details(facts, exchange), message);
  }

  #details(facts: LogFacts = {}, exchange: Exchange | undefined): object {
    return { ...facts, ...this.#instance, ...(exchange !== undefined && { requestId: exchange.id }) };
  }
}

type NetworkServices = Pick<WorkerServices, "connect" | "openHttpClient" | "datagrams">;

/** The connections of an instance. Connections that the instance has left open are closed when it ends. */
class InstanceNetwork implements PluginNetwork {
  readonly #services: NetworkServices;
  readonly #log: PluginLog;
  readonly #open = new Set<{ close(): void }>();
  #http: HttpClient | null = null;
  #hasEnded = false;

  constructor(services: NetworkServices, log: PluginLog) {
    this.#services = services;
    this.#log = log;
  }

  get http(): HttpClient {
    if (this.#http === null) {
      this.#http = this.#opened(this.#services.openHttpClient());
    }
    return this.#http;
  }

  connect({ host, port, tls }: StreamDestination): Socket {
    return this.#openedSocket(this.#services.connect({ host, port, ...(tls && { tls: tlsOptions(host, tls) }) }));
  }

  startTls(socket: Socket, { host, tls }: SecureDestination): Socket {
    const port = socket.remotePort ?? 0;
    return this.#openedSocket(this.#services.connect({ host, port, socket, tls: tlsOptions(host, tls) }));
  }

  datagrams(destination: Destination) {
    const opened = this.#opened(this.#services.datagrams(destination));
    return {
      send: (data: Buffer) => opened.send(data),
      close: () => {
        this.#open.delete(opened);
        opened.close();
      },
    };
  }

  end(): void {
    this.#hasEnded = true;
    for (const each of this.#open) each.close();
  }

  #openedSocket(socket: Socket): Socket {
    const entry = this.#opened({ close: () => void socket.destroy() });
    socket.on("error", ({ message }) => {
      // Without any handler, the error would end the worker.
      if (socket.listenerCount("error") > 1) return;
      this.#log.warn("a connection failed, and the plugin has no handler for its error", { reason: message });
    });
    return socket.once("close", () => this.#open.delete(entry));
  }

  /**
   * Returns the connection, which is closed when the instance ends. A connection that is opened after this, such as by
   * a callback that still runs, is closed at once.
   */
  #opened<Connection extends { close(): void }>(connection: Connection): Connection {
    if (this.#hasEnded) connection.close();
    else this.#open.add(connection);
    return connection;
  }
}

function tlsOptions(host: string, { serverName, verify = true }: SecureDestination["tls"]) {
  const name = serverName ?? (isIP(host) === 0 ? host : null);
  return { rejectUnauthorized: verify, ...(name !== null && { servername: name }) };
}
