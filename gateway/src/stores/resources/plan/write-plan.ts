/** Plans a write to resources completely before anything is written. Pure except for the generated names of Secrets. */
import { namespacedName, type Resource, type ResourceLocation } from "@sluice/crds";
import { type Entity, kindFacts, type ResourceKind, resourceKinds } from "@sluice/model";
import type { Effect, Write, WriteFault } from "../../store.ts";
import { applyWrite, type TableWriteResult as TableWrite } from "../../tables/index.ts";
import type { EntityInResource, ResourceView } from "../view/build-view.ts";
import { desiredResource } from "./desired-resource.ts";
import { type DesiredFields, divideByOwner, type OwnershipDivision, otherOwners } from "./field-ownership.ts";
import { ownerOf } from "./nested-entries.ts";
import { secretNames, unusedSecrets } from "./secrets.ts";

export interface WritePlanOptions {
  readonly homeNamespace: string;
  /** spec.class of new resources; undefined for the default class. */
  readonly class: string | undefined;
  /** Also changes fields that other field managers own. */
  readonly force: boolean;
}

export type ResourceStep = {
  /** The index of the first write that concerns the resource. */
  readonly index: number;
  readonly kind: ResourceKind;
} & (
  | { readonly op: "create"; readonly resource: Resource; readonly entity: Entity }
  | {
      readonly op: "replace";
      readonly resource: Resource;
      readonly wanted: DesiredFields;
      /** The fields to apply to restore the previous state. */
      readonly undo: OwnershipDivision["undo"];
    }
  | { readonly op: "remove"; readonly resource: Resource }
);

export interface ResourceWritePlan {
  readonly effects: readonly Effect[];
  /** At most one per resource; referenced resources come before those that refer to them. */
  readonly steps: readonly ResourceStep[];
  readonly secrets: readonly Resource[];
  /** The admin listener's Secrets that have no reference after the write. */
  readonly unused: readonly Resource[];
  readonly fault?: undefined;
}

export type WritePlanResult = ResourceWritePlan | { readonly fault: WriteFault; readonly index: number };

export function planWrites(view: ResourceView, writes: readonly Write[], options: WritePlanOptions): WritePlanResult {
  const written = applyWrite(view.tables, writes);
  if (written.fault) return written;
  const faults: { readonly fault: WriteFault; readonly index: number }[] = [];
  const steps: ResourceStep[] = [];
  const secrets: Resource[] = [];
  const after = new Map<Resource, Resource["spec"] | null>();
  const placed = new Map<string, ResourceLocation>();
  const touched = touchedBy(view, written);
  for (const kind of resourceKinds) {
    for (const touch of touched.filter((one) => one.kind === kind)) {
      const { index, held } = touch;
      const worked = planStep(touch, { view, written, options, placed, secrets });
      if (!worked) continue;
      if ("fault" in worked) faults.push({ fault: worked.fault, index });
      else {
        const { step } = worked;
        steps.push(step);
        if (step.op === "create") placed.set(`${kind} ${touch.id}`, step.resource.metadata);
        if (held && step.op !== "create") after.set(held.resource, step.op === "remove" ? null : step.wanted.spec);
      }
    }
  }
  const [first] = faults.sort((one, other) => one.index - other.index);
  if (first) return first;
  return { effects: written.effects, steps, secrets, unused: newlyUnused(view, after, options) };
}

/**
 * The Secrets whose last reference the write drops. All resources are scanned only if the write drops a reference to a
 * Secret.
 */
function newlyUnused(
  { resources }: ResourceView,
  after: ReadonlyMap<Resource, Resource["spec"] | null>,
  { homeNamespace }: WritePlanOptions,
): readonly Resource[] {
  const left = new Set(
    [...after].flatMap(([{ metadata, spec }, next]) => {
      const at = { of: homeNamespace, own: metadata.namespace };
      const still = secretNames(next ?? {}, at);
      return secretNames(spec, at).filter((name) => !still.includes(name));
    }),
  );
  if (left.size === 0) return [];
  return unusedSecrets(resources, { homeNamespace, but: after }).filter(({ metadata }) => left.has(metadata.name));
}

interface TouchedResource {
  readonly index: number;
  readonly kind: ResourceKind;
  readonly id: string;
  /** Undefined: the resource does not exist yet. */
  readonly held: EntityInResource | undefined;
  /** Whether the entity of the resource is invalid, and the write removes it together with the resource. */
  readonly goes: boolean;
}

type Taken = Extract<TableWrite, { fault?: undefined }>;

/** The resources that the effects concern, each once. */
function touchedBy(view: ResourceView, { effects }: Taken): readonly TouchedResource[] {
  const touched = new Map<string, TouchedResource>();
  for (const [index, { collection, before, after, along }] of effects.entries()) {
    const entities = [before, after].flatMap((entity) => (entity ? [{ collection, entity }] : []));
    for (const placed of [...entities, ...along]) {
      const { kind, id } = ownerOf(placed.collection, placed.entity);
      const key = `${kind} ${id}`;
      const known = touched.get(key);
      const held = view.held(kindFacts[kind].collection, id);
      const goes = held?.isFaulty === true && placed.collection === kindFacts[kind].collection && !after;
      touched.set(key, { kind, id, held, index: known?.index ?? index, goes: goes || known?.goes === true });
    }
  }
  return [...touched.values()];
}

interface StepContext {
  readonly view: ResourceView;
  readonly written: Taken;
  readonly options: WritePlanOptions;
  readonly placed: ReadonlyMap<string, ResourceLocation>;
  readonly secrets: Resource[];
}

function planStep(
  { index, kind, id, held, goes }: TouchedResource,
  { view, written, options, placed, secrets }: StepContext,
): { readonly step: ResourceStep } | { readonly fault: WriteFault } | undefined {
  const entity = written.tables.rows[kindFacts[kind].collection].get(id);
  if (held && !entity && (goes || !held.isFaulty)) {
    const { resource } = held;
    const owners = otherOwners(resource);
    if (owners.length > 0 && !options.force) return { fault: ownedFault(kind, resource, owners) };
    return { step: { op: "remove", index, kind, resource } };
  }
  if (!held && !entity) return undefined;
  const removed = written.effects.flatMap(({ collection: of, before, after }) =>
    before && !after ? [`${of} ${before.id}`] : [],
  );
  const wanted = desiredResource({
    kind,
    id,
    entity,
    held,
    view,
    next: written.tables,
    removed: new Set(removed),
    place: (of, other) => placed.get(`${of} ${other}`) ?? view.held(kindFacts[of].collection, other)?.resource.metadata,
    homeNamespace: options.homeNamespace,
    class: options.class,
  });
  if (wanted.violations) return { fault: { kind: "invalid", violations: wanted.violations } };
  secrets.push(...wanted.secrets);
  if (!held) {
    if (!entity) return undefined;
    return { step: { op: "create", index, kind, entity, resource: withFreeName(wanted.resource, { kind, id, view }) } };
  }
  const { resource } = held;
  const { owners, undo } = divideByOwner(kind, resource, wanted);
  if (owners.length > 0 && !options.force) return { fault: ownedFault(kind, resource, owners) };
  return { step: { op: "replace", index, kind, resource, wanted, undo } };
}

const ownedFault = (kind: ResourceKind, { metadata }: Resource, owners: OwnershipDivision["owners"]): WriteFault => ({
  kind: "owned",
  what: `${kind} ${metadata.name}`,
  owners,
});

/**
 * The new resource, under a different name if its name is taken: a renamed entity keeps the name of its resource, so a
 * new entity with the old name needs a different resource name.
 */
function withFreeName(
  resource: Resource,
  { kind, id, view }: { kind: ResourceKind; id: string; view: ResourceView },
): Resource {
  const { namespace, name } = resource.metadata;
  if (!view.resources[kind].has(namespacedName(namespace, name))) return resource;
  return { ...resource, metadata: { ...resource.metadata, name: `${name}-${id.slice(0, 8)}` } };
}
