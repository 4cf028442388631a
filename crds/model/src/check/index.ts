/** Validates entities: turns plain data into an entity with defaults, or all of its violations in Kong's wording. */

import { type Checked, isRecord, memberSchemaOf, type SchemaNode, type Violation } from "@sluice/plugin-sdk";
import { type Collection, type Entities, entities, isSecretLookup } from "../entities/index.ts";
import { derivedIdOf } from "../ids.ts";
import { type ConfigFacts, credentialFactsOf, pluginNamed } from "../plugins/index.ts";
import { parseVaultReference, vaultReferencesIn } from "../plugins/vault-references.ts";
import { closedCredential, closedPlugin } from "./close-plugin.ts";
import { configSizeMessage } from "./config-size.ts";
import { type AllowedExtras, type CheckedExtras, checkExtras, checkPriority } from "./extras.ts";
import { fillDefaults } from "./fill-defaults.ts";
import { pluginName } from "./rules/entities.ts";
import { expandConfig, expandEntity } from "./shorthand.ts";
import { validateValue } from "./validate.ts";

export interface CheckOptions {
  /** Unix time in seconds for timestamps that are unset. Default 0, so that the same input gives the same entity. */
  readonly now?: number;
  /**
   * Whether the entity is in a database shared by all nodes: rate-limiting and response-ratelimiting may then have the
   * policy `cluster`. Default false.
   */
  readonly database?: boolean;
  /**
   * Whether a plugin that protects, or may protect, is marked as unavailable instead of rejected if this version cannot
   * read it. The same applies to plugins' credentials. Meant for entities that a newer version may have written, not
   * for entities that users send. Default false.
   */
  readonly closePlugins?: boolean;
}

/** An entity with defaults; an entity of a collection in `AllowedExtras` may have `_sluice`. */
export type CheckedEntity<Name extends Collection> = Entities[Name] &
  (Name extends keyof AllowedExtras ? { readonly _sluice?: AllowedExtras[Name] } : unknown);

type Members = Readonly<Record<string, unknown>>;

/** Kong allows these members in an entity and stores neither. */
const REMARKS = new Set(["_comment", "_ignore"]);

/**
 * Validates one flat entity: snake_case members, null or absent for unset, references as `{ id }`.
 *
 * A `url` is split, every member gets its default or null, a missing id is derived (ids.ts), and a plugin's config gets
 * the defaults of the plugin's schema. A plugin marked by `_sluice.unavailable` never runs, so it may be unknown to
 * this version, and an invalid config is replaced by an empty one. A plugin's credential that is marked in this way
 * keeps its config. If requests identify a credential by a key, the entity must have this key, or the key's hash in
 * `_sluice`: the caller generates a missing key.
 */
export function checkEntity<Name extends Collection>(
  collection: Name,
  raw: unknown,
  options: CheckOptions = {},
): Checked<CheckedEntity<Name>> {
  const { now = 0, database = false, closePlugins = false } = options;
  if (!isRecord(raw)) return { violations: [{ path: [], message: "expected a record" }] };
  const { extras, ...ours } = checkExtras(collection, own(raw, "_sluice"));
  const { members, ...shorthand } = expandEntity(
    collection,
    without(raw, (name) => name === "_sluice" || REMARKS.has(name)),
  );

  const schema = schemaFor(collection, extras);
  const filled = fillDefaults(schema, withTimes(schema, members, now));
  const config = checkConfigOf(collection, filled.value as Members, { extras, database });
  const entity: Members = { ...(filled.value as Members), ...(config?.value ? { config: config.value } : {}) };
  const withId = { ...entity, id: entity.id ?? derivedIdOf(collection, entity) };

  const violations = [
    ...ours.violations,
    ...shorthand.violations,
    ...filled.unknown,
    ...validateValue(schema, withId).filter((violation) => !isUnknownPlugin(violation, extras, entity)),
    ...(config?.violations ?? []),
    ...(isSecretLookup(collection) ? checkSecret(collection, { entity, extras }) : []),
    ...(collection === "routes" ? checkPriority(entity.hosts, extras) : []),
  ];
  if (violations.length > 0) {
    const close = closePlugins && extras?.unavailable === undefined ? closing[collection] : undefined;
    const closed = close?.(raw, violations);
    return closed === undefined ? { violations } : checkEntity(collection, closed, options);
  }
  // The schema's validation guarantees this type.
  return { value: { ...withId, ...(extras && { _sluice: extras }) } as unknown as CheckedEntity<Name> };
}

const listenerRouteSchema = { ...entities.routes.schema, rule: "listener-route" };

/** Routes of the document's listeners may have protocols that the node's own listeners do not serve. */
const schemaFor = (collection: Collection, extras: CheckedExtras["extras"]) =>
  collection === "routes" && extras?.listeners !== undefined ? listenerRouteSchema : entities[collection].schema;

/**
 * Functions by collection: each returns an entity that this version cannot read, marked as unavailable, or undefined if
 * the entity stays refused.
 */
const closing: {
  readonly [Name in Collection]?: (raw: Members, violations: readonly Violation[]) => Members | undefined;
} = { plugins: closedPlugin, plugin_credentials: closedCredential };

/**
 * Validates a plugin's config and fills in defaults. Paths start at the config; an empty path means the config,
 * `["@entity"]` the plugin as a whole.
 */
export function checkConfig(
  plugin: string,
  raw: unknown,
  { database = false }: Pick<CheckOptions, "database"> = {},
): Checked<Members> {
  const facts = pluginNamed(plugin);
  if (facts === undefined) return { violations: [{ path: [], message: pluginName(plugin) ?? "" }] };
  const others = database ? undefined : countingPlugins.get(plugin);
  return checkByFacts(facts, raw, (value) => {
    if (others === undefined || Object(value).policy !== "cluster") return [];
    return [{ path: ["policy"], message: `expected one of: ${others} (cluster needs the database mode)` }];
  });
}

/** @param findFurther Returns violations that the facts do not express. Its argument is the config with defaults. */
function checkByFacts(
  facts: ConfigFacts,
  raw: unknown,
  findFurther: (config: unknown) => readonly Violation[] = () => [],
): Checked<Members> {
  const excess = configSizeMessage(raw);
  if (excess !== undefined) return { violations: [{ path: [], message: excess }] };
  const expanded = isRecord(raw) ? expandConfig(facts, raw) : { members: raw ?? {}, violations: [] };
  const filled = fillDefaults(facts.schema, expanded.members);
  const violations = [
    ...expanded.violations,
    ...filled.unknown,
    ...findFurther(filled.value),
    ...withReferences(facts, filled.value, validateConfig(facts, filled.value)),
  ];
  return violations.length > 0 ? { violations } : { value: filled.value as Members };
}

/**
 * As in Kong, a path has at most one violation: that of the schema if there is one, else that of the plugin's check. A
 * path that ends in `@entity` may have several.
 */
function validateConfig({ schema, check }: ConfigFacts, value: unknown): readonly Violation[] {
  const violations = [...validateValue(schema, value)];
  const reported = new Set(violations.map(({ path }) => JSON.stringify(path)));
  for (const violation of isRecord(value) ? runCheck(check, value) : []) {
    const place = JSON.stringify(violation.path);
    if (reported.has(place) && violation.path.at(-1) !== "@entity") continue;
    reported.add(place);
    violations.push(violation);
  }
  return violations;
}

/** Drops violations at vault references, whose values are unknown here; adds violations of the references' syntax. */
function withReferences({ schema }: ConfigFacts, value: unknown, found: readonly Violation[]): readonly Violation[] {
  const references = vaultReferencesIn(schema, value);
  if (references.length === 0) return found;
  const places = new Set(references.map(({ path }) => JSON.stringify(path)));
  const faults = references.flatMap(({ path, text }) =>
    (parseVaultReference(text).violations ?? []).map(({ message }) => ({ path, message })),
  );
  return [...found.filter(({ path }) => !places.has(JSON.stringify(path))), ...faults];
}

/**
 * The violations from the plugin's check. A check that throws, or returns something else, is a bug of the plugin: the
 * config counts as invalid.
 */
function runCheck(check: ConfigFacts["check"], config: Members): readonly Violation[] {
  try {
    const found: unknown = check?.(config) ?? [];
    // Packages in JavaScript may have a generator.
    const all = isIterable(found) ? [...found] : [found];
    if (!all.every(isViolation)) throw new TypeError(NO_VIOLATIONS);
    return all;
  } catch (error) {
    return [{ path: ["@entity"], message: `the plugin's check failed: ${error}` }];
  }
}

const NO_VIOLATIONS = 'it must return a list of violations, such as [{ path: ["word"], message: "must not be empty" }]';

const isIterable = (value: unknown): value is Iterable<unknown> => typeof Object(value)[Symbol.iterator] === "function";

const isViolation = (value: unknown): value is Violation =>
  isRecord(value) && Array.isArray(value.path) && typeof value.message === "string";

/**
 * Plugins whose `policy` selects where counters are stored, with the policies that need no database; with `cluster`,
 * counters are stored in the database.
 */
const countingPlugins: ReadonlyMap<string, string> = new Map([
  ["rate-limiting", "local, redis, fleet"],
  ["response-ratelimiting", "local, redis"],
]);

interface PluginOptions {
  readonly extras: CheckedExtras["extras"];
  readonly database: boolean;
}

/**
 * The config with defaults, or its violations. Undefined: the entity has no config, the schema of the entity reports
 * why the config cannot be checked, or the config of a credential marked as unavailable stays as it is.
 */
function checkConfigOf(collection: Collection, entity: Members, options: PluginOptions): Checked<unknown> | undefined {
  if (collection === "plugins") return checkPluginConfig(entity, options);
  return collection === "plugin_credentials" ? checkCredentialConfig(entity, options) : undefined;
}

function checkPluginConfig({ name, config }: Members, { extras, database }: PluginOptions) {
  if (typeof name !== "string" || pluginNamed(name) === undefined)
    return extras?.unavailable === undefined ? undefined : { value: {} };
  const checked = checkConfig(name, config, { database });
  if (checked.violations === undefined) return checked;
  if (extras?.unavailable !== undefined) return { value: {} };
  // The schema of the plugin entity reports a config that is not a record.
  if (!isRecord(config)) return undefined;
  return { violations: checked.violations.map(inConfig) };
}

const inConfig = ({ path, message }: Violation): Violation => ({
  path: path[0] === "@entity" ? path : ["config", ...path],
  message,
});

const noCredentials = (plugin: string): string =>
  `the plugin ${plugin} declares no credentials: name a plugin of your own whose facts have the member credentials`;

/**
 * Checks config and key of a plugin's credential. A key of which only the hash is known is not checked. Undefined
 * as in `checkConfigOf`.
 */
function checkCredentialConfig({ plugin, key, config }: Members, { extras }: PluginOptions) {
  if (typeof plugin !== "string" || !isRecord(config) || extras?.unavailable !== undefined) return undefined;
  const facts = credentialFactsOf(plugin);
  if (facts === undefined) {
    return { violations: [{ path: ["plugin"], message: pluginName(plugin) ?? noCredentials(plugin) }] };
  }
  const ofKey = typeof key === "string" ? checkCredentialKey(plugin, key) : [];
  const checked = checkByFacts(facts, config);
  if (ofKey.length === 0 && checked.value) return checked;
  return { violations: [...ofKey, ...(checked.violations ?? []).map(inConfig)] };
}

/** Checks a key by the schema that the plugin declares for keys. The schema of the entity reports an empty key. */
export function checkCredentialKey(plugin: unknown, key: string): readonly Violation[] {
  const schema = key === "" ? undefined : credentialFactsOf(plugin)?.key;
  return schema === undefined ? [] : validateValue(schema, key).map(({ message }) => ({ path: ["key"], message }));
}

/** Whether the violation is to be ignored: a plugin marked as unavailable may be unknown, because it never runs. */
const isUnknownPlugin = ({ path, message }: Violation, extras: CheckedExtras["extras"], { name }: Members): boolean =>
  extras?.unavailable !== undefined &&
  path.length === 1 &&
  path[0] === "name" &&
  typeof name === "string" &&
  message === pluginName(name);

interface CheckedCredential {
  readonly entity: Members;
  readonly extras: CheckedExtras["extras"];
}

function checkSecret(collection: Collection, { entity, extras }: CheckedCredential): readonly Violation[] {
  const lookup = entities[collection].credential?.lookup ?? "";
  return entity[lookup] === null && extras?.key_hash === undefined
    ? [{ path: [lookup], message: "required field missing" }]
    : [];
}

/** The members with `now` for unset timestamps of the schema; credentials have no updated_at. */
function withTimes(schema: SchemaNode, members: Members, now: number): Members {
  const unset = ["created_at", "updated_at"].filter(
    (name) => memberSchemaOf(schema, name) && (own(members, name) ?? null) === null,
  );
  return { ...members, ...Object.fromEntries(unset.map((name) => [name, now])) };
}

const own = (members: Members, name: string): unknown => (Object.hasOwn(members, name) ? members[name] : undefined);

const without = (members: Members, leaves: (name: string) => boolean): Members =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !leaves(name)));
