/**
 * Views of the same resources at one moment after the other. A view takes over from the last one what has not changed:
 * a write among thousands of resources costs what one among ten costs.
 */
import { batchMark, type Resource } from "@sluice/crds";
import { type ResourceKind, resourceKinds } from "@sluice/model";
import { claimKey, Draft, MapDraft } from "../tables/index.ts";
import {
  buildView,
  claimsIn,
  idKey,
  type Part,
  type Parts,
  partKey,
  translatePart,
  type View,
  type ViewOptions,
} from "./view.ts";

/** More changes than this share of all resources are not worth their own work. */
const SHARE = 1 / 4;
/** But few always are. */
const FEW = 16;

/**
 * The same as `buildView` of the resources as they are now.
 *
 * @param changed `partKey`s of all resources that are other objects than when the view before was made, or gone.
 */
export function nextView(before: View, changed: ReadonlySet<string>, options: ViewOptions): View {
  const { resources, parts } = before;
  if (!parts || changed.size > Math.max(FEW, parts.byResource.size * SHARE)) return buildView(resources, options);
  const same = new Map<string, Part>();
  for (const key of changed) {
    const part = parts.byResource.get(key);
    const found = part && resourceOf(before, key);
    if (found && options.isOwn(found.resource) && isSameToUs(part.resource, found.resource))
      same.set(key, movedTo(part, found.resource));
  }
  const others = [...changed].filter((key) => !same.has(key));
  const askers = others.flatMap((key) => [...(parts.askers.get(key) ?? [])]);
  const news = new Map<string, Part | undefined>();
  for (const key of new Set([...others, ...askers])) {
    const found = resourceOf(before, key);
    // What a batch removes counts for nobody once the batch is complete.
    if (found && batchMark(found.resource)) return buildView(resources, options);
    news.set(
      key,
      found && options.isOwn(found.resource)
        ? translatePart(resources, { ...found, gone: new Set() }, options)
        : undefined,
    );
  }
  const draft = createViewDraft(before, parts);
  for (const [key, part] of same) if (!news.has(key)) draft.move(key, part);
  // Whatever goes, goes first: what comes may have its name.
  for (const key of news.keys()) draft.drop(key);
  // Who of two has what both claim is a matter of age, and of all others that claim it.
  for (const [key, part] of news) if (part && !draft.put(key, part)) return buildView(resources, options);
  return draft.finish();
}

function resourceOf({ resources }: View, key: string): { kind: ResourceKind; resource: Resource } | undefined {
  const [ofKind, name = ""] = key.split(" ");
  const kind = resourceKinds.find((one) => one === ofKind);
  const resource = kind && resources[kind].get(name);
  return resource && { kind, resource };
}

/** Most changes are of statuses alone: two of them follow every write. */
function isSameToUs({ metadata: one }: Resource, { metadata: other }: Resource): boolean {
  return (
    one.uid === other.uid &&
    one.generation !== undefined &&
    one.generation === other.generation &&
    one.creationTimestamp === other.creationTimestamp &&
    JSON.stringify([one.annotations, one.labels]) === JSON.stringify([other.annotations, other.labels])
  );
}

/** The same entities at a newer version of their resource. */
const movedTo = (part: Part, resource: Resource): Part => ({
  ...part,
  resource,
  held: part.held.map((held) => ({ ...held, resource })),
});

function createViewDraft(before: View, parts: Parts) {
  const tables = new Draft(before.tables);
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
      byId.set(idKey(held), undefined);
      if (!held.isFaulty) tables.drop(held);
      else for (const claim of claimsIn(held)) tables.faulty.set(claim, undefined);
    }
  }

  function move(key: string, part: Part): void {
    byResource.set(key, part);
    for (const held of part.held) byId.set(idKey(held), held);
  }

  /** False when another has something that this one claims. */
  function put(key: string, part: Part): boolean {
    byResource.set(key, part);
    for (const one of part.asked) askers.set(one, new Set([...(askers.get(one) ?? []), key]));
    for (const held of part.held) {
      const claims = claimsIn(held);
      if (byId.get(idKey(held)) || claims.some((claim) => tables.claims.get(claim) ?? tables.faulty.get(claim)))
        return false;
      byId.set(idKey(held), held);
      if (!held.isFaulty) tables.put(held);
      else for (const claim of claims) tables.faulty.set(claim, held);
    }
    return true;
  }

  function finish(): View {
    const next: Parts = { byResource: byResource.finish(), byId: byId.finish(), askers: askers.finish() };
    return {
      ...before,
      tables: tables.finish(),
      held: (collection, id) => next.byId.get(claimKey(collection, { id })),
      within(resource) {
        const { namespace, name } = resource.metadata;
        const part = next.byResource.get(partKey(resource.kind as ResourceKind, `${namespace}/${name}`));
        return part?.resource === resource ? part.held : [];
      },
      parts: next,
    };
  }

  return { drop, move, put, finish };
}
