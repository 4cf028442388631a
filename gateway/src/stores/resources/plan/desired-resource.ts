/** Computes the desired state of a resource after a write. */
import {
  CHILD_TIMES,
  identityOf,
  type Resource,
  type ResourceCollection,
  type ResourceLocation,
  toResource,
} from "@sluice/crds";
import {
  type Certificate,
  type Credential,
  type Entity,
  type KeyAuthEntry,
  kinds,
  type Plugin,
  type ResourceKind,
  readSpec,
  type Sni,
  type Target,
  type Violation,
} from "@sluice/model";
import type { Tables } from "../../tables/index.ts";
import type { EntityInResource, ResourceView } from "../view/build-view.ts";
import type { DesiredFields } from "./field-ownership.ts";
import { changeEntries, childrenAfter, nestings } from "./nested-entries.ts";
import { configFromOf, splitConfig } from "./plugin-secrets.ts";
import { certificatePairSecret, keySecret, type SecretPlace } from "./secrets.ts";

type Members = Readonly<Record<string, unknown>>;

export interface DesiredResourceOptions {
  readonly kind: ResourceKind;
  readonly id: string;
  /** Undefined: the resource is to be created. */
  readonly held: EntityInResource | undefined;
  readonly view: ResourceView;
  readonly homeNamespace: string;
  /** The desired entity of the resource; undefined: an invalid one, which stays unchanged. */
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
  const made = entity && makeResource(options, entity, secretPlace);
  if (made?.violations) return made;
  if (violations.length > 0) return { violations };
  const nesting = nestings[kind];
  const entries =
    nesting &&
    changeEntries({
      ...options,
      nesting,
      resource: previous,
      parentId: id,
      view,
      next,
      write: (child, before) =>
        kind === "Consumer"
          ? keyEntry(view, child as Credential, { ...secretPlace, before })
          : entryOf(made?.value.spec, nesting.list, child.id),
    });
  if (violations.length > 0) return { violations };
  const isChanged = !held || (entity !== undefined && entity !== held.entity);
  const spec = withList(
    isChanged && made ? withStableIdentity(made.value, options) : (previous?.spec ?? {}),
    nesting?.list,
    {
      entries,
      before: previous?.spec,
    },
  );
  const faults = readSpec(kinds[kind].spec, spec).violations;
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
  const nesting = nestings[kind];
  const children = nesting ? childrenAfter(nesting, id, next) : [];
  const previous = held?.resource;
  const config = kind === "Plugin" ? splitConfig(held, entity as Plugin) : undefined;
  const made = toResource(kinds[kind].collection as ResourceCollection, (config?.plugin ?? entity) as never, {
    namespace: homeNamespace,
    locate: place,
    ...(previous && { previous }),
    ...(ofClass !== undefined && { class: ofClass }),
    ...(kind === "Upstream" && { targets: children as readonly Target[] }),
    ...(kind === "Certificate" && {
      snis: children as readonly Sni[],
      ...pairOf(held, entity as Certificate, secretPlace),
    }),
  });
  if (made.violations || !config) return made;
  const configFrom = configFromOf({ made: made.value, held }, config, secretPlace);
  const { configFrom: _, ...spec } = { ...made.value.spec };
  return { value: { ...made.value, spec: { ...spec, ...(configFrom.length > 0 && { configFrom }) } } };
}

function pairOf(held: EntityInResource | undefined, certificate: Certificate, secretPlace: SecretPlace) {
  const before = held?.entity as Certificate | undefined;
  const isSame = (["cert", "key", "cert_alt", "key_alt"] as const).every(
    (name) => before?.[name] === certificate[name],
  );
  if (before && isSame && !held?.isFaulty) return {};
  return { secretRef: certificatePairSecret(certificate, secretPlace) };
}

function keyEntry(
  view: ResourceView,
  credential: Credential,
  { before, ...secretPlace }: SecretPlace & { readonly before: unknown },
): KeyAuthEntry {
  const { id, tags, ttl } = credential;
  const entry = { id, ...(tags !== null && { tags }), ...(ttl !== null && { ttl }) };
  const old = view.held("keyauth_credentials", id);
  const known = old && !old.isFaulty ? (old.entity as Credential) : undefined;
  const isSame = known?.key === credential.key && known.created_at === credential.created_at;
  if (old && isSame && old.resource.metadata.namespace === secretPlace.namespace) {
    const list = old.resource.spec?.keyAuth as readonly KeyAuthEntry[];
    const same = (before as KeyAuthEntry | undefined) ?? list[Number(old.base[2])];
    if (same) return { ...entry, secretRef: same.secretRef };
  }
  return { ...entry, secretRef: keySecret(credential, secretPlace) };
}

const entryOf = (spec: Resource["spec"], list: string, id: string): unknown => {
  const entries = spec?.[list];
  return (Array.isArray(entries) ? entries : []).find((entry) => Object(entry).id === id);
};

function withList(
  spec: Members,
  list: string | undefined,
  { entries, before }: { readonly entries: readonly unknown[] | undefined; readonly before: Members | undefined },
): Members {
  if (list === undefined) return spec;
  const { [list]: _, ...rest } = spec;
  const wanted = entries ?? before?.[list];
  return Array.isArray(wanted) && (wanted.length > 0 || entries === undefined) ? { ...rest, [list]: wanted } : rest;
}

/**
 * Leaves out name and id where they follow from a resource that a user wrote without them: otherwise the resource would
 * differ from the copy that the user keeps elsewhere.
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
