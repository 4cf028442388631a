/** The definition of a plugin: its schema, and the phases of an exchange in which it acts. */
import type { ConnectionRefusal, EndedConnection, RawConnection } from "./connections/raw-connection.ts";
import type { PluginCredentialFacts } from "./credentials/plugin-credentials.ts";
import type { BodyFilter } from "./exchange/body-filter.ts";
import type { DirectResponse, Exchange } from "./exchange/exchange.ts";
import type { HeldResponse } from "./exchange/held-response.ts";
import type { RecordSchema, Static } from "./schema/member.ts";
import type { RecordMembers } from "./schema/rules.ts";
import type { CacheOptions, PluginCache } from "./services/cache.ts";
import type { EndpointRequest, EndpointResponse } from "./services/endpoint.ts";
import type {
  CounterMetric,
  CounterMetricOptions,
  HistogramMetric,
  HistogramMetricOptions,
  PluginLog,
  PluginScope,
  PluginTimers,
} from "./services/instance.ts";
import type { PluginNetwork } from "./services/network.ts";
import type { PluginServices } from "./services/services.ts";
import type { Violation } from "./violation.ts";

/**
 * The properties of a plugin that are known without its code. They suffice to validate, order and describe its
 * instances.
 */
export interface PluginFacts<
  Schema extends RecordSchema = RecordSchema,
  Name extends string = string,
  Credential extends RecordSchema = RecordSchema,
> {
  /** The name by which Plugin entities refer to the plugin: lower-case letters, digits and `-`. */
  readonly name: Name;
  /** The plugin's own version, such as "1.0.0". */
  readonly version: string;
  /** Order of execution, the highest first. Plugins that Kong has too have the same priority as in Kong. */
  readonly priority: number;
  /**
   * Whether requests must not be served without the plugin: while an instance is invalid, requests in its scope are
   * answered with 503.
   */
  readonly protects: boolean;
  /** Whether the plugin may find the consumer of a request. Default: whether it declares `credentials`. */
  readonly identifies?: boolean;
  /**
   * Set if the plugin acts on connections that are not HTTP (phases `connection` and `connectionLog`). `byProtocol`: on
   * those of routes for which `protocols` of the instance contain tcp, tls or tls_passthrough. `byDefault`: also if
   * `protocols` contain all protocols of HTTP and gRPC, which is the default. An instance of a plugin that protects, and
   * that is attached to a route or service, acts on its connections in any case. Default: the plugin does not act on
   * connections; if it protects a route of connections, they are closed.
   */
  readonly actsOnConnections?: "byProtocol" | "byDefault";
  /**
   * The kinds of entities to which this plugin cannot be attached (Kong: `value must be null`). A plugin that refuses
   * consumers also refuses consumer groups. Default: none.
   */
  readonly refuses?: readonly PluginTarget[];
  readonly schema: Schema;
  /** The kind of consumers' credentials that the plugin itself declares and verifies. Default: none. */
  readonly credentials?: PluginCredentialFacts<Credential>;
  /**
   * Returns the config with full forms in place of short forms that the schema refuses, such as one string for a list
   * of strings.
   */
  expand?(config: RecordMembers): RecordMembers;
  /**
   * Checks members against each other. It receives the config with defaults, even if members are invalid. The paths of
   * violations start at the config.
   */
  check?(config: RecordMembers): readonly Violation[];
  /**
   * Names of query parameters, headers and cookies that may hold credentials: their values are hidden in the access log
   * and in log records. Default: none.
   */
  secretParameters?(config: RecordMembers): readonly string[];
  /**
   * Set if the plugin reads `ClientConnection.clientCertificates`: the TLS handshakes for its routes then request a
   * certificate of the client. A handshake requests one if the plugin applies to a route with the server name in
   * `snis`, or to a route without `snis`. Returns the ids of the CA certificates whose names the handshake lists, so
   * that a client can select a certificate by them; an empty list: the handshake lists no names.
   */
  certificateAuthorities?(config: RecordMembers): readonly string[];
  /** First segments of the paths below `/plugins/{id}/` that the phase `endpoint` answers. Default: none. */
  readonly endpoints?: readonly string[];
  /**
   * The checks of `check` in Kong's schema language, for `GET /schemas/plugins/{name}`. Names of members begin with
   * `config.`.
   */
  readonly kongChecks?: readonly KongCheck[];
}

/** An entry of `entity_checks` in Kong's schema language, such as `{ at_least_one_of: ["config.second"] }`. */
export type KongCheck = Readonly<Record<string, unknown>>;

/** The kinds of entities that a plugin can be attached to. */
export type PluginTarget = "service" | "route" | "consumer" | "consumer_group";

/** The scope of an instance, and the services that it may use. */
export interface PluginContext extends PluginServices {
  readonly scope: PluginScope;
  readonly log: PluginLog;
  readonly timers: PluginTimers;
  readonly network: PluginNetwork;
  /**
   * A metric of the plugin. Instances that pass the same name share the metric. It keeps at most 1000 series; the least
   * recently used series are dropped. The full name consists of the plugin's name and the given name. Throws if an
   * earlier call with the name had other labels, or if Sluice or another plugin has a metric of the same full name.
   */
  counterMetric(options: CounterMetricOptions): CounterMetric;
  /** As `counterMetric`, for a histogram. Calls with the same name must have the same bounds. */
  histogramMetric(options: HistogramMetricOptions): HistogramMetric;
  /** The cache of the instance; an instance opens at most one. A cache in memory ends with the instance. */
  cache<Value>(options: CacheOptions<Value>): PluginCache<Value>;
}

/** The phases of an exchange in which an instance acts, its endpoints, start and stop. All are optional. */
export interface PluginPhases {
  /** Runs before the request is forwarded, in order of priority. If it returns a response, nothing is forwarded. */
  access?(exchange: Exchange): DirectResponse | undefined | Promise<DirectResponse | undefined>;
  /**
   * Runs when the head of a response has arrived, before the phase `responseHeaders` of all plugins. The response is
   * held until the promise settles, so this phase may wait, and read the body. Returns a response that replaces the
   * held one. Undefined: the held one is sent, with the edits of `exchange.responseHeaders`, and its body streams. Runs
   * once for each exchange, including for the gateway's own responses.
   *
   * The plugin with the lowest priority comes first: each plugin sees the response as those with lower priorities left
   * it. Edits of headers in other phases are applied after those of this phase, and take precedence.
   *
   * If the phase throws, rejects or takes too long, the response is replaced by one with status 500. The limit is the
   * service's `read_timeout` (without a service 60 s), not counting the time in which the phase waits for the body.
   * Does not run for an upgraded connection.
   */
  response?(
    exchange: Exchange,
    response: HeldResponse,
  ): DirectResponse | undefined | Promise<DirectResponse | undefined>;
  /**
   * Whether the phase `response` runs for this exchange, asked when the head of the response has arrived. Responses that
   * no plugin holds are sent as they arrive, without a copy of their heads. Absent: the phase always runs.
   */
  holds?(exchange: Exchange): boolean;
  /** Runs when the response's status is known and its head has not been sent, even for the gateway's own responses. */
  responseHeaders?(exchange: Exchange): void;
  /**
   * Runs after `responseHeaders` of all plugins, even for the gateway's own responses. Returns a filter for the body of
   * this response; null: the body stays as it is. The filters of several plugins run in order of priority; streams
   * (`transform`) follow all other filters. Instead of a filter, it may return a response that replaces this one:
   * `responseHeaders` of all plugins runs again for the new response, `responseBody` does not.
   *
   * Does not run for a response that cannot have a body (204, 304), for gRPC or for an upgraded connection. The filter
   * of an upstream's response to HEAD is not called; Content-Length is removed if the filter has `piece` or `whole`. If
   * this method or the filter throws, the response is replaced by one with status 500, or aborted if its head has been
   * sent.
   */
  responseBody?(exchange: Exchange): BodyFilter | DirectResponse | null;
  /** Runs at the end of every exchange, even if the gateway itself created the response. */
  log?(exchange: Exchange): void;
  /**
   * Runs when a connection that is not HTTP has arrived, in order of priority, before a target is selected. With TLS
   * that ends at the gateway, it runs after the handshake. Returns why the connection is closed; undefined: it may be
   * forwarded. If the phase throws, the connection is closed. Called only if `actsOnConnections` is set.
   */
  connection?(connection: RawConnection): ConnectionRefusal | undefined;
  /**
   * Runs at the end of a connection, with the same object as `connection`: also if a plugin closed the connection, even
   * one with a higher priority. Called only if `actsOnConnections` is set.
   */
  connectionLog?(connection: EndedConnection): void;
  /**
   * Answers a request to the admin API below `/plugins/{id}/`, if the segment after the id is in `endpoints` of the
   * facts. Each worker of each node calls its own instance. If there are responses with a status of 500 or above, the
   * admin API sends the one with the highest status, else the one with the lowest status. For a GET request, a response
   * with a status below 400 suffices, even if other nodes do not answer. Undefined: there is no such endpoint.
   */
  endpoint?(request: EndpointRequest): EndpointResponse | undefined | Promise<EndpointResponse | undefined>;
  /**
   * Called once when the instance becomes active, before its first exchange. Exchanges do not wait for a promise that
   * this method returns. An instance that a new configuration does not change keeps running.
   */
  start?(): void | Promise<void>;
  /**
   * Called once: after the last exchange that uses the instance, or when the node ends. A returned promise is awaited
   * for a few seconds; then the instance's timers and connections end.
   */
  stop?(): void | Promise<void>;
}

export interface PluginDefinition<
  Schema extends RecordSchema = RecordSchema,
  Credential extends RecordSchema = RecordSchema,
> extends PluginFacts<Schema, string, Credential> {
  /**
   * Creates an instance from its complete config. Each worker calls this method once for each configured instance, and
   * again when the instance's configuration changes. It must not open connections or start timers: these belong to
   * `start` and later phases. It is also called for each explanation of a request in the instance's scope
   * (`POST /explain` of the admin API): the services of such an instance send and change nothing, and it is neither
   * started nor stopped.
   */
  phases(config: Static<Schema>, context: PluginContext): PluginPhases;
}

/** Defines a plugin. The schema gives the type of `config`. */
export const definePlugin = <Schema extends RecordSchema, Credential extends RecordSchema = RecordSchema>(
  plugin: PluginDefinition<Schema, Credential>,
): PluginDefinition<Schema, Credential> => plugin;

/** The facts of a plugin whose phases are in another file, so that a process can read its schema without its code. */
export const definePluginFacts = <
  Schema extends RecordSchema,
  Name extends string,
  Credential extends RecordSchema = RecordSchema,
>(
  facts: PluginFacts<Schema, Name, Credential>,
): PluginFacts<Schema, Name, Credential> => facts;
