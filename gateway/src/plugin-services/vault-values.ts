/** Replaces references to vaults in the configs of plugins by values from the environment of the node. */
import {
  describeViolation,
  parseVaultReference,
  replaceReferences,
  type Vault,
  type VaultReference,
  variableOf,
  vaultKinds,
} from "@sluice/model/serving";
import type { PluginDefinition, Violation } from "@sluice/plugin-sdk";

/** The environment of the node, and the variables in it that references may read. */
export interface VaultEnvironment {
  /** Names of variables. A name that ends in `*` allows all variables that begin with the text before it. */
  readonly allowed: readonly string[];
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** Where the values of references come from. */
export interface VaultSources {
  readonly environment: VaultEnvironment;
  /** The vault with this prefix. */
  readonly vaultAt: (prefix: string) => Vault | undefined;
}

type Config = Parameters<PluginDefinition["phases"]>[0];

/**
 * The config with values in place of references; the same object if it has none.
 *
 * Throws if a value is missing or invalid. The message names the place and the vault or variable, never the value.
 */
export function withVaultValues(plugin: PluginDefinition, config: Config, sources: VaultSources): Config {
  const violations: Violation[] = [];
  const references: VaultReference[] = [];
  const replaced = replaceReferences(plugin.schema, config, (reference) => {
    references.push(reference);
    const { value = "", message } = readValue(reference, sources);
    if (message !== undefined) violations.push({ path: ["config", ...reference.path], message });
    return value;
  });
  if (references.length === 0) return config;
  if (violations.length === 0 && plugin.check)
    violations.push(...checkReplaced(plugin.check, replaced as Config, references));
  if (violations.length > 0) throw new Error(violations.map(describeViolation).join("; "));
  return replaced as Config;
}

/**
 * One violation for each reference if the plugin's check refuses the config. The check's own messages are not used,
 * because they may quote the value.
 */
function checkReplaced(
  check: NonNullable<PluginDefinition["check"]>,
  config: Config,
  references: readonly VaultReference[],
): readonly Violation[] {
  // As when a config is checked, packages in JavaScript may return nothing or a generator.
  const [found] = (check(config) as Iterable<Violation> | undefined) ?? [];
  if (found === undefined) return [];
  return references.map(({ path, text }) => ({
    path: ["config", ...path],
    message: `${text} has a value that is not valid here`,
  }));
}

interface FoundValue {
  readonly value?: string;
  readonly message?: string;
}

function readValue({ text, schema }: VaultReference, { environment, vaultAt }: VaultSources): FoundValue {
  const { value: address, violations } = parseVaultReference(text);
  if (address === undefined) return { message: violations.map(describeViolation).join("; ") };
  const { allowed, variables } = environment;
  const { vault: prefix, key } = address;
  const vault = vaultKinds.includes(prefix) ? undefined : vaultAt(prefix);
  if (vault === undefined && !vaultKinds.includes(prefix))
    return { message: `there is no vault with the prefix ${prefix}: create it, or refer to env instead` };
  const variable = variableOf(address, vault);
  if (!allowed.some((name) => isAllowed(variable, name)))
    return { message: `add ${variable} to SLUICE_VAULT_ENV, which names the variables that references may read` };
  const whole = Object.hasOwn(variables, variable) ? variables[variable] : undefined;
  if (whole === undefined) return { message: `the environment variable ${variable} is not set` };
  const value = key === null ? whole : memberIn(whole, key);
  if (value === undefined)
    return { message: `the environment variable ${variable} must contain a JSON object with the string member ${key}` };
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
  return value.length >= minLength && value.length <= maxLength
    ? { value }
    : {
        message: `${text} has a value of ${value.length} characters; expected at least ${minLength}, at most ${maxLength}`,
      };
}

const isAllowed = (variable: string, name: string): boolean =>
  name.endsWith("*") ? variable.startsWith(name.slice(0, -1)) : variable === name;

function memberIn(json: string, key: string): string | undefined {
  try {
    const data: unknown = JSON.parse(json);
    const value = Object.hasOwn(Object(data), key) ? Reflect.get(Object(data), key) : undefined;
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
