/** Start-up settings, from the environment. */
import { levels } from "pino";
import { defaultLimits, type Limits } from "./limits/limits.ts";
import type { Access, Policy } from "./policy/policy.ts";
import {
  access,
  address,
  anyText,
  integer,
  listen,
  oneOf,
  onOrOff,
  origins,
  type Reader,
  rules,
  secret,
} from "./setting-readers.ts";
import { defaultLiveLimits, type LiveLimits } from "./subscriptions/live-limits.ts";
import { unknownVariables } from "./unknown-variables.ts";

/** `production`: only the gateway is served, and no internals are exposed. `development`: loopback is served too. */
export type Mode = "production" | "development";

export interface Settings {
  readonly mode: Mode;
  readonly host: string;
  readonly port: number;
  /** A database server. Unset: PGlite. */
  readonly databaseUrl: string | undefined;
  /** PGlite's folder. Unset: in memory. */
  readonly dataFolder: string | undefined;
  /** Whether the tables are migrated at start. */
  readonly migrate: boolean;
  /** Redis for events and rate counters of several replicas. */
  readonly redisUrl: string | undefined;
  /** Prefix of channels and counters in Redis. */
  readonly redisPrefix: string;
  /** PEM file of authorities to trust for Redis and Postgres, in addition to those of Node. */
  readonly trustedCertificates: string | undefined;
  /** The secret that the gateway sends in X-Gateway-Secret. */
  readonly gatewaySecret: string | undefined;
  readonly policy: Policy;
  /** Other origins from which browsers may send requests without a consumer; `*` for all. */
  readonly origins: readonly string[];
  readonly introspection: boolean;
  readonly graphiql: boolean;
  /** If set, the file with the only documents that are executed. */
  readonly trustedDocuments: string | undefined;
  readonly limits: Limits;
  /** Limits for subscribers. */
  readonly live: LiveLimits;
  /** Requests per minute and client; 0: unlimited. */
  readonly requestsPerMinute: number;
  readonly logLevel: string;
  readonly drainSeconds: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Limits by the suffix of their variable's name, with the least and the greatest value. */
const ranges = {
  tokens: ["TOKENS", 100, 10_000],
  depth: ["DEPTH", 1, 100],
  aliases: ["ALIASES", 0, 1_000],
  rootFields: ["ROOT_FIELDS", 1, 1_000],
  cost: ["COST", 1, 1_000_000_000],
  variablesDepth: ["VARIABLES_DEPTH", 1, 100],
  bytes: ["REQUEST_BYTES", 1_024, 16 * 1024 * 1024],
  receiveMilliseconds: ["RECEIVE_MILLISECONDS", 100, 600_000],
  milliseconds: ["TIMEOUT_MILLISECONDS", 1, 600_000],
  page: ["PAGE", 1, 100_000],
} as const satisfies Record<keyof Limits, readonly [string, number, number]>;

/** The same for sockets and event streams. */
const liveRanges = {
  connections: ["CONNECTIONS", 0, 1_000_000],
  clientConnections: ["CLIENT_CONNECTIONS", 0, 1_000_000],
  clientBytes: ["CLIENT_BYTES", 1_024, 1024 * 1024 * 1024],
  operations: ["SOCKET_OPERATIONS", 1, 10_000],
  operationBytes: ["OPERATION_QUEUE_BYTES", 1_024, 1024 * 1024 * 1024],
  connectionBytes: ["QUEUE_BYTES", 1_024, 1024 * 1024 * 1024],
  initMilliseconds: ["INIT_MILLISECONDS", 1, 600_000],
  heartbeatMilliseconds: ["HEARTBEAT_MILLISECONDS", 100, 600_000],
} as const satisfies Record<keyof LiveLimits, readonly [string, number, number]>;

export interface ReadOptions {
  /** Whether the command serves requests, so that settings about callers are required. */
  readonly serves: boolean;
}

/** Reads all settings, or reports every invalid and every unknown one. An empty variable counts as unset. */
export function readSettings(
  environment: Environment,
  options: ReadOptions = { serves: true },
): { readonly settings: Settings } | { readonly violations: readonly string[] } {
  const { settings, violations } = readEach(environment, options);
  return violations.length > 0 ? { violations } : { settings };
}

/** The names of all variables. */
export const variableNames = (): readonly string[] => readEach({}, { serves: false }).variables;

interface EachRead {
  readonly settings: Settings;
  readonly violations: readonly string[];
  readonly variables: readonly string[];
}

function readEach(environment: Environment, { serves }: ReadOptions): EachRead {
  const violations: string[] = [];
  const variables: string[] = [];
  function read<Value, Default>(name: string, fallback: Default, reader: Reader<Value>): Value | Default {
    const variable = `SLUICE_USER_API_${name}`;
    variables.push(variable);
    const text = environment[variable];
    if (text === undefined || text === "") return fallback;
    const result = reader(text);
    if ("value" in result) return result.value;
    // Does not repeat the text, which may hold a password.
    violations.push(`${variable} must be ${result.expected}`);
    return fallback;
  }

  const mode = read("MODE", "production", oneOf<Mode>(["production", "development"]));
  const development = mode === "development";
  function readNumbers<Name extends string>(
    table: Readonly<Record<Name, readonly [string, number, number]>>,
    defaults: Readonly<Record<Name, number>>,
  ): Record<Name, number> {
    const readOne = ([name, min, max]: readonly [string, number, number], fallback: number): number =>
      read(name, fallback, integer(min, max));
    const names = Object.keys(table) as Name[];
    return Object.fromEntries(names.map((name) => [name, readOne(table[name], defaults[name])])) as Record<
      Name,
      number
    >;
  }
  const postgres = address(["postgres", "postgresql"], "postgres://user:password@host:port/database");
  const redis = address(["redis", "rediss"], "redis://host:port, or rediss:// for TLS");

  const settings: Settings = {
    mode,
    ...read("LISTEN", { host: "127.0.0.1", port: 4000 }, listen),
    databaseUrl: read("DATABASE_URL", undefined, postgres),
    dataFolder: read("DATA", undefined, anyText),
    migrate: read("MIGRATE", true, onOrOff),
    redisUrl: read("REDIS_URL", undefined, redis),
    redisPrefix: read("REDIS_PREFIX", "sluice-user-api", anyText),
    trustedCertificates: read("TRUSTED_CERTIFICATES", undefined, anyText),
    gatewaySecret: read("GATEWAY_SECRET", undefined, secret),
    policy: {
      access: read<Access, Access>("ACCESS", development ? "open" : "authenticated", access),
      rules: read("POLICY", {}, rules),
    },
    origins: read("ORIGINS", [], origins),
    introspection: read("INTROSPECTION", development, onOrOff),
    graphiql: read("GRAPHIQL", development, onOrOff),
    trustedDocuments: read("TRUSTED_DOCUMENTS", undefined, anyText),
    limits: readNumbers(ranges, defaultLimits),
    live: readNumbers(liveRanges, development ? { ...defaultLiveLimits, clientConnections: 0 } : defaultLiveLimits),
    requestsPerMinute: read("REQUESTS_PER_MINUTE", development ? 0 : 600, integer(0, 1_000_000)),
    logLevel: read("LOG_LEVEL", "info", oneOf([...Object.values(levels.labels), "silent"])),
    drainSeconds: read("DRAIN_SECONDS", 10, integer(0, 3_600)),
  };
  if (serves && !development && settings.gatewaySecret === undefined && violations.length === 0) {
    violations.push(
      "SLUICE_USER_API_GATEWAY_SECRET must be set: only requests that show it are answered. " +
        "SLUICE_USER_API_MODE=development answers programs of this machine without it",
    );
  }
  violations.push(...unknownVariables(environment, variables));
  return { settings, violations, variables };
}
