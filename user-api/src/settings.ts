/** Start-up settings, from the environment. */
import { levels } from "pino";
import { defaultLimits, defaultSubscriptionLimits, type Limits, type SubscriptionLimits } from "./limits/limits.ts";
import { type Access, accesses, type Policy } from "./policy/policy.ts";
import {
  address,
  anyText,
  duration,
  flag,
  integer,
  listen,
  oneOf,
  origins,
  type Reader,
  rules,
  secret,
  unknownVariables,
} from "./setting-readers.ts";

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
  readonly subscriptionLimits: SubscriptionLimits;
  /** Requests per minute and client; 0: unlimited. */
  readonly requestsPerMinute: number;
  readonly logLevel: string;
  /** The time for requests, sockets and streams to end after SIGTERM. */
  readonly drainMilliseconds: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The readers of limits, by the suffix of the variable's name. */
const limitReaders = {
  tokens: ["TOKENS", integer(100, 10_000)],
  depth: ["DEPTH", integer(1, 100)],
  aliases: ["ALIASES", integer(0, 1_000)],
  rootFields: ["ROOT_FIELDS", integer(1, 1_000)],
  cost: ["COST", integer(1, 1_000_000_000)],
  variablesDepth: ["VARIABLES_DEPTH", integer(1, 100)],
  bytes: ["REQUEST_BYTES", integer(1_024, 16 * 1024 * 1024)],
  receiveMilliseconds: ["RECEIVE_TIMEOUT", duration(100, 600_000)],
  milliseconds: ["TIMEOUT", duration(1, 600_000)],
  page: ["PAGE", integer(1, 100_000)],
} as const satisfies Record<keyof Limits, NumberSetting>;

/** The same for sockets and event streams. */
const subscriptionReaders = {
  connections: ["CONNECTIONS", integer(0, 1_000_000)],
  clientConnections: ["CLIENT_CONNECTIONS", integer(0, 1_000_000)],
  clientBytes: ["CLIENT_BYTES", integer(1_024, 1024 * 1024 * 1024)],
  operations: ["SOCKET_OPERATIONS", integer(1, 10_000)],
  operationBytes: ["OPERATION_QUEUE_BYTES", integer(1_024, 1024 * 1024 * 1024)],
  connectionBytes: ["QUEUE_BYTES", integer(1_024, 1024 * 1024 * 1024)],
  initMilliseconds: ["INIT_TIMEOUT", duration(1, 600_000)],
  heartbeatMilliseconds: ["HEARTBEAT_INTERVAL", duration(100, 600_000)],
} as const satisfies Record<keyof SubscriptionLimits, NumberSetting>;

type NumberSetting = readonly [suffix: string, reader: Reader<number>];

const PREFIX = "SLUICE_USER_API_";

/** The names of version 0.1 and the unit of their numbers. This version still reads them, with a warning. */
const formerNames: Readonly<Record<string, readonly [suffix: string, unit: string]>> = {
  RECEIVE_TIMEOUT: ["RECEIVE_MILLISECONDS", "ms"],
  TIMEOUT: ["TIMEOUT_MILLISECONDS", "ms"],
  INIT_TIMEOUT: ["INIT_MILLISECONDS", "ms"],
  HEARTBEAT_INTERVAL: ["HEARTBEAT_MILLISECONDS", "ms"],
  DRAIN_TIMEOUT: ["DRAIN_SECONDS", "s"],
};

export interface ReadOptions {
  /** Whether the command serves requests, so that settings about callers are required. */
  readonly serves: boolean;
}

/** Reads all settings, or reports every invalid and every unknown one. An empty variable counts as unset. */
export function readSettings(
  environment: Environment,
  options: ReadOptions = { serves: true },
):
  | { readonly settings: Settings /** About former names and values. */; readonly warnings: readonly string[] }
  | { readonly violations: readonly string[] } {
  const { settings, warnings, violations } = readEach(environment, options);
  return violations.length > 0 ? { violations } : { settings, warnings };
}

/** The names of all variables. */
export const variableNames = (): readonly string[] => readEach({}, { serves: false }).variables;

/** Names that are still read, with a warning. */
export const formerVariableNames: readonly string[] = Object.values(formerNames).map(([suffix]) => PREFIX + suffix);

interface EachRead {
  readonly settings: Settings;
  readonly warnings: readonly string[];
  readonly violations: readonly string[];
  readonly variables: readonly string[];
}

function readEach(environment: Environment, { serves }: ReadOptions): EachRead {
  const warnings: string[] = [];
  const violations: string[] = [];
  const variables: string[] = [];

  /** The variable that is set, by its present or its former name, and its text in the present form. */
  function find(suffix: string): readonly [variable: string, text: string] {
    const variable = PREFIX + suffix;
    const text = environment[variable] ?? "";
    const [formerSuffix = "", unit = ""] = formerNames[suffix] ?? [];
    const former = PREFIX + formerSuffix;
    const formerText = environment[former] ?? "";
    if (formerSuffix === "" || formerText === "") return [variable, text];
    if (text !== "") {
      warnings.push(`${former} is ignored, because ${variable} is set; the next version does not read it`);
      return [variable, text];
    }
    const present = /^\d+$/.test(formerText) ? formerText + unit : formerText;
    warnings.push(`${former} is now ${variable}, with a duration such as 30s; the next version does not read it`);
    return [former, present];
  }

  function read<Value, Default>(suffix: string, fallback: Default, reader: Reader<Value>): Value | Default {
    variables.push(PREFIX + suffix);
    const [variable, text] = find(suffix);
    if (text === "") return fallback;
    const result = reader(text);
    if ("expected" in result) {
      // Does not repeat the text, which may hold a password.
      violations.push(`${variable} must be ${result.expected}`);
      return fallback;
    }
    if (result.rewrite !== undefined) {
      warnings.push(`${variable} must be ${result.rewrite} instead of ${text}, which the next version does not read`);
    }
    return result.value;
  }

  function readNumbers<Name extends string>(
    settings: Readonly<Record<Name, NumberSetting>>,
    defaults: Readonly<Record<Name, number>>,
  ): Record<Name, number> {
    const names = Object.keys(settings) as Name[];
    const numbers = names.map((name) => [name, read(settings[name][0], defaults[name], settings[name][1])]);
    return Object.fromEntries(numbers) as Record<Name, number>;
  }

  const mode = read("MODE", "production", oneOf<Mode>(["production", "development"]));
  const development = mode === "development";
  const postgres = address(["postgres", "postgresql"], "postgres://user:password@host:port/database");
  const redis = address(["redis", "rediss"], "redis://host:port, or rediss:// for TLS");

  const settings: Settings = {
    mode,
    ...read("LISTEN", { host: "127.0.0.1", port: 4000 }, listen),
    databaseUrl: read("DATABASE_URL", undefined, postgres),
    dataFolder: read("DATA", undefined, anyText),
    migrate: read("MIGRATE", true, flag),
    redisUrl: read("REDIS_URL", undefined, redis),
    redisPrefix: read("REDIS_PREFIX", "sluice-user-api", anyText),
    trustedCertificates: read("TRUSTED_CERTIFICATES", undefined, anyText),
    gatewaySecret: read("GATEWAY_SECRET", undefined, secret),
    policy: {
      access: read<Access, Access>("ACCESS", development ? "open" : "authenticated", oneOf(accesses)),
      rules: read("POLICY", {}, rules),
    },
    origins: read("ORIGINS", [], origins),
    introspection: read("INTROSPECTION", development, flag),
    graphiql: read("GRAPHIQL", development, flag),
    trustedDocuments: read("TRUSTED_DOCUMENTS", undefined, anyText),
    limits: readNumbers(limitReaders, defaultLimits),
    subscriptionLimits: readNumbers(
      subscriptionReaders,
      development ? { ...defaultSubscriptionLimits, clientConnections: 0 } : defaultSubscriptionLimits,
    ),
    requestsPerMinute: read("REQUESTS_PER_MINUTE", development ? 0 : 600, integer(0, 1_000_000)),
    logLevel: read("LOG_LEVEL", "info", oneOf([...Object.values(levels.labels), "silent"])),
    drainMilliseconds: read("DRAIN_TIMEOUT", 10_000, duration(0, 3_600_000)),
  };
  if (serves && !development && settings.gatewaySecret === undefined && violations.length === 0) {
    violations.push(
      "SLUICE_USER_API_GATEWAY_SECRET must be set: only requests that carry it are answered. " +
        "SLUICE_USER_API_MODE=development also answers programs on this machine without it",
    );
  }
  violations.push(...unknownVariables(environment, { known: variables, former: formerVariableNames }));
  return { settings, warnings, violations, variables };
}
