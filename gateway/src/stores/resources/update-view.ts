/**
 * Updates a view incrementally: it shares the unchanged part with the previous view, so a write costs the same among
 * thousands of resources as among ten.
 */
import { batchMark, type Resource } from "@sluice/crds";
import { type ResourceKind, resourceKinds } from "@sluice/model";
import { claimKey, MapDraft, TablesDraft } from "../tables/index.ts";
import {
  buildView,
  claimsIn,
  entityIdKey,
  type ResourceView,
  resourceKeyOfKind,
  type TranslatedResource,
  translateForView,
  type ViewOptions,
  type ViewParts,
} from "./view.ts";

/** Above this share of changed resources, the view is built anew. */
const MAX_CHANGED_SHARE = 1 / 4;
/** Up to this number of changes, the update is always incremental. */
const ALWAYS_INCREMENTAL = 16;

/**
 * Equal to `buildView` of the current resources.
 *
 * @param changed `partKey`s of all resources that were changed or removed since the previous view.
 */
export function updateView(before: ResourceView, changed: ReadonlySet<string>, options: ViewOptions): ResourceView {
  const { resources, parts } = before;
  if (!parts || changed.size > Math.max(ALWAYS_INCREMENTAL, parts.byResource.size * MAX_CHANGED_SHARE))
    return buildView(resources, options);
  const same = new Map<string, TranslatedResource>();
  for (const key of changed) {
    const part = parts.byResource.get(key);
    const found = part && resourceOf(before, key);
    if (found && options.isOwn(found.resource) && isStatusChangeOnly(part.resource, found.resource))
      same.set(key, withResource(part, found.resource));
  }
  const others = [...changed].filter((key) => !same.has(key));
  const askers = others.flatMap((key) => [...(parts.askers.get(key) ?? [])]);
  const news = new Map<string, TranslatedResource | undefined>();
  for (const key of new Set([...others, ...askers])) {
    const found = resourceOf(before, key);
    // Removals of a complete batch affect all other claims.
    if (found && batchMark(found.resource)) return buildView(resources, options);
    news.set(
      key,
      found && options.isOwn(found.resource)
        ? translateForView(resources, { ...found, gone: new Set() }, options)
        : undefined,
    );
  }
  const draft = createViewDraft(before, parts);
  for (const [key, part] of same) if (!news.has(key)) draft.move(key, part);
  // Removed entities first: a new one may have the same name.
  for (const key of news.keys()) draft.drop(key);
  // A conflict between two claims depends on age and on all other claims, so the view is built anew.
  for (const [key, part] of news) if (part && !draft.put(key, part)) return buildView(resources, options);
  return draft.finish();
}

function resourceOf({ resources }: ResourceView, key: string): { kind: ResourceKind; resource: Resource } | undefined {
  const [ofKind, name = ""] = key.split(" ");
  const kind = resourceKinds.find((one) => one === ofKind);
  const resource = kind && resources[kind].get(name);
  return resource && { kind, resource };
}

/** Most changes only concern the status: two of them follow every write. */
function isStatusChangeOnly({ metadata: one }: Resource, { metadata: other }: Resource): boolean {
  return (
    one.uid === other.uid &&
    one.generation !== undefined &&
    one.generation === other.generation &&
    one.creationTimestamp === other.creationTimestamp &&
    JSON.stringify([one.annotations, one.labels]) === JSON.stringify([other.annotations, other.labels])
  );
}

/** The same entities at a newer version of their resource. */
const withResource = (part: TranslatedResource, resource: Resource): TranslatedResource => ({
  ...part,
  resource,
  held: part.held.map((held) => ({ ...held, resource })),
});

function createViewDraft(before: ResourceView, parts: ViewParts) {
  const tables = new TablesDraft(before.tables);
  const byResource = new MapDraft(parts.byResource);
  const byId = new MapDraft(parts.byId);
  const askers = new MapDraft(parts.askers);

  function drop(key: string): void {
    const part = byResource.get(key);
    if (!part) return;
    byResource.set(key, undefined);
    for (const one of part.asked) {
      const others = new Set(askers.get(one));
      others.delete(key);
      askers.set(one, others.size > 0 ? others : undefined);
    }
    for (const held of part.held) {
      byId.set(entityIdKey(held), undefined);
      if (!held.isFaulty) tables.drop(held);
      else for (const claim of claimsIn(held)) tables.faulty.set(claim, undefined);
    }
  }

  function move(key: string, part: TranslatedResource): void {
    byResource.set(key, part);
    for (const held of part.held) byId.set(entityIdKey(held), held);
  }

  /** False when another entity holds one of its claims. */
  function put(key: string, part: TranslatedResource): boolean {
    byResource.set(key, part);
    for (const one of part.asked) askers.set(one, new Set([...(askers.get(one) ?? []), key]));
    for (const held of part.held) {
      const claims = claimsIn(held);
      if (byId.get(entityIdKey(held)) || claims.some((claim) => tables.claims.get(claim) ?? tables.faulty.get(claim)))
        return false;
      byId.set(entityIdKey(held), held);
      if (!held.isFaulty) tables.put(held);
      else for (const claim of claims) tables.faulty.set(claim, held);
    }
    return true;
  }

  function finish(): ResourceView {
    const next: ViewParts = { byResource: byResource.finish(), byId: byId.finish(), askers: askers.finish() };
    return {
      ...before,
      tables: tables.finish(),
      held: (collection, id) => next.byId.get(claimKey(collection, { id })),
      within(resource) {
        const { namespace, name } = resource.metadata;
        const part = next.byResource.get(resourceKeyOfKind(resource.kind as ResourceKind, `${namespace}/${name}`));
        return part?.resource === resource ? part.held : [];
      },
      parts: next,
    };
  }

  return { drop, move, put, finish };
}
