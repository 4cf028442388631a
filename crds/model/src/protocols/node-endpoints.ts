/**
 * The endpoints of the node itself. A call is a PluginEndpointCall whose plugin is NODE and whose path is one of
 * `nodePaths` (plugin-endpoint.ts).
 */
import { type Checked, choice, integer, nullable, record, type Static, text } from "@sluice/plugin-sdk";
import { checkValue } from "./check-value.ts";
import type { EntityName } from "./explain.ts";

const recentRequestKinds = ["refused", "failed", "slow"] as const;

/** Which recent requests GET /requests lists. */
const recentRequestFilterSchema = record(
  {
    kind: nullable(choice(recentRequestKinds, { description: "Why the request is listed." })),
    route: nullable(text({ description: "Id or name of its route." })),
    service: nullable(text({ description: "Id or name of its service." })),
    consumer: nullable(text({ description: "Id or username of its consumer." })),
    plugin: nullable(text({ description: "Id or name of the plugin that answered it." })),
    status: nullable(integer({ description: "Status of its response.", minimum: 100, maximum: 599 })),
    size: integer({ description: "Maximum number of requests.", default: 100, minimum: 1, maximum: 1000 }),
  },
  { description: "Selects recent requests." },
);

export type RecentRequestFilter = Static<typeof recentRequestFilterSchema>;

/** @param parameters The query's parameters, as strings */
export const readRecentRequestFilter = (parameters: Parameters): Checked<RecentRequestFilter> =>
  checkValue(recentRequestFilterSchema, withNumbers(parameters, "status", "size"));

/** @param parameters The query's parameters, as strings */
export const readLastUseFilter = (parameters: Parameters): Checked<LastUseFilter> =>
  checkValue(lastUseFilterSchema, withNumbers(parameters, "unused_for", "size"));

/** @param parameters The query's parameters, as strings */
export const readRequestWatch = (parameters: Parameters): Checked<RequestWatch> =>
  checkValue(requestWatchSchema, withNumbers(parameters, "status", "min_latency"));

/** @param parameters The query's parameters, as strings */
export const readTrafficFilter = (parameters: Parameters): Checked<TrafficFilter> =>
  checkValue(trafficFilterSchema, withNumbers(parameters, "size"));

export const readDebugTokenRequest = (value: unknown): Checked<Static<typeof debugTokenSchema>> =>
  checkValue(debugTokenSchema, value ?? {});

type Parameters = Readonly<Record<string, string>>;

const withNumbers = (parameters: Parameters, ...names: readonly string[]) =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, names.includes(name) ? numberOr(value) : value]),
  );

const numberOr = (text: string): number | string => (/^\d{1,10}$/.test(text) ? Number(text) : text);

/**
 * A request that the gateway refused, that the service answered with an error, or whose response was slow. It contains
 * no query, no body and no header.
 */
export interface RecentRequest {
  /** When the request ended, in ISO 8601. */
  readonly time: string;
  readonly request_id: string;
  readonly trace_id: string | null;
  /**
   * `refused`: the gateway answered with a status of 400 or above. `failed`: the service answered with a status of 500
   * or above. `slow`: the response began late.
   */
  readonly kind: (typeof recentRequestKinds)[number];
  /** A sentence for people. */
  readonly reason: string;
  readonly status: number;
  /** Null if the request's head could not be read; then method, host and path are null too. */
  readonly client_address: string | null;
  readonly method: string | null;
  readonly host: string | null;
  readonly path: string | null;
  /** Null if no route matched; then service is null too. */
  readonly route: EntityName | null;
  readonly service: EntityName | null;
  readonly consumer: EntityName | null;
  /** The plugin that answered; null: none did. */
  readonly plugin: EntityName | null;
  /** The address of the last attempt; null: the request was not forwarded. */
  readonly target: string | null;
  readonly tries: number;
  /** Milliseconds. `upstream` is null if no response arrived from the service. */
  readonly latencies: { readonly request: number; readonly gateway: number; readonly upstream: number | null };
}

/** A worker's or a node's response to a call of `nodePaths.recentRequests`. */
export interface RecentRequests {
  /** Newest first. */
  readonly requests: readonly RecentRequest[];
}

/** Collections whose last use nodes remember. */
export const usedCollections = ["routes", "consumers", "credentials"] as const;

export type UsedCollection = (typeof usedCollections)[number];

/** Which entities GET /usage/{collection} lists. */
const lastUseFilterSchema = record(
  {
    unused_for: integer({ description: "Seconds without a use.", default: 0, minimum: 0, maximum: 3_153_600_000 }),
    size: integer({ description: "Maximum number of entities.", default: 100, minimum: 1, maximum: 1000 }),
  },
  { description: "Selects entities by their last use." },
);

type LastUseFilter = Static<typeof lastUseFilterSchema>;

/** A worker's or a node's response to a call of `nodePaths.lastUses`, whose body is `{ collection }`. */
export interface LastUses {
  /** Unix time in seconds since which uses have been recorded. */
  readonly since: number;
  /** Unix time in seconds of the minute of the last use, by id. */
  readonly last_uses: Readonly<Record<string, number>>;
}

const trafficSubjects = ["routes", "services", "consumers", "operations"] as const;

/** Which counts GET /traffic lists. */
const trafficFilterSchema = record(
  {
    by: choice(trafficSubjects, {
      description: "The kind of entities by which requests are counted.",
      default: "routes",
    }),
    size: integer({ description: "Maximum number of entries.", default: 100, minimum: 1, maximum: 1000 }),
  },
  { description: "Selects counts of requests." },
);

export type TrafficFilter = Static<typeof trafficFilterSchema>;

/** The requests of an entity, or all requests, in one interval. */
export interface TrafficCounts {
  /** Null: all requests, including those that matched no route. */
  readonly entity: EntityName | null;
  /** The service of a route; null for a consumer, and for a route without a service. */
  readonly service: EntityName | null;
  readonly requests: number;
  /** Responses with a status from 400 to 499. */
  readonly client_errors: number;
  /** Responses with a status of 500 or above. */
  readonly server_errors: number;
  /** Responses of the gateway itself with a status of 400 or above; also counted as errors. */
  readonly refused: number;
  /** Durations until the response began, as a histogram: indexes of buckets with counts. */
  readonly latencies: readonly (readonly [bucket: number, count: number])[];
}

/** The requests in which a plugin has recognized this operation. Latencies are measured until the response ends. */
export interface OperationTraffic extends TrafficCounts {
  /** A word of the protocol, such as `query`. */
  readonly type: string;
  /** Tells operations with one name apart. Absent: the node's version of Sluice does not. */
  readonly hash?: string;
  /** Operations that failed according to the status or the body of the response. */
  readonly failed: number;
}

/** A worker's or a node's response to a call of `nodePaths.traffic`: the last complete interval. */
export interface Traffic {
  /** Seconds of the interval. */
  readonly seconds: number;
  readonly total: TrafficCounts;
  readonly routes: readonly TrafficCounts[];
  readonly consumers: readonly TrafficCounts[];
  /** The `entity` has the name of the operation. Absent: the node's version of Sluice does not count them. */
  readonly operations?: readonly OperationTraffic[];
}

/** The requests that GET /access-log reports. */
const requestWatchSchema = record(
  {
    watch: text({ description: "Id of the watch.", maxLength: 64 }),
    route: nullable(text({ description: "Id or name of the route." })),
    service: nullable(text({ description: "Id or name of the service." })),
    consumer: nullable(text({ description: "Id or username of the consumer." })),
    status: nullable(integer({ description: "Status, such as 404, or a class, such as 4.", minimum: 1, maximum: 599 })),
    min_latency: integer({ description: "Milliseconds.", default: 0, minimum: 0, maximum: 3_600_000 }),
  },
  { description: "Selects requests to watch." },
);

export type RequestWatch = Static<typeof requestWatchSchema>;

/** A record of the access log, without the query, and with the host. */
export interface WatchedRequest {
  /** When the request ended, in ISO 8601. */
  readonly time: string;
  readonly request_id: string;
  readonly [member: string]: unknown;
}

/** A worker's or a node's response to a call of `nodePaths.watchedRequests`. */
export interface WatchedRequests {
  readonly requests: readonly WatchedRequest[];
  /** The number of requests that were not recorded, because there were too many. */
  readonly missed: number;
  /** Whether a worker did not begin the watch, because too many watches are open. */
  readonly is_full: boolean;
}

const debugTokenSchema = record(
  {
    lifetime: integer({
      description: "Seconds for which the token is valid.",
      default: 300,
      minimum: 1,
      maximum: 3600,
    }),
  },
  { description: "A token. The response to a request with it contains the gateway's decisions and durations." },
);

/** The body of a call of `nodePaths.debugTokens`. */
export interface DebugTokenGrant {
  /** SHA-256 of the token, as hex digits. */
  readonly hash: string;
  /** Milliseconds for which the token is valid. */
  readonly lifetime: number;
}
