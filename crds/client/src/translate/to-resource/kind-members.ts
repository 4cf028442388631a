/**
 * Members that only some kinds of resources have: a Plugin's config, a Service's headers, and lists whose entries are
 * entities of their own.
 */
import {
  type Checked,
  type Collection,
  type ConfigFrom,
  type CredentialEntry,
  configFactsOf,
  type Entities,
  type Entity,
  kindFacts,
  type ResourceKind,
  type SecretRef,
  type UpstreamHeader,
  type UpstreamHeaderEntry,
  type Violation,
  withoutDefaults,
  writeSpec,
} from "@sluice/model";
import { childLists } from "../kind-tables.ts";
import { type WriteReferencesOptions, writeEntryReference } from "./write-references.ts";

type Members = Readonly<Record<string, unknown>>;

/** The plugin's name, its config, and the references to the Secrets that contain the other members of the config. */
export const pluginMembers = (entity: Members, before: Members): Members => ({
  plugin: entity.name,
  ...configMembers("plugins", entity, before),
});

/** @param before The previous spec or entry: its configFrom stays for members that the entity leaves unset. */
function configMembers(collection: Collection, entity: object, before: Members): Members {
  const config = Object((entity as Members).config) as Members;
  const configFrom = (Array.isArray(before.configFrom) ? (before.configFrom as readonly ConfigFrom[]) : []).filter(
    ({ path }) => memberAt(config, path.split(".")) === undefined,
  );
  const written = withoutDefaults(configFactsOf(collection, entity)?.schema ?? {}, config, before.config);
  return {
    ...(Object.keys(written).length > 0 && { config: written }),
    ...(configFrom.length > 0 && { configFrom }),
  };
}

/** Undefined when the member is null or missing. */
function memberAt(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value ?? undefined;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
  return memberAt((value as Members)[step], rest);
}

/** Entities that are entries of a resource's lists, by their collection. */
export type Children = { readonly [Name in Collection]?: readonly Entities[Name][] };

interface WriteChildrenOptions extends Pick<WriteReferencesOptions, "namespace" | "locate"> {
  readonly children: Children;
  readonly secretRefs: ReadonlyMap<string, SecretRef>;
  readonly before: Members;
}

/**
 * The lists of children as members of the spec; empty lists are omitted. Every entry has the id of its entity, so that
 * the entity keeps its id when it is renamed.
 *
 * @param children All entities of every list that changes, by collection; the other lists stay unchanged.
 * @param secretRefs The references to the Secrets of children, by id. Default: the references in the previous entries.
 * @param before The previous spec.
 */
export function writeChildren(
  kind: ResourceKind,
  { children, secretRefs, before, ...place }: WriteChildrenOptions,
): Checked<Members> {
  const violations: Violation[] = [];
  const lists = childLists[kind].map((child): readonly [string, readonly unknown[]] => {
    const { list, collection } = child;
    const given = before[list];
    const entriesBefore: readonly unknown[] = Array.isArray(given) ? given : [];
    const known = new Map(entriesBefore.map((entry) => [Object(entry).id, entry]));
    const write = (entity: Entity) => {
      const old = known.get(entity.id);
      const reference = writeEntryReference(child, entity, { ...place, before: old });
      violations.push(...reference.violations);
      return { ...writeChild({ kind, list }, entity, old, secretRefs.get(entity.id)), ...reference.members };
    };
    return [list, children[collection]?.map(write) ?? entriesBefore];
  });
  if (violations.length > 0) return { violations };
  return { value: Object.fromEntries(lists.filter(([, entries]) => entries.length > 0)) };
}

/**
 * The entry of a child in a list.
 *
 * @param before The entry that is replaced; undefined: the entry is new.
 * @param secretRef The reference to the child's Secret. Default: the reference in `before`.
 */
export function writeChild(
  { kind, list }: { readonly kind: ResourceKind; readonly list: string },
  child: Entity,
  before: unknown,
  secretRef: SecretRef | undefined = Object(before).secretRef,
): CredentialEntry {
  const node = kindFacts[kind].spec.properties?.[list]?.items ?? {};
  const collection = childLists[kind].find((one) => one.list === list)?.collection;
  const config = collection === "plugin_credentials" ? configMembers(collection, child, Object(before)) : {};
  return { id: child.id, ...writeSpec(node, { ...child }, before), ...config, ...(secretRef && { secretRef }) };
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
