/** Moves the secret values of a plugin's config to a Secret, to which the resource refers (`configFrom`). */
import type { Resource } from "@sluice/crds";
import { type ConfigFrom, type Plugin, secretMembers } from "@sluice/model";
import type { EntityInResource } from "../view/build-view.ts";
import { configSecret, type SecretPlace } from "./secrets.ts";

type Members = Readonly<Record<string, unknown>>;

interface SplitConfig {
  /** The plugin without the values that go into a Secret. */
  readonly plugin: Plugin;
  /** Values that are in a Secret of the admin listener already, or must be moved there, by path. */
  readonly values: ReadonlyMap<string, string>;
}

/** A value that a user wrote in clear text into the resource stays there as long as it is unchanged. */
export function splitConfig(held: EntityInResource | undefined, plugin: Plugin): SplitConfig {
  const clear = Object(held?.resource.spec?.config) as Members;
  const values = new Map<string, string>();
  let { config } = plugin;
  for (const path of secretMembers(plugin.name)) {
    const value = secretAt(config, path);
    if (value === null || value === "" || secretAt(clear, path) === value) continue;
    values.set(path.join("."), value);
    config = withMember(config, path, null);
  }
  return { plugin: { ...plugin, config }, values };
}

/**
 * Keeps the references of users for unset members; references to Secrets of the admin listener follow from the values.
 */
export function configFromOf(
  { made, held }: { readonly made: Resource; readonly held: EntityInResource | undefined },
  { plugin, values }: SplitConfig,
  place: SecretPlace,
): readonly ConfigFrom[] {
  const kept = Array.isArray(made.spec?.configFrom) ? (made.spec.configFrom as readonly ConfigFrom[]) : [];
  const before = Object(Object(held?.entity).config) as Members;
  // Values from the admin listener's own Secrets are shown: they are in the previous entity.
  const theirs = kept.filter(({ path }) => memberAt(before, path.split(".")) === null && !values.has(path));
  if (values.size === 0) return theirs;
  const ours = kept.filter(({ path }) => values.has(path) && secretAt(before, path.split(".")) === values.get(path));
  return [...theirs, ...(ours.length === values.size ? ours : configSecret(plugin, values, place))];
}

/** A text, or the text in a list of one: a Secret has no lists, and the plugin's schema expands the text. */
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
