/** An exchange without an HTTP engine, for the tests of plugins: it records a plugin's actions. */
import { hash } from "node:crypto";
import type { Consumer, PluginConfigs, PluginName, Route, Service, SnapshotCredential } from "@sluice/model";
import type {
  ClientConnection,
  EndedConnection,
  Exchange,
  ExchangeCaCertificate,
  ExchangeCredentials,
  ExchangeGraphqlDocuments,
  ForwardAttempt,
  HeaderEdit,
  HeaderEditGroup,
  HeaderEdits,
  HeaderName,
  LogValue,
  MessageInspector,
  MirroredRequest,
  PluginContext,
  PluginDefinition,
  PluginPhases,
  PluginScope,
  Timings,
} from "@sluice/plugin-sdk";
import { builtInPlugins } from "@sluice/plugins";
import { consumerNamed, routeNamed, serviceNamed } from "../../gateway/src/compile/testing-entities.ts";
import { ThreadConcurrency } from "../../gateway/src/counters/concurrency.ts";
import { ThreadCounters } from "../../gateway/src/counters/thread-counters.ts";
import { createMetrics } from "../../gateway/src/metrics/metrics.ts";
import { connectBehind } from "../../gateway/src/outbound/connect.ts";
import { datagramsBehind } from "../../gateway/src/outbound/datagrams.ts";
import { createGuard } from "../../gateway/src/outbound/guard.ts";
import { createCaches } from "../../gateway/src/plugin-caches/create-caches.ts";
import { InstanceContext, type WorkerServices } from "../../gateway/src/plugin-services/instance-context.ts";
import { httpClientsBehind } from "../../gateway/src/proxy/http1/plugin-client/http-client.ts";

/** Applies header edits to the given headers. Header names may be in any letter case. */
export class RecordedHeaders implements HeaderEdits {
  readonly #values = new Map<string, string[]>();
  /** Lower-case names of headers that an edit set, replaced or removed: their values before the edits are gone. */
  readonly #replaced = new Set<string>();

  constructor(before: Readonly<Record<string, string>> = {}) {
    for (const [name, value] of Object.entries(before)) this.set(name, value);
  }

  set(name: string | HeaderName, value: string): void {
    const lower = typeof name === "string" ? name.toLowerCase() : name.lower;
    this.#replaced.add(lower);
    this.#values.set(lower, [value]);
  }

  append(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), [...(this.#values.get(name.toLowerCase()) ?? []), value]);
  }

  remove(name: string): void {
    this.#replaced.add(name.toLowerCase());
    this.#values.delete(name.toLowerCase());
  }

  apply({ header: { lower }, values, replaces }: HeaderEdit): void {
    if (replaces) this.#replaced.add(lower);
    const before = replaces ? [] : (this.#values.get(lower) ?? []);
    this.#values.set(lower, [...before, ...values]);
    if (values.length === 0) this.#values.delete(lower);
  }

  applyAll({ edits }: HeaderEditGroup): void {
    for (const edit of edits) this.apply(edit);
  }

  /**
   * The values of a header after the edits.
   *
   * @param name In lower case.
   * @param before The values before the edits.
   */
  valuesOver(name: string, before: readonly string[]): readonly string[] {
    return [...(this.#replaced.has(name) ? [] : before), ...(this.#values.get(name) ?? [])];
  }

  get(name: string): string | undefined {
    return this.#values.get(name.toLowerCase())?.join(", ");
  }

  all(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#values].map(([name, values]) => [name, values.join(", ")]));
  }
}

export interface FakeRequest {
  readonly method?: string;
  readonly path?: string;
  /** Default: the path. */
  readonly sentPath?: string;
  /** Default: `sentPath` and the query. */
  readonly sentTarget?: string;
  /** Default: 1.1. */
  readonly httpVersion?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
  /** Whether the body arrives after the head, so that a plugin has to wait for it. Default false. */
  readonly isBodyLate?: boolean;
  readonly clientAddress?: string;
  /** Default: a new connection. */
  readonly connection?: ClientConnection;
}

export type FakeCredentials = {
  readonly [Name in keyof ExchangeCredentials]?: Readonly<Record<string, ExchangeCredentials[Name]>>;
};

export interface FakeExchangeOptions extends FakeRequest {
  /** Headers of the upstream's response. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** The credentials of key-auth, by their keys in clear text. */
  readonly keys?: Readonly<Record<string, SnapshotCredential<"keyauth_credentials">>>;
  /** Other credentials by their collection and the value by which requests name them. */
  readonly credentials?: FakeCredentials;
  /** Credentials of mtls-auth. */
  readonly subjectNames?: readonly ExchangeCredentials["mtls_auth_credentials"][];
  readonly authenticatedGroups?: readonly string[];
  /** ACL groups by the id of their consumer. */
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  readonly consumers?: readonly Consumer[];
  readonly caCertificates?: readonly ExchangeCaCertificate[];
  readonly graphqlDocuments?: readonly ExchangeGraphqlDocuments[];
  /** The namespace of the route. Default: null. */
  readonly namespace?: string | null;
  readonly consumer?: Consumer | null;
  /** Default false. */
  readonly anonymous?: boolean;
  readonly credential?: SnapshotCredential | null;
  readonly route?: Route;
  readonly service?: Service | null;
  readonly pathCaptures?: Readonly<Record<string, string>>;
  readonly status?: number;
  readonly source?: "service" | "gateway";
  readonly timings?: Timings;
  readonly attempts?: readonly ForwardAttempt[];
  readonly bytesIn?: number;
  readonly bytesOut?: number;
  /** Values that other plugins have left. */
  readonly shared?: Readonly<Record<string, string>>;
  /** The text of the log record. */
  readonly logRecord?: string;
}

export interface FakeExchange extends Exchange {
  readonly upstreamHeaders: RecordedHeaders;
  readonly responseHeaders: RecordedHeaders;
  readonly removedQuery: readonly string[];
  readonly replacedBody: Buffer | null;
  readonly mirrored: readonly MirroredRequest[];
  readonly messageInspector: MessageInspector | null;
  readonly logFields: ReadonlyMap<string, LogValue>;
}

const known = { created_at: 1_700_000_000, updated_at: 1_700_000_000, tags: null };

export const fakeService = (members: Partial<Service> = {}): Service =>
  serviceNamed("users", { ...known, id: "11111111-1111-4111-8111-111111111111", host: "users.test", ...members });

export const fakeRoute = (members: Partial<Route> = {}): Route =>
  routeNamed("users-route", { ...known, id: "22222222-2222-4222-8222-222222222222", paths: ["/users"], ...members });

export const fakeConsumer = (members: Partial<Consumer> = {}): Consumer => ({
  ...consumerNamed("demo"),
  ...known,
  id: "33333333-3333-4333-8333-333333333333",
  ...members,
});

export const fakeCredential = (
  consumer: Consumer,
  id = "44444444-4444-4444-8444-444444444444",
): SnapshotCredential<"keyauth_credentials"> => ({
  ...known,
  id,
  consumer: { id: consumer.id },
  key: null,
  ttl: null,
  _sluice: { key_hash: "" },
});

export const fakeScope = (members: Partial<PluginScope> = {}): PluginScope => ({
  id: "55555555-5555-4555-8555-555555555555",
  serviceId: null,
  routeId: null,
  consumerId: null,
  consumerGroupId: null,
  ...members,
});

/** The plugins that come with Sluice, by name. */
export const pluginsByName: ReadonlyMap<string, PluginDefinition> = new Map(
  builtInPlugins.map((plugin) => [plugin.name, plugin]),
);

/** An instance of a plugin that comes with Sluice. */
export function pluginInstance<Name extends PluginName>(
  name: Name,
  config: PluginConfigs[Name],
  context: PluginContext = fakeContext(),
): PluginPhases {
  const plugin = pluginsByName.get(name);
  if (plugin === undefined) throw new Error(`there is no plugin ${name}`);
  return plugin.phases(config, context);
}

/** The plugins that come with Sluice, with these phases instead of their own. */
export const pluginsWithPhases = (phases: PluginDefinition["phases"]): ReadonlyMap<string, PluginDefinition> =>
  new Map(builtInPlugins.map((plugin) => [plugin.name, { ...plugin, phases }]));

export interface FakeServicesOptions extends Partial<WorkerServices> {
  /** PEM certificates of authorities that connections trust. */
  readonly authorities?: readonly string[];
}

/** A worker's services. Connections to this machine are allowed, and log lines are discarded. */
export function fakeServices({ authorities = [], ...members }: FakeServicesOptions = {}): WorkerServices {
  const guard = createGuard({ allowedUpstreams: ["127.0.0.0/8", "::1"], ownListeners: [] });
  const connect = connectBehind(guard, authorities);
  const { now = () => 1_700_000_000_000 } = members;
  return {
    counters: new ThreadCounters(),
    concurrency: new ThreadConcurrency(),
    metrics: createMetrics({ compat: false, nodeId: "node-1", version: "0.0.0" }),
    operations: { record() {} },
    now,
    connect,
    openHttpClient: httpClientsBehind(connect),
    datagrams: datagramsBehind(guard),
    caches: createCaches({ memory: 4_000_000, connect, warn() {}, now }),
    log: { info() {}, warn() {}, error() {} },
    vault: { allowed: [], variables: {} },
    ...members,
  };
}

export interface FakeContextOptions extends FakeServicesOptions {
  /** Name of the plugin. */
  readonly plugin?: string;
  readonly scope?: PluginScope;
}

export const fakeContext = ({
  plugin = "fake",
  scope = fakeScope(),
  ...members
}: FakeContextOptions = {}): InstanceContext => new InstanceContext(plugin, scope, fakeServices(members));

/** A connection without TLS. */
export const fakeConnection = (members: Partial<ClientConnection> = {}): ClientConnection => ({
  localAddress: "127.0.0.1",
  port: 8000,
  scheme: "http",
  clientCertificates: null,
  ...members,
});

/** A connection that is not HTTP, and has ended. */
export const fakeStream = (members: Partial<EndedConnection> = {}): EndedConnection => ({
  clientAddress: "192.0.2.1",
  protocol: "tcp",
  serverName: null,
  route: fakeRoute(),
  service: fakeService(),
  namespace: null,
  status: 200,
  consumer: null,
  bytesIn: 0,
  bytesOut: 0,
  timings: { started: 0, ended: 0 },
  attempts: [],
  logRecord: () => "{}",
  ...members,
});

export function fakeExchange(options: FakeExchangeOptions = {}): FakeExchange {
  const headers = new Map(
    Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), [value].flat()]),
  );
  const byHash = new Map(Object.entries(options.keys ?? {}).map(([key, value]) => [hash("sha256", key), value]));
  const body = Buffer.from(options.body ?? "");
  const sentPath = options.sentPath ?? options.path ?? "/users";
  const removedQuery: string[] = [];
  const logFields = new Map<string, LogValue>();
  const mirrored: MirroredRequest[] = [];
  let replacedBody: Buffer | null = null;
  let messageInspector: MessageInspector | null = null;
  const upstreamHeaders = new RecordedHeaders();
  const responseHeaders = new RecordedHeaders(options.responseHeaders);
  return {
    id: "0123456789abcdef",
    request: {
      method: options.method ?? "GET",
      path: options.path ?? "/users",
      query: options.query ?? "",
      sentPath,
      sentTarget: options.sentTarget ?? `${sentPath}${options.query ?? ""}`,
      httpVersion: options.httpVersion ?? "1.1",
      scheme: "http",
      host: headers.get("host")?.[0]?.toLowerCase() ?? "localhost:8000",
      clientAddress: options.clientAddress ?? "192.0.2.1",
      serverName: null,
      connection: options.connection ?? fakeConnection(),
      rawHeaders: [...headers].flatMap(([name, values]) => values.flatMap((value) => [name, value])),
      // As in the engines, callers must pass names in lower case.
      header: (name) => headers.get(name)?.join(", "),
      headerValues: (name) => headers.get(name) ?? [],
      body: async (limit) => (body.length > limit ? null : body),
      arrivedBody: (limit) => (options.isBodyLate === true ? undefined : body.length > limit ? null : body),
    },
    route: options.route ?? fakeRoute(),
    service: options.service === undefined ? fakeService() : options.service,
    pathCaptures: options.pathCaptures ?? null,
    shared: new Map(Object.entries(options.shared ?? {})),
    identities: {
      namespace: options.namespace ?? null,
      credential<Name extends keyof ExchangeCredentials>(collection: Name, value: string) {
        const others: FakeCredentials = options.credentials ?? {};
        const list: Readonly<Record<string, object>> = others[collection] ?? {};
        const other = Object.hasOwn(list, value) ? list[value] : undefined;
        const found = collection === "keyauth_credentials" ? byHash.get(value) : other;
        return found as ExchangeCredentials[Name] | undefined;
      },
      whyInvalid: () => null,
      credentials: (_collection, name) =>
        options.subjectNames?.filter(({ subject_name }) => subject_name === name) ?? [],
      pluginIdentity: () => undefined,
      credentialById: (id) =>
        [
          Object.values(options.keys ?? {}),
          ...Object.values(options.credentials ?? {}).map((each) => Object.values(each)),
        ]
          .flat()
          .find((credential) => credential.id === id),
      groups: (consumerId) => options.groups?.[consumerId]?.map((group) => ({ group })) ?? [],
      consumer: (wanted) => options.consumers?.find(({ id, username }) => id === wanted || username === wanted),
      consumerByCustomId: (wanted) => options.consumers?.find(({ custom_id }) => custom_id === wanted),
      caCertificate: (wanted) => options.caCertificates?.find(({ id }) => id === wanted),
    },
    graphqlDocuments: (wanted) => options.graphqlDocuments?.find(({ id, name }) => id === wanted || name === wanted),
    consumer: options.consumer ?? null,
    credential: options.credential ?? null,
    authenticatedGroups: options.authenticatedGroups ?? null,
    anonymous: options.anonymous ?? false,
    upstreamHeaders,
    upstreamHeaderValues: (name) => upstreamHeaders.valuesOver(name, headers.get(name) ?? []),
    upstreamMethod: options.method ?? "GET",
    upstreamPath: null,
    convertsGrpc: false,
    upstreamQuery: options.query ?? "",
    responseHeaders,
    responseHeaderValues: (name) => responseHeaders.valuesOver(name, []),
    receivedHeaders: Object.entries(options.responseHeaders ?? {}).flat(),
    removeQuery: (names) => void removedQuery.push(...names),
    replaceBody: (replacement) => {
      replacedBody = replacement;
    },
    limitBody: (limit, refusal) =>
      Number(headers.get("content-length")?.[0] ?? body.length) > limit ? refusal : undefined,
    removedQuery,
    get replacedBody() {
      return replacedBody;
    },
    mirror: (request) => void mirrored.push(request),
    inspectMessages(inspector) {
      messageInspector = inspector;
    },
    get messageInspector() {
      return messageInspector;
    },
    mirrored,
    timings: options.timings ?? { started: 0 },
    attempts: options.attempts ?? [],
    status: options.status ?? 200,
    source: options.source ?? "service",
    bytesIn: options.bytesIn ?? 0,
    bytesOut: options.bytesOut ?? 0,
    setLogField: (name, value) => void logFields.set(name, value),
    logFields,
    logRecord: () => options.logRecord ?? "{}",
    logRecordBytes() {
      const bytes = Buffer.from(options.logRecord ?? "{}");
      return { bytes, length: bytes.length };
    },
  };
}

// For tests that read counters and metrics directly.
export { createCounters } from "../../gateway/src/counters/create-counters.ts";
export { createCountersMemory, SharedCounters } from "../../gateway/src/counters/shared-counters.ts";
export { printMetrics } from "../../gateway/src/metrics/testing-text.ts";
export { TestClock } from "../../gateway/src/plugin-harness/test-clock.ts";
export { createMetrics, ThreadConcurrency, ThreadCounters };
