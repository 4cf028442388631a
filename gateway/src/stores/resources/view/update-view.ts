/**
 * Updates a view incrementally: it shares the unchanged part with the previous view, so a write costs the same among
 * thousands of resources as among ten.
 */
import { batchMark, isFewChanges, parseRefKey, type Resource } from "@sluice/crds";
import { type ResourceKind, resourceKinds } from "@sluice/model";
import { MapDraft, TablesDraft } from "../../tables/index.ts";
import {
  buildResourceView,
  claimsIn,
  entityIdKey,
  type ResourceView,
  translateForView,
  type ViewContext,
  type ViewPart,
  type ViewParts,
  viewOf,
} from "./build-view.ts";

/**
 * Equal to `buildResourceView` of the current resources.
 *
 * @param changed `refKey`s of all resources that were changed or removed since the previous view.
 */
export function updateView(before: ResourceView, changed: ReadonlySet<string>, context: ViewContext): ResourceView {
  const { resources, parts, isContested } = before;
  if (isContested || !isFewChanges(changed.size, parts.byResource.size)) return buildResourceView(resources, context);
  const { cache, lookups } = context;
  const hasNewId = (key: string): boolean =>
    parts.byResource.get(key)?.held[0]?.entity.id !== lookups.idOf(resourceOf(before, key)?.resource);
  const news = new Map<string, ViewPart | undefined>();
  for (const key of parts.dependencies.affectedBy(changed, hasNewId)) {
    const found = resourceOf(before, key);
    // The resource may complete a batch, whose removals affect all other claims.
    if (found && batchMark(found.resource)) return buildResourceView(resources, context);
    const isOwn = lookups.idOf(found?.resource) !== undefined;
    news.set(key, found && isOwn ? translateForView(resources, found, context) : undefined);
  }
  const draft = createViewDraft(before);
  for (const [key, part] of news) {
    if (!part) cache.forget(key);
    // Most changes only concern the status: two such changes follow every write.
    if (!part || part.translation !== parts.byResource.get(key)?.translation) continue;
    draft.move(key, part);
    news.delete(key);
  }
  // Removed entities are dropped first, because a new entity may have the same name.
  for (const key of news.keys()) draft.drop(key);
  // The outcome of a conflict between two claims depends on age and on all other claims, so the view is rebuilt.
  for (const [key, part] of news) if (part && !draft.put(key, part)) return buildResourceView(resources, context);
  return draft.finish();
}

function resourceOf({ resources }: ResourceView, key: string): { kind: ResourceKind; resource: Resource } | undefined {
  const { kind: ofKind, key: name } = parseRefKey(key);
  const kind = resourceKinds.find((one) => one === ofKind);
  const resource = kind && resources[kind].get(name);
  return resource && { kind, resource };
}

function createViewDraft(before: ResourceView) {
  const { parts } = before;
  const tables = new TablesDraft(before.tables);
  const byResource = new MapDraft(parts.byResource);
  const byId = new MapDraft(parts.byId);
  const { dependencies } = parts;

  function drop(key: string): void {
    const part = byResource.get(key);
    if (!part) return;
    byResource.set(key, undefined);
    dependencies.remove(key, part.translation.dependencies);
    for (const held of part.held) {
      byId.set(entityIdKey(held), undefined);
      if (!held.isFaulty) tables.drop(held);
      else for (const claim of claimsIn(held)) tables.faulty.set(claim, undefined);
    }
  }

  function move(key: string, part: ViewPart): void {
    byResource.set(key, part);
    for (const held of part.held) byId.set(entityIdKey(held), held);
  }

  /** False when another entity already has the id or a claim of an entity in the part. */
  function put(key: string, part: ViewPart): boolean {
    byResource.set(key, part);
    dependencies.add(key, part.translation.dependencies);
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
    const next: ViewParts = { byResource: byResource.toMap(), byId: byId.toMap(), dependencies };
    return viewOf({ ...before, tables: tables.toTables(), parts: next });
  }

  return { drop, move, put, finish };
}
