/** Translates custom resources to entities. Each error names the resource that caused it. Pure. */
import {
  type CheckedTranslation,
  classOf,
  identityOf,
  type Path,
  type Resource,
  resourceViolations,
  sluiceKindOf,
  type TranslateOptions,
  translateToEntities,
} from "@sluice/crds";
import { type Collection, checkDocument, collections, type Entity } from "@sluice/model";
import type { EntityLists } from "../../stores/read-all.ts";
import { isAttachedToDerived, isDerivedFrom, type LeftOutResource } from "./left-out.ts";

export interface FromResourcesOptions {
  readonly homeNamespace: string;
  /** Resources of other classes are left out. */
  readonly class: string;
}

interface ResourceFault {
  readonly resource: Resource;
  readonly path: Path;
  readonly message: string;
}

/** All entities; or errors and no entities. */
type ReadResources =
  | { readonly lists: EntityLists; readonly leftOut: readonly LeftOutResource[]; readonly faults?: undefined }
  | { readonly faults: readonly ResourceFault[]; readonly lists?: undefined };

export function fromResources(
  resources: readonly Resource[],
  { homeNamespace, class: ofClass }: FromResourcesOptions,
): ReadResources {
  const isOwn = (resource: Resource) =>
    classOf(resource, resource.metadata.namespace === homeNamespace ? ofClass : undefined) === ofClass;
  const leftOut = resources.flatMap((resource): LeftOutResource[] => {
    if (isDerivedFrom(resource)) return [{ resource, why: "derived" }];
    if (!sluiceKindOf(resource)) return [];
    if (!isOwn(resource)) return [{ resource, why: "class" }];
    return isAttachedToDerived(resource) ? [{ resource, why: "attached" }] : [];
  });
  const without = new Set(leftOut.map(({ resource }) => resource));
  const ours = resources.filter((resource) => sluiceKindOf(resource) && !without.has(resource));
  const ids = new Map(ours.map((resource) => [keyOf(resource), identityOf(resource, homeNamespace).id]));
  const others = new Map(
    resources.filter((resource) => !sluiceKindOf(resource)).map((resource) => [keyOf(resource), resource]),
  );
  const options: TranslateOptions = {
    audience: "file",
    homeNamespace,
    resolve: (kind, namespace, name) => ids.get(`${kind} ${namespace} ${name}`),
    read: (kind, namespace, name) => others.get(`${kind} ${namespace} ${name}`),
    // The cluster to which the resources are applied decides about references between namespaces.
    isReferenceAllowed: () => true,
    namespacesOpenTo: () => [],
  };

  const translated = ours.flatMap((resource) =>
    translateToEntities(resource, options).map((item) => ({ resource, item })),
  );
  const faults = translated.flatMap(({ resource, item: { violations } }) =>
    violations.map(({ path, message }) => ({ resource, path, message })),
  );
  const lists = Map.groupBy(translated, ({ item }) => item.collection);
  return faults.length > 0 ? { faults } : together(lists, leftOut);
}

const keyOf = ({ apiVersion, kind, metadata: { namespace, name } }: Resource): string =>
  `${apiVersion === "v1" && kind === "Service" ? "CoreService" : kind} ${namespace} ${name}`;

type Translated = { readonly resource: Resource; readonly item: CheckedTranslation };

/** Checks all entities together. This finds errors that no resource has by itself, such as duplicate names. */
function together(
  found: ReadonlyMap<Collection, readonly Translated[]>,
  leftOut: readonly LeftOutResource[],
): ReadResources {
  const lists = Object.fromEntries(
    collections.map((name) => [name, (found.get(name) ?? []).map(({ item }) => plain(item.entity))]),
  );
  const { violations = [] } = checkDocument({ _format_version: "3.0", ...lists });
  const faults = violations.flatMap(({ path: [name, index, ...path], message }) => {
    const one = found.get(name as Collection)?.[Number(index)];
    if (!one) throw new Error(`a violation in translated resources: ${message}`);
    return resourceViolations(one.item, [{ path, message }]).map((found) => ({ resource: one.resource, ...found }));
  });
  return faults.length > 0 ? { faults } : { lists, leftOut };
}

function plain(entity: Entity | undefined): object {
  const { _sluice: _, ...members } = Object(entity);
  return members;
}
