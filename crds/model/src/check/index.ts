/** Checking entities: plain data in, a filled entity or all of its faults out, in Kong's words. */
import { type Collection, type Entities, entities } from "../entities/index.ts";
import { idOf } from "../ids.ts";
import { type PluginConfigs, type PluginName, plugins } from "../plugins/index.ts";
import { type SchemaNode, schemaNode } from "../schema/node.ts";
import { isRecord, memberOf } from "../schema/walk.ts";
import type { Checked, Violation } from "../violation.ts";
import { closedPlugin } from "./close-plugin.ts";
import { excessOf } from "./config-size.ts";
import { type CheckedExtras, checkExtras, type Extras } from "./extras.ts";
import { fillDefaults } from "./fill-defaults.ts";
import { pluginName } from "./rules/entities.ts";
import { expandConfig, expandEntity } from "./shorthand.ts";
import { validate } from "./validate.ts";

export interface CheckOptions {
  /** Unix time in seconds for timestamps that are unset. Default 0, so that the same input gives the same entity. */
  readonly now?: number;
  /** Whether it stands in a database, which counts for all nodes: rate-limiting may have policy `cluster`. Default no. */
  readonly database?: boolean;
  /**
   * Whether a plugin that this version cannot read and that may keep someone out is marked as unavailable instead of
   * refused: for what a newer version may have written. What a person writes is refused. Default no.
   */
  readonly closePlugins?: boolean;
}

/** A filled entity; routes, plugins and credentials may carry `_sluice`. */
export type CheckedEntity<Name extends Collection> = Entities[Name] &
  (Name extends keyof Extras ? { readonly _sluice?: Extras[Name] } : unknown);

type Members = Readonly<Record<string, unknown>>;

/** Kong allows these beside the members of an entity and keeps neither. */
const REMARKS = new Set(["_comment", "_ignore"]);

/**
 * Checks one flat entity: snake_case members, null or absent for unset, references as `{ id }`.
 *
 * A `url` is taken apart, every member is filled with its default or null, a missing id is derived (ids.ts), and a
 * plugin's config is filled by the plugin's schema. A plugin that `_sluice.unavailable` marks keeps its config only if
 * it is valid, else it gets an empty one: nobody runs it. It may also be one that this version does not have.
 * A credential needs its key, or the key's hash in `_sluice`: making one up is the caller's part.
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

  const schema = schemaNode(entities[collection].schema);
  const filled = fillDefaults(schema, withTimes(schema, members, now));
  const config = collection === "plugins" ? checkPluginConfig(filled.value, { extras, database }) : undefined;
  const entity: Members = { ...(filled.value as Members), ...(config?.value ? { config: config.value } : {}) };
  const withId = { ...entity, id: entity.id ?? idOf(collection, entity) };

  const violations = [
    ...ours.violations,
    ...shorthand.violations,
    ...filled.unknown,
    ...validate(schema, withId).filter((violation) => !isUnknownPlugin(violation, extras, entity)),
    ...(config?.violations ?? []),
    ...(collection === "keyauth_credentials" ? checkKey(entity, extras) : []),
  ];
  if (violations.length > 0) {
    const mayClose = closePlugins && collection === "plugins" && extras?.unavailable === undefined;
    const closed = mayClose ? closedPlugin(raw, violations) : undefined;
    return closed === undefined ? { violations } : checkEntity(collection, closed, options);
  }
  // What the schema accepted is what its type says.
  return { value: { ...withId, ...(extras && { _sluice: extras }) } as unknown as CheckedEntity<Name> };
}

/**
 * Checks and fills a plugin's config. Paths start at the config; one that is empty means the config, one that is
 * `["@entity"]` the plugin as a whole.
 */
export function checkConfig<Name extends PluginName>(
  plugin: Name,
  raw: unknown,
  { database = false }: Pick<CheckOptions, "database"> = {},
): Checked<PluginConfigs[Name]> {
  const excess = excessOf(raw);
  if (excess !== undefined) return { violations: [{ path: [], message: excess }] };
  const schema = schemaNode(plugins[plugin].schema);
  const expanded = isRecord(raw) ? expandConfig(plugin, raw) : { members: raw ?? {}, violations: [] };
  const filled = fillDefaults(schema, expanded.members);
  const nowhere = !database && plugin === "rate-limiting" && Object(filled.value).policy === "cluster";
  const violations = [
    ...expanded.violations,
    ...filled.unknown,
    ...(nowhere ? [NO_CLUSTER] : []),
    ...validate(schema, filled.value),
  ];
  return violations.length > 0 ? { violations } : { value: filled.value as PluginConfigs[Name] };
}

const NO_CLUSTER: Violation = {
  path: ["policy"],
  message: "expected one of: local, redis (cluster needs the database mode)",
};

interface PluginOptions {
  readonly extras: CheckedExtras["extras"];
  readonly database: boolean;
}

function checkPluginConfig(plugin: unknown, { extras, database }: PluginOptions): Checked<unknown> | undefined {
  const { name, config } = plugin as Members;
  if (typeof name !== "string" || !Object.hasOwn(plugins, name))
    return extras?.unavailable === undefined ? undefined : { value: {} };
  const checked = checkConfig(name as PluginName, config, { database });
  if (checked.violations === undefined) return checked;
  if (extras?.unavailable !== undefined) return { value: {} };
  // The plugin's own schema has told it.
  if (!isRecord(config)) return undefined;
  return {
    violations: checked.violations.map(({ path, message }) => ({
      path: path[0] === "@entity" ? path : ["config", ...path],
      message,
    })),
  };
}

/** No plugin runs in the place of one that is marked as unavailable, so this version need not have it. */
const isUnknownPlugin = ({ path, message }: Violation, extras: CheckedExtras["extras"], { name }: Members): boolean =>
  extras?.unavailable !== undefined && path.length === 1 && path[0] === "name" && message === pluginName(String(name));

const checkKey = (credential: Members, extras: CheckedExtras["extras"]): readonly Violation[] =>
  credential.key === null && extras?.key_hash === undefined
    ? [{ path: ["key"], message: "required field missing" }]
    : [];

/** Credentials have no updated_at. */
function withTimes(schema: SchemaNode, members: Members, now: number): Members {
  const unset = ["created_at", "updated_at"].filter(
    (name) => memberOf(schema, name) && (own(members, name) ?? null) === null,
  );
  return { ...members, ...Object.fromEntries(unset.map((name) => [name, now])) };
}

const own = (members: Members, name: string): unknown => (Object.hasOwn(members, name) ? members[name] : undefined);

const without = (members: Members, leaves: (name: string) => boolean): Members =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !leaves(name)));
