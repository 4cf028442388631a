/** What of a plugin's config is secret stands in a Secret, and the resource refers to it (`configFrom`). */
import type { Resource } from "@sluice/crds";
import { type ConfigFrom, type Plugin, secretMembers } from "@sluice/model";
import type { Collected, DesiredResourceOptions } from "./desired-resource.ts";
import { configSecret, foreignNamespaceViolation } from "./secrets.ts";

type Members = Readonly<Record<string, unknown>>;

export interface SplitConfig {
  /** Without the values that go into a Secret. */
  readonly plugin: Plugin;
  /** Those that are in a Secret of ours already, or that have to get there, by their path. */
  readonly values: ReadonlyMap<string, string>;
}

/** What a person wrote in clear into the resource stays there as long as it is the same. */
export function splitConfig({ held }: DesiredResourceOptions, plugin: Plugin): SplitConfig {
  const clear = Object(held?.resource.spec?.config) as Members;
  const values = new Map<string, string>();
  let { config } = plugin;
  for (const path of secretMembers(plugin.name)) {
    const value = memberAt(config, path);
    if (typeof value !== "string" || value === "" || memberAt(clear, path) === value) continue;
    values.set(path.join("."), value);
    config = withMember(config, path, null);
  }
  return { plugin: { ...plugin, config }, values };
}

interface ConfigPlace {
  readonly options: DesiredResourceOptions;
  readonly namespace: string;
  readonly found: Collected;
}

/** People's own references stay for members that are unset; ours are as the values are. */
export function configFromOf(
  made: Resource,
  { plugin, values }: SplitConfig,
  place: ConfigPlace,
): readonly ConfigFrom[] {
  const { options, namespace, found } = place;
  const kept = Array.isArray(made.spec?.configFrom) ? (made.spec.configFrom as readonly ConfigFrom[]) : [];
  const before = Object(Object(options.held?.entity).config) as Members;
  // What a Secret of ours gives is shown: it has a value in the entity as it was.
  const theirs = kept.filter(({ path }) => memberAt(before, path.split(".")) === null && !values.has(path));
  if (values.size === 0) return theirs;
  const ours = kept.filter(({ path }) => values.has(path) && memberAt(before, path.split(".")) === values.get(path));
  if (ours.length === values.size) return [...theirs, ...ours];
  if (namespace !== options.homeNamespace) {
    const [path = ""] = values.keys();
    found.violations.push(foreignNamespaceViolation(namespace, options, ["config", ...path.split(".")]));
    return theirs;
  }
  const secrets = options.view.resources.Secret;
  const { secret, reference } = configSecret(plugin, values, { namespace, secrets });
  found.secrets.push(secret);
  return [...theirs, ...reference];
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
