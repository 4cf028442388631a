/**
 * Members that only some kinds of resources have: a Plugin's config, and lists whose entries are entities of their own.
 */
import {
  type ConfigFrom,
  kinds,
  pluginNamed,
  type SecretRef,
  type Sni,
  type Target,
  type UpstreamHeader,
  type UpstreamHeaderEntry,
  withoutDefaults,
  writeSpec,
} from "@sluice/model";
import { childLists } from "../kind-tables.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * The plugin's name, its config, and the config members kept in Secrets.
 *
 * @param before The previous spec: its configFrom stays for members that the entity leaves unset.
 */
export function pluginMembers(entity: Members, before: Members): Members {
  const config = Object(entity.config) as Members;
  const configFrom = (Array.isArray(before.configFrom) ? (before.configFrom as readonly ConfigFrom[]) : []).filter(
    ({ path }) => memberAt(config, path.split(".")) === undefined,
  );
  const written = withoutDefaults(schemaOf(entity.name), config, before.config);
  return {
    plugin: entity.name,
    ...(Object.keys(written).length > 0 && { config: written }),
    ...(configFrom.length > 0 && { configFrom }),
  };
}

const schemaOf = (name: unknown) => pluginNamed(name)?.schema ?? {};

/** Undefined when the member is null or missing. */
function memberAt(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value ?? undefined;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
  return memberAt((value as Members)[step], rest);
}

/**
 * The list as a member of the spec; omitted when empty. Every entry has its entity's id, so that a renamed entity keeps
 * the id.
 *
 * @param children All entities of the list; undefined: the list stays unchanged.
 * @param before The previous spec.
 */
export function writeChildren(
  kind: "Certificate" | "Upstream",
  children: readonly (Target | Sni)[] | undefined,
  before: Members,
): Members {
  const list = childLists[kind]?.list ?? "";
  const given = before[list];
  const entriesBefore: readonly unknown[] = Array.isArray(given) ? given : [];
  if (children === undefined) return entriesBefore.length > 0 ? { [list]: entriesBefore } : {};
  const node = kinds[kind].spec.properties?.[list]?.items ?? {};
  const known = new Map(entriesBefore.map((entry) => [Object(entry).id, entry]));
  const entries = children.map((child) => ({ id: child.id, ...writeSpec(node, { ...child }, known.get(child.id)) }));
  return entries.length > 0 ? { [list]: entries } : {};
}

/**
 * The headers of a Service as a member of the spec. Entries from Secrets stay, unless the entity has a header of the
 * same name.
 */
export function writeHeaders(
  given: readonly UpstreamHeader[] | null,
  before: Readonly<Record<string, unknown>>,
): { readonly upstreamHeaders?: readonly UpstreamHeaderEntry[] } {
  const headers = given ?? [];
  const names = new Set(headers.map(({ name }) => name.toLowerCase()));
  const old: readonly unknown[] = Array.isArray(before.upstreamHeaders) ? before.upstreamHeaders : [];
  const kept = old.filter(
    (entry): entry is UpstreamHeaderEntry & { readonly secretRef: SecretRef } =>
      Object(entry).secretRef !== undefined && !names.has(String(Object(entry).name).toLowerCase()),
  );
  const entries = [...kept, ...headers];
  return entries.length > 0 ? { upstreamHeaders: entries } : {};
}
