/** The config of a stack: read once, checked whole, and only then is anything created. */
import { Config, getStack, type Output, RunError } from "@pulumi/pulumi";
import { checkEntity } from "@sluice/model";

/** A stack with the custom resources of the user API. */
export interface UsersConfig {
  readonly creates: "users";
  /** The namespace of all resources. */
  readonly namespace: string;
  /** Where the gateway's nodes reach the user API: protocol, host and port. */
  readonly userApiUrl: string;
  /** How many requests a consumer may send in a minute. */
  readonly requestsPerMinute: number;
  /** The key of the consumer demo. */
  readonly demoKey: Output<string>;
}

/** A stack with the CRDs and nothing else. */
export interface CrdsConfig {
  readonly creates: "crds";
}

export type StackConfig = UsersConfig | CrdsConfig;

interface Key {
  /** What a value must be, for the reader of an error. */
  readonly expected: string;
  /** For the command that sets it. A secret has none: the command asks for it, so that no shell remembers it. */
  readonly example?: string;
  accepts(text: string): boolean;
}

const keys = {
  namespace: {
    expected: "the name of a namespace",
    example: "default",
    accepts: (text) => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text),
  },
  userApiUrl: {
    expected: "a URL",
    example: "http://users.default.svc:4000",
    accepts: (url) => checkEntity("services", { name: "users", url }).violations === undefined,
  },
  requestsPerMinute: {
    expected: "a whole number from 1 on",
    example: "60",
    accepts: (text) => /^[1-9][0-9]{0,14}$/.test(text),
  },
  demoKey: {
    expected: "the API key of the consumer demo, as a secret",
    accepts: (text) => text.trim() !== "",
  },
} satisfies Record<string, Key>;

/**
 * Reads the config of the stack. `creates` is `users` (also when unset) or `crds`.
 *
 * @throws RunError with every fault: which key of which stack, what is expected, and the command that sets it.
 */
export function loadConfig(config = new Config(), stack = getStack()): StackConfig {
  const creates = config.get("creates") ?? "users";
  if (creates === "crds") return { creates };
  const faults = [
    ...(creates === "users" ? [] : [`${config.name}:creates: expected users or crds, not '${creates}'`]),
    ...Object.entries<Key>(keys).flatMap(([name, key]) => faultOf(name, key, { config, stack })),
  ];
  if (faults.length > 0) throw new RunError([`The config of stack ${stack} has faults:`, ...faults].join("\n  "));
  return {
    creates: "users",
    namespace: config.require("namespace"),
    userApiUrl: config.require("userApiUrl"),
    requestsPerMinute: config.requireNumber("requestsPerMinute"),
    demoKey: config.requireSecret("demoKey"),
  };
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
  if (text === undefined) return fault("but it is not set");
  if (!key.accepts(text)) return fault(key.example === undefined ? "but it is empty" : `not '${text}'`);
  return [];
}
