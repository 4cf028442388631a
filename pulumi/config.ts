/** The config of a stack: read once and fully validated before anything is created. */
import { Config, getStack, type Output, RunError, runtime } from "@pulumi/pulumi";
import type { ValuesFault } from "./checks.ts";
import type { Release } from "./objects/names.ts";
import { checkRelease } from "./release.ts";

export interface SluiceConfig {
  readonly creates: "sluice";
  readonly release: Release;
  /** Whether the stack owns the namespace and deletes it on destroy. */
  readonly ownNamespace: boolean;
  /** Whether the gateway is public: then a Plugin must act on every Route. */
  readonly isPublic: boolean;
  /** The time limit for creating or changing one object, with its unit: `90s`. Unset: 5 minutes. */
  readonly timeout?: string;
  /** API key of the user API's first consumer. Unset: one is generated, unless an existing Secret has it. */
  readonly consumerKey?: Output<string>;
  /** Address of the user API's Postgres server, with user and password. Unset: the values of `postgres` apply. */
  readonly databaseUrl?: Output<string>;
  /** Password of the Redis server in `redis.host`. Unset: the values of `redis` apply. */
  readonly redisPassword?: Output<string>;
}

export interface CrdsConfig {
  readonly creates: "crds";
}

export type StackConfig = SluiceConfig | CrdsConfig;

interface Key {
  readonly expected: string;
  /**
   * The value in the suggested command. Secrets have no example: the command prompts for them, so that they stay out of
   * shell history.
   */
  readonly example?: string;
  readonly optional?: boolean;
  accepts(text: string): boolean;
}

const isName = (text: string): boolean => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);

/** Whether the value is encrypted in the config. Pulumi's types lack `isConfigSecret`. */
const isSecret = (key: string): boolean =>
  (runtime as typeof runtime & { isConfigSecret(key: string): boolean }).isConfigSecret(key);

const isBoolean = (text: string): boolean => text === "true" || text === "false";

/** The keys, besides `creates`, that are not values of the chart. */
const keys = {
  namespace: { expected: "the name of a namespace", example: "sluice", accepts: isName },
  name: { expected: "the prefix of the names of all objects", example: "sluice", optional: true, accepts: isName },
  ownNamespace: { expected: "true or false", example: "true", optional: true, accepts: isBoolean },
  public: { expected: "true or false", example: "true", optional: true, accepts: isBoolean },
  timeout: {
    expected: "a time such as 90s or 10m",
    example: "10m",
    optional: true,
    accepts: (text) => /^[1-9]\d{0,3}[sm]$/.test(text),
  },
  consumerKey: {
    expected: "an API key of at least 16 characters, as a secret",
    optional: true,
    accepts: (text) => text.trim().length >= 16,
  },
  databaseUrl: {
    expected: "postgres://user:password@host:port/database, as a secret",
    optional: true,
    accepts: (text) => /^postgres(ql)?:\/\/[^/]+\/.+$/.test(text),
  },
  redisPassword: {
    expected: "a password of letters and digits, as a secret",
    optional: true,
    accepts: (text) => /^[A-Za-z0-9]+$/.test(text),
  },
} satisfies Record<string, Key>;

/** Suffixes of the names of Secrets that the stack creates from secrets in its config. */
export const secretSuffixes = { database: "given-database", redis: "given-redis" } as const;

/**
 * Reads the config of the stack. `creates` is `sluice` (the default) or `crds`.
 *
 * @throws RunError with a line for each error: the key, the expected value, and the command that sets or removes it.
 */
export function loadConfig(config = new Config(), stack = getStack()): StackConfig {
  const creates = config.get("creates") ?? "sluice";
  if (creates === "crds") return { creates };
  const place = { config, stack };
  const name = config.get("name") ?? "sluice";
  const { release, faults } = checkRelease({
    name,
    namespace: config.get("namespace") ?? "",
    values: valuesOf(config, name),
  });
  const all = [
    ...(creates === "sluice" ? [] : [`${config.name}:creates: expected sluice or crds, not '${creates}'`]),
    ...Object.entries<Key>(keys).flatMap(([key, rule]) => faultOf(key, rule, place)),
    ...faults.map((fault) => valueFault(fault, place)),
  ];
  if (all.length > 0 || release === undefined) {
    throw new RunError([`The config of stack ${stack} has faults:`, ...all].join("\n  "));
  }
  return {
    creates: "sluice",
    release,
    ownNamespace: config.getBoolean("ownNamespace") ?? true,
    isPublic: config.getBoolean("public") ?? false,
    timeout: config.get("timeout"),
    consumerKey: config.getSecret("consumerKey"),
    databaseUrl: config.getSecret("databaseUrl"),
    redisPassword: config.getSecret("redisPassword"),
  };
}

/**
 * Values of the chart: all keys of the project except `creates` and those in `keys`. If the config has the URL of
 * Postgres or the password of Redis, the values also name the Secret that will hold it.
 */
function valuesOf(config: Config, release: string): Readonly<Record<string, unknown>> {
  const prefix = `${config.name}:`;
  const values = Object.entries(runtime.allConfig()).flatMap(([key, text]) => {
    const name = key.slice(prefix.length);
    if (!key.startsWith(prefix) || name === "creates" || Object.hasOwn(keys, name)) return [];
    return [[name, parsed(text)] as const];
  });
  const set: Readonly<Record<string, unknown>> = Object.fromEntries(values);
  const section = (name: string) => (typeof set[name] === "object" ? set[name] : {});
  return {
    ...set,
    ...(config.get("databaseUrl") === undefined
      ? {}
      : { postgres: { ...section("postgres"), existingSecret: `${release}-${secretSuffixes.database}` } }),
    ...(config.get("redisPassword") === undefined
      ? {}
      : { redis: { ...section("redis"), existingSecret: `${release}-${secretSuffixes.redis}` } }),
  };
}

/** Maps and lists are JSON, strings are literal. */
function parsed(text: string): unknown {
  if (!/^[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface Place {
  readonly config: Config;
  readonly stack: string;
}

function faultOf(name: string, key: Key, { config, stack }: Place): readonly string[] {
  const full = `${config.name}:${name}`;
  const value = key.example === undefined ? `--secret ${full}` : `${full} ${key.example}`;
  const fault = (found: string) => [
    `${full}: expected ${key.expected}, ${found}. Set it: pulumi config set --stack ${stack} ${value}`,
  ];
  const text = config.get(name);
  if (text === undefined) return key.optional ? [] : fault("but it is not set");
  if (key.example === undefined && !isSecret(full)) return fault("but it is in clear text in the stack's file");
  // The message does not quote a secret.
  if (!key.accepts(text)) return fault(key.example === undefined ? "but its value has another form" : `not '${text}'`);
  return [];
}

function valueFault({ path, message, surplus }: ValuesFault, { config, stack }: Place): string {
  const full = path === "" ? `${config.name}:name` : `${config.name}:${path}`;
  if (surplus) return `${full}: ${message}. Remove it: pulumi config rm --stack ${stack} --path '${full}'`;
  return `${full}: ${message}. Set it: pulumi config set --stack ${stack} --path ${full} VALUE`;
}
