/**
 * Moves secret values from the config of a plugin, or of a credential of a plugin, to a Secret to which the resource
 * refers (`configFrom`).
 */
import {
  type Collection,
  type ConfigFrom,
  type Entity,
  type Plugin,
  type PluginCredential,
  secretMembers,
} from "@sluice/model";
import { configSecret, type SecretPlace } from "./secrets.ts";

type Members = Readonly<Record<string, unknown>>;

type Configured = Plugin | PluginCredential;

interface SplitConfig<Of extends Configured> {
  /** The entity without the values that go into a Secret. */
  readonly entity: Of;
  /** Values that are in a Secret of the admin listener already, or must be moved there, by path. */
  readonly values: ReadonlyMap<string, string>;
}

/**
 * Separates the values that go into a Secret. A value that a user wrote in clear text into the resource stays there
 * while it is unchanged.
 *
 * @param before The previous spec or entry.
 */
export function splitConfig<Of extends Configured>(
  collection: Collection,
  entity: Of,
  before: Members,
): SplitConfig<Of> {
  const clear = Object(before.config) as Members;
  const values = new Map<string, string>();
  let { config } = entity;
  for (const path of secretMembers(collection, entity)) {
    const value = secretAt(config, path);
    if (value === null || value === "" || secretAt(clear, path) === value) continue;
    values.set(path.join("."), value);
    config = withMember(config, path, null);
  }
  return { entity: { ...entity, config }, values };
}

/**
 * The new `configFrom`. A reference that a user wrote stays, unless the new config has a value for its member. The
 * values are in one Secret of the admin listener: the previous one if they are unchanged, otherwise a new one.
 *
 * @param made The new spec or entry.
 * @param held The previous entity.
 */
export function configFromOf(
  { made, held }: { readonly made: object; readonly held: Entity | undefined },
  { entity, values }: SplitConfig<Configured>,
  place: SecretPlace,
): readonly ConfigFrom[] {
  const { configFrom } = made as { readonly configFrom?: unknown };
  const kept = Array.isArray(configFrom) ? (configFrom as readonly ConfigFrom[]) : [];
  const before = Object(Object(held).config) as Members;
  // The previous entity has the values of the admin listener's own Secrets: a reference without a value is a user's.
  const theirs = kept.filter(({ path }) => memberAt(before, path.split(".")) === null && !values.has(path));
  if (values.size === 0) return theirs;
  const ours = kept.filter(({ path }) => values.has(path) && secretAt(before, path.split(".")) === values.get(path));
  return [...theirs, ...(ours.length === values.size ? ours : configSecret(entity, values, place))];
}

/**
 * The string at the path, or the only string of a list there; null for other values. A Secret has no lists, but the
 * plugin's schema expands a string to a list.
 */
function secretAt(value: unknown, path: readonly string[]): string | null {
  const member = memberAt(value, path);
  const text = Array.isArray(member) && member.length === 1 ? member[0] : member;
  return typeof text === "string" ? text : null;
}

function memberAt(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value ?? null;
  const members = Object(value) as Members;
  return Object.hasOwn(members, step) ? memberAt(members[step], rest) : null;
}

function withMember(value: unknown, [step = "", ...rest]: readonly string[], member: unknown): Record<string, unknown> {
  const members = Object(value) as Members;
  return { ...members, [step]: rest.length === 0 ? member : withMember(members[step], rest, member) };
}
