/**
 * The endpoints of the node itself. A call is a PluginEndpointCall whose plugin is NODE and whose path is one of
 * `nodePaths` (plugin-endpoint.ts).
 */
import {
  type Checked,
  choice,
  integer,
  nullable,
  record,
  type Static,
  type TypedSchema,
  text,
} from "@sluice/plugin-sdk";
import { fillDefaults } from "../check/fill-defaults.ts";
import { validate } from "../check/validate.ts";
import type { EntityName } from "./explain.ts";

export const recentRequestKinds = ["refused", "slow"] as const;

/** Which recent requests GET /requests lists. */
export const recentRequestFilterSchema = record(
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

/** @param parameters The query's parameters, as texts */
export const readRecentRequestFilter = (parameters: Parameters): Checked<RecentRequestFilter> =>
  readAs(recentRequestFilterSchema, withNumbers(parameters, "status", "size"));

/** @param parameters The query's parameters, as texts */
export const readLastUseFilter = (parameters: Parameters): Checked<LastUseFilter> =>
  readAs(lastUseFilterSchema, withNumbers(parameters, "unused_for", "size"));

export const readDebugTokenRequest = (value: unknown): Checked<Static<typeof debugTokenSchema>> =>
  readAs(debugTokenSchema, value ?? {});

type Parameters = Readonly<Record<string, string>>;

function readAs<Schema extends TypedSchema>(schema: Schema, given: unknown): Checked<Static<Schema>> {
  const filled = fillDefaults(schema, given);
  const violations = [...filled.unknown, ...validate(schema, filled.value)];
  return violations.length > 0 ? { violations } : { value: filled.value as Static<Schema> };
}

const withNumbers = (parameters: Parameters, ...names: readonly string[]) =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, names.includes(name) ? numberOr(value) : value]),
  );

const numberOr = (text: string): number | string => (/^\d{1,9}$/.test(text) ? Number(text) : text);

/** A request that the gateway refused, or whose response was slow. It holds no query, no body and no header. */
export interface RecentRequest {
  /** When the request ended, in ISO 8601. */
  readonly time: string;
  readonly request_id: string;
  readonly trace_id: string | null;
  /** `refused`: the gateway answered with a status of 400 or above. `slow`: the response began late. */
  readonly kind: (typeof recentRequestKinds)[number];
  /** A sentence for people. */
  readonly reason: string;
  readonly status: number;
  /** Null, like method, host and path: the request's head could not be read. */
  readonly client_address: string | null;
  readonly method: string | null;
  readonly host: string | null;
  readonly path: string | null;
  /** Null, like service: no route matched. */
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
export const lastUseFilterSchema = record(
  {
    unused_for: integer({ description: "Seconds without a use.", default: 0, minimum: 0, maximum: 3_153_600_000 }),
    size: integer({ description: "Maximum number of entities.", default: 100, minimum: 1, maximum: 1000 }),
  },
  { description: "Selects entities by their last use." },
);

export type LastUseFilter = Static<typeof lastUseFilterSchema>;

/** A worker's or a node's response to a call of `nodePaths.lastUses`, whose body is `{ collection }`. */
export interface LastUses {
  /** Unix time in seconds from which on uses are known. */
  readonly since: number;
  /** Unix time in seconds of the minute of the last use, by id. */
  readonly last_uses: Readonly<Record<string, number>>;
}

export const debugTokenSchema = record(
  {
    lifetime: integer({
      description: "Seconds for which the token is valid.",
      default: 300,
      minimum: 1,
      maximum: 3600,
    }),
  },
  { description: "A token with which a client gets the decisions and durations of its requests." },
);

/** The body of a call of `nodePaths.debugTokens`. */
export interface DebugTokenGrant {
  /** SHA-256 of the token, as hex digits. */
  readonly hash: string;
  /** Milliseconds for which the token is valid. */
  readonly lifetime: number;
}
