/** Start-up settings, from the environment. */
import { levels } from "pino";
import { limitSettings, mapSettings, type NumberSetting, subscriptionLimitSettings } from "./limits/limits.ts";
import { type LogOutputFormat, logOutputFormats } from "./operations/text-log.ts";
import { type AccessMode, accessModes } from "./policy/policy.ts";
import {
  accessRulesReader,
  addressReader,
  booleanValue,
  duration,
  listenAddress,
  originsReader,
  type SettingReader,
  sharedSecret,
  textReader,
  unknownVariables,
  wholeNumber,
  wordReader,
} from "./setting-readers.ts";

/** `production`: only the gateway is served, and no internals are exposed. `development`: loopback is served too. */
export type Mode = "production" | "development";

export type Settings = EachRead["settings"];

type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = "SLUICE_USER_API_";

/** By current name: the name in version 0.1, which is still read with a warning, and the unit of its number. */
const formerNames: Readonly<Record<string, readonly [suffix: string, unit: string]>> = {
  RECEIVE_TIMEOUT: ["RECEIVE_MILLISECONDS", "ms"],
  TIMEOUT: ["TIMEOUT_MILLISECONDS", "ms"],
  INIT_TIMEOUT: ["INIT_MILLISECONDS", "ms"],
  HEARTBEAT_INTERVAL: ["HEARTBEAT_MILLISECONDS", "ms"],
  DRAIN_TIMEOUT: ["DRAIN_SECONDS", "s"],
};

export interface ReadOptions {
  /** Whether the command serves requests: only then is the gateway's secret required in production. */
  readonly serves: boolean;
}

/** Reads all settings, or reports every invalid and every unknown one. An empty variable counts as unset. */
export function readSettings(
  environment: Environment,
  options: ReadOptions = { serves: true },
):
  | { readonly settings: Settings /** One for each former name or value. */; readonly warnings: readonly string[] }
  | { readonly violations: readonly string[] } {
  const { settings, warnings, violations } = readEach(environment, options);
  return violations.length > 0 ? { violations } : { settings, warnings };
}

export const variableNames = (): readonly string[] => readEach({}, { serves: false }).variables;

/** Names that are still read, with a warning. */
export const formerVariableNames: readonly string[] = Object.values(formerNames).map(([suffix]) => PREFIX + suffix);

type EachRead = ReturnType<typeof readEach>;

function readEach(environment: Environment, { serves }: ReadOptions) {
  const warnings: string[] = [];
  const violations: string[] = [];
  const variables: string[] = [];

  /**
   * The variable to read, and its text in the current form ("" if it is unset). The variable with the former name is
   * read only if the variable with the current name is unset.
   */
  function find(suffix: string): readonly [variable: string, text: string] {
    const variable = PREFIX + suffix;
    const text = environment[variable] ?? "";
    const [formerSuffix = "", unit = ""] = formerNames[suffix] ?? [];
    const former = PREFIX + formerSuffix;
    const formerText = environment[former] ?? "";
    if (formerSuffix === "" || formerText === "") return [variable, text];
    if (text !== "") {
      warnings.push(`${former} is ignored, because ${variable} is set; the next version does not read the former name`);
      return [variable, text];
    }
    const present = /^\d+$/.test(formerText) ? formerText + unit : formerText;
    const now = `${variable}, with a duration such as 30s`;
    warnings.push(`${former} is now ${now}; the next version does not read the former name`);
    return [former, present];
  }

  function read<Value, Default>(suffix: string, fallback: Default, reader: SettingReader<Value>): Value | Default {
    variables.push(PREFIX + suffix);
    const [variable, text] = find(suffix);
    if (text === "") return fallback;
    const result = reader(text);
    if ("expected" in result) {
      // The message does not repeat the text, which may hold a password.
      violations.push(`${variable} must be ${result.expected}`);
      return fallback;
    }
    if (result.rewrite !== undefined) {
      warnings.push(`${variable} must be ${result.rewrite} instead of ${text}, which the next version does not accept`);
    }
    return result.value;
  }

  const readNumber = ({ suffix, standard, min, max, duration: isDuration = false }: NumberSetting): number =>
    read(suffix, standard, (isDuration ? duration : wholeNumber)(min, max));

  const mode = read("MODE", "production", wordReader<Mode>(["production", "development"]));
  const development = mode === "development";
  const postgres = addressReader(["postgres", "postgresql"], "postgres://user:password@host:port/database");
  const redis = addressReader(["redis", "rediss"], "redis://host:port, or rediss:// for TLS");

  const subscriptionLimits = development
    ? {
        ...subscriptionLimitSettings,
        clientConnections: { ...subscriptionLimitSettings.clientConnections, standard: 0 },
      }
    : subscriptionLimitSettings;

  const settings = {
    mode,
    ...read("LISTEN", { host: "127.0.0.1", port: 4000 }, listenAddress),
    /** A database server. Unset: PGlite. */
    databaseUrl: read("DATABASE_URL", undefined, postgres),
    /** PGlite's folder. Unset: in memory. */
    dataFolder: read("DATA", undefined, textReader),
    migrate: read("MIGRATE", true, booleanValue),
    /** Redis for the events and the rate counters of several replicas. Unset: counters are per process. */
    redisUrl: read("REDIS_URL", undefined, redis),
    /** Prefix of channels and counters in Redis. */
    redisPrefix: read("REDIS_PREFIX", "sluice-user-api", textReader),
    /** PEM file of authorities to trust for Redis and Postgres, in addition to those of Node. */
    trustedCertificates: read("TRUSTED_CERTIFICATES", undefined, textReader),
    /** The secret that the gateway sends in X-Gateway-Secret. Unset: consumer headers are ignored. */
    gatewaySecret: read("GATEWAY_SECRET", undefined, sharedSecret),
    policy: {
      access: read<AccessMode, AccessMode>("ACCESS", development ? "open" : "authenticated", wordReader(accessModes)),
      rules: read("POLICY", {}, accessRulesReader),
    },
    /** Origins of other sites that are treated like our own; `*` for all. */
    origins: read<readonly string[], readonly string[]>("ORIGINS", [], originsReader),
    introspection: read("INTROSPECTION", development, booleanValue),
    graphiql: read("GRAPHIQL", development, booleanValue),
    /** If set, the file with the only documents that are executed. */
    trustedDocuments: read("TRUSTED_DOCUMENTS", undefined, textReader),
    limits: mapSettings(limitSettings, readNumber),
    subscriptionLimits: mapSettings(subscriptionLimits, readNumber),
    /** Requests per minute and client; 0: unlimited. */
    requestsPerMinute: read("REQUESTS_PER_MINUTE", development ? 0 : 600, wholeNumber(0, 1_000_000)),
    logLevel: read("LOG_LEVEL", "info", wordReader([...Object.values(levels.labels), "silent"])),
    logFormat: read<LogOutputFormat, LogOutputFormat>("LOG_FORMAT", "auto", wordReader(logOutputFormats)),
    /** The time for requests, sockets and streams to end after SIGTERM. */
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
