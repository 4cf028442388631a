/** The config of a stack: read once, checked whole, and only then is anything created. */
import { Config, getStack, type Output, RunError, runtime } from "@pulumi/pulumi";
import type { Release } from "./objects/names.ts";
import { checkRelease, type Fault } from "./release.ts";

/** A stack with a whole Sluice. */
export interface SluiceConfig {
  readonly creates: "sluice";
  readonly release: Release;
  /** Whether the namespace is the stack's own: then it goes with it. */
  readonly ownNamespace: boolean;
  /** Whether people of anywhere reach it: then no Route may be without a Plugin. */
  readonly isPublic: boolean;
  /** How long the API server and the pods may take to create or change one object, with its unit: `90s`. Unset: 5 minutes. */
  readonly timeout?: string;
  /** API key of the user API's first consumer. Unset: one is made. */
  readonly consumerKey?: Output<string>;
  /** Address of the user API's Postgres server, with user and password. Unset: as the values say. */
  readonly databaseUrl?: Output<string>;
  /** Password of the Redis server that `redis.host` names. Unset: as the values say. */
  readonly redisPassword?: Output<string>;
}

/** A stack with the CRDs and nothing else. */
export interface CrdsConfig {
  readonly creates: "crds";
}

export type StackConfig = SluiceConfig | CrdsConfig;

interface Key {
  /** What a value must be, for the reader of an error. */
  readonly expected: string;
  /** For the command that sets it. A secret has none: the command asks for it, so that no shell remembers it. */
  readonly example?: string;
  readonly optional?: boolean;
  accepts(text: string): boolean;
}

const isName = (text: string): boolean => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);

/** Whether the config has the value encrypted. Pulumi has the function, and leaves it out of its types. */
const isSecret = (key: string): boolean =>
  (runtime as typeof runtime & { isConfigSecret(key: string): boolean }).isConfigSecret(key);

const isBoolean = (text: string): boolean => text === "true" || text === "false";

/** What is not a value of the chart. */
const keys = {
  namespace: { expected: "the name of a namespace", example: "sluice", accepts: isName },
  name: { expected: "what the names of all objects begin with", example: "sluice", optional: true, accepts: isName },
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

/** Names of Secrets that the stack makes of secrets in its config. */
export const given = { database: "given-database", redis: "given-redis" } as const;

/**
 * Reads the config of the stack. `creates` is `sluice` (also when unset) or `crds`.
 *
 * @throws RunError with every fault: which key of which stack, what is expected, and the command that sets it.
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

/** Values of the chart: every other key of the project, as JSON unless it is a text. */
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
      : { postgres: { ...section("postgres"), existingSecret: `${release}-${given.database}` } }),
    ...(config.get("redisPassword") === undefined
      ? {}
      : { redis: { ...section("redis"), existingSecret: `${release}-${given.redis}` } }),
  };
}

/** Maps and lists come as JSON, texts as they are. */
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
  if (key.example === undefined && !isSecret(full)) return fault("but it stands in clear in the stack's file");
  // A secret is not repeated.
  if (!key.accepts(text)) return fault(key.example === undefined ? "but it is something else" : `not '${text}'`);
  return [];
}

function valueFault({ path, message, surplus }: Fault, { config, stack }: Place): string {
  const full = path === "" ? `${config.name}:name` : `${config.name}:${path}`;
  if (surplus) return `${full}: ${message}. Remove it: pulumi config rm --stack ${stack} --path '${full}'`;
  return `${full}: ${message}. Set it: pulumi config set --stack ${stack} --path ${full} VALUE`;
}
