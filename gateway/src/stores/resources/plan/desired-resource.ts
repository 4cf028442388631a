/** Computes the desired state of a resource after a write. */
import {
  CHILD_TIMES,
  type ChildList,
  type Children,
  childLists,
  identityOf,
  type Resource,
  type ResourceCollection,
  type ResourceLocation,
  toResource,
  writeChild,
  writeEntryReference,
} from "@sluice/crds";
import {
  type Certificate,
  type Collection,
  type CredentialCollection,
  type CredentialEntry,
  type Entity,
  entities,
  entitySecrets,
  kindFacts,
  type Plugin,
  type PluginCredential,
  type ResourceKind,
  readSpec,
  type SecretRef,
  type Violation,
} from "@sluice/model";
import type { Tables } from "../../tables/index.ts";
import type { EntityInResource, ResourceView } from "../view/build-view.ts";
import type { DesiredFields } from "./field-ownership.ts";
import { changeEntries, childrenAfter } from "./nested-entries.ts";
import { configFromOf, splitConfig } from "./plugin-secrets.ts";
import { addCredentialSecret, certificatePairSecret, type SecretPlace } from "./secrets.ts";

type Members = Readonly<Record<string, unknown>>;

export interface DesiredResourceOptions {
  readonly kind: ResourceKind;
  readonly id: string;
  /** Undefined: the resource is to be created. */
  readonly held: EntityInResource | undefined;
  readonly view: ResourceView;
  readonly homeNamespace: string;
  /** The desired entity of the resource; undefined: the entity is invalid and stays unchanged. */
  readonly entity: Entity | undefined;
  readonly next: Tables;
  /** `<collection> <id>` of the removed entities. */
  readonly removed: ReadonlySet<string>;
  readonly place: (kind: ResourceKind, id: string) => ResourceLocation | undefined;
  readonly class: string | undefined;
}

type DesiredResource =
  | (DesiredFields & {
      readonly resource: Resource;
      readonly secrets: readonly Resource[];
      readonly violations?: undefined;
    })
  | { readonly violations: readonly Violation[] };

export function desiredResource(options: DesiredResourceOptions): DesiredResource {
  const { kind, id, entity, held, view, next, homeNamespace } = options;
  const previous = held?.resource;
  const namespace = previous?.metadata.namespace ?? homeNamespace;
  const secrets: Resource[] = [];
  const violations: Violation[] = [];
  const secretPlace = { namespace, homeNamespace, existing: view.resources.Secret, secrets, violations };
  const referenceOf = (list: ChildList, child: Entity, before: unknown) => {
    const reference = writeEntryReference(list, child, { namespace, locate: options.place, before });
    violations.push(...reference.violations);
    return reference.members;
  };
  const made = entity && makeResource(options, entity, secretPlace);
  if (made?.violations) return made;
  if (violations.length > 0) return { violations };
  const lists = childLists[kind].map((list) => {
    const entries = changeEntries({
      ...options,
      list,
      resource: previous,
      parentId: id,
      view,
      next,
      write: (child, before) =>
        isCredential(list.collection)
          ? {
              ...credentialEntry(view, { list, child }, { ...secretPlace, before }),
              ...referenceOf(list, child, before),
            }
          : entryOf(made?.value.spec, list.list, child.id),
    });
    return { list: list.list, entries };
  });
  const entries = lists.find((one) => one.entries !== undefined);
  if (violations.length > 0) return { violations };
  const isChanged = !held || (entity !== undefined && entity !== held.entity);
  const spec = withLists(
    isChanged && made ? withStableIdentity(made.value, options) : (previous?.spec ?? {}),
    lists,
    previous?.spec,
  );
  const faults = readSpec(kindFacts[kind].spec, spec).violations;
  if (faults.length > 0) {
    const message = faults.map((fault) => `spec.${fault.path.join(".")}: ${fault.message}`).join("; ");
    return { violations: [{ path: ["@entity"], message }] };
  }
  const notes = made?.value.metadata.annotations ?? {};
  const { [CHILD_TIMES]: times, ...own } = notes;
  const annotations = {
    ...(isChanged && own),
    ...((isChanged || entries) && times !== undefined && { [CHILD_TIMES]: times }),
  };
  const resource: Resource = {
    ...(made?.value ?? previous ?? { apiVersion: "", kind, metadata: { name: "", namespace: "" } }),
    spec,
  };
  const without = (isChanged || entries) && times === undefined ? [CHILD_TIMES] : [];
  return { annotations, without, spec, resource, secrets };
}

function makeResource(options: DesiredResourceOptions, entity: Entity, secretPlace: SecretPlace) {
  const { kind, id, held, next, place, homeNamespace, class: ofClass } = options;
  const children = Object.fromEntries(
    childLists[kind].map((list) => [list.collection, childrenAfter(list, id, next)]),
  ) as Children;
  const previous = held?.resource;
  const config = kind === "Plugin" ? splitConfig("plugins", entity as Plugin, { ...previous?.spec }) : undefined;
  const made = toResource(kindFacts[kind].collection as ResourceCollection, (config?.entity ?? entity) as never, {
    namespace: homeNamespace,
    locate: place,
    ...(previous && { previous }),
    ...(ofClass !== undefined && { class: ofClass }),
    children,
    ...(kind === "Certificate" && pairOf(held, entity as Certificate, secretPlace)),
  });
  if (made.violations || !config) return made;
  // A new plugin is in the namespace of the resource to which it refers.
  const { namespace } = made.value.metadata;
  const configFrom = configFromOf({ made: { ...made.value.spec }, held: held?.entity }, config, {
    ...secretPlace,
    namespace,
  });
  const { configFrom: _, ...spec } = { ...made.value.spec };
  return { value: { ...made.value, spec: { ...spec, ...(configFrom.length > 0 && { configFrom }) } } };
}

/** The operator orders a certificate with `acme`, and stores the pair itself. */
function pairOf(held: EntityInResource | undefined, certificate: Certificate, secretPlace: SecretPlace) {
  if (certificate.acme !== null) return {};
  const before = held?.entity as Certificate | undefined;
  const isSame = (["cert", "key", "cert_alt", "key_alt"] as const).every(
    (name) => before?.[name] === certificate[name],
  );
  if (before && isSame && !held?.isFaulty) return {};
  return { secretRef: certificatePairSecret(certificate, secretPlace) };
}

const isCredential = (collection: Collection): collection is CredentialCollection =>
  entities[collection].credential !== undefined;

/** The entry of a credential. It refers to the same Secret as before if the credential's secret has not changed. */
function credentialEntry(
  view: ResourceView,
  { list, child }: { readonly list: ChildList; readonly child: Entity },
  { before, ...secretPlace }: SecretPlace & { readonly before: unknown },
): CredentialEntry {
  const collection = list.collection as CredentialCollection;
  const [member = ""] = entitySecrets[collection];
  const old = view.held(collection, child.id);
  const known = old && !old.isFaulty ? old.entity : undefined;
  const isSame =
    known !== undefined &&
    Reflect.get(known, member) === Reflect.get(child, member) &&
    known.created_at === child.created_at;
  const place = { kind: "Consumer", list: list.list } as const;
  if (old && isSame && old.resource.metadata.namespace === secretPlace.namespace) {
    const entries = old.resource.spec?.[list.list] as readonly CredentialEntry[];
    const same = (before as CredentialEntry | undefined) ?? entries[Number(old.base[2])];
    if (same) return entryWith(same.secretRef, before);
  }
  const { secretRef: _, ...rest } = Object(before) as CredentialEntry;
  return entryWith(addCredentialSecret(collection, child as never, secretPlace), rest);

  function entryWith(secretRef: SecretRef | undefined, previous: unknown): CredentialEntry {
    if (collection !== "plugin_credentials") return writeChild(place, child, previous, secretRef);
    const config = splitConfig(collection, child as PluginCredential, Object(previous));
    const made = writeChild(place, config.entity, previous, secretRef);
    const configFrom = configFromOf({ made, held: known }, config, secretPlace);
    const { configFrom: _, ...entry } = made;
    return { ...entry, ...(configFrom.length > 0 && { configFrom }) };
  }
}

const entryOf = (spec: Resource["spec"], list: string, id: string): unknown => {
  const entries = spec?.[list];
  return (Array.isArray(entries) ? entries : []).find((entry) => Object(entry).id === id);
};

function withLists(
  spec: Members,
  lists: readonly { readonly list: string; readonly entries: readonly unknown[] | undefined }[],
  before: Members | undefined,
): Members {
  const changed: Record<string, unknown> = { ...spec };
  for (const { list, entries } of lists) {
    delete changed[list];
    const wanted = entries ?? before?.[list];
    if (Array.isArray(wanted) && (wanted.length > 0 || entries === undefined)) changed[list] = wanted;
  }
  return changed;
}

/**
 * The spec. A name or id that the user left out, because it follows from the resource, stays left out: otherwise the
 * resource would differ from a copy that the user keeps elsewhere, for example in Git.
 */
function withStableIdentity(made: Resource, { id, entity, held, homeNamespace }: DesiredResourceOptions): Members {
  const spec = made.spec ?? {};
  const before = held?.resource.spec;
  if (!held || !before || held.isFaulty) return spec;
  const { name: _name, ...nameless } = spec;
  const isNamed = before.name !== undefined || Object(held.entity).name !== Object(entity).name;
  const named = isNamed ? spec : nameless;
  if (before.id !== undefined) return named;
  const { id: _id, ...free } = named;
  return identityOf({ ...held.resource, spec: free }, homeNamespace).id === id ? free : named;
}
