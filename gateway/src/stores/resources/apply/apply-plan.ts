/** Carries out a write plan: Secrets first, then the resources, as a batch if there are several. */
import { randomUUID } from "node:crypto";
import {
  type ApplyOptions,
  BATCH,
  BATCH_COMPLETE,
  BATCH_REMOVE,
  BATCH_UNDO,
  batchMark,
  Conflict,
  type Kind,
  type Metadata,
  type Ref,
  type Resource,
  type ResourceClient,
} from "@sluice/crds";
import { entities, entityNameOf, kinds, type ResourceKind, type WrittenResource } from "@sluice/model";
import type { WriteFault } from "../../store.ts";
import { ADMIN_MANAGER, divideByOwner } from "../plan/field-ownership.ts";
import { refOfSecret } from "../plan/secrets.ts";
import type { ResourceStep, ResourceWritePlan } from "../plan/write-plan.ts";
import { hasOrderedVersion } from "../view/catch-up.ts";
import { changedFault, throwUnavailable, toWriteFault } from "./write-faults.ts";

/** A resource of a batch with its batch mark. */
export interface MarkedMember {
  readonly kind: ResourceKind;
  readonly resource: Resource;
}

export type ApplyPlanResult =
  | {
      /** The writes that the nodes must serve. */
      readonly awaits: readonly WrittenResource[];
      /** The resources of a batch that still carry marks. */
      readonly batch: readonly MarkedMember[];
      /** The only resource of a write that is not a batch, as written. */
      readonly alone?: MarkedMember;
      readonly fault?: undefined;
    }
  | {
      readonly fault: WriteFault;
      readonly index: number;
      /** The resource as planned that another writer has changed since: a new plan may succeed. */
      readonly stale?: MarkedMember;
    };

/** Maximum concurrent calls. */
const MAX_CONCURRENT_CALLS = 16;

export async function applyPlan(
  client: ResourceClient,
  { steps, secrets }: ResourceWritePlan,
): Promise<ApplyPlanResult> {
  const [only] = steps;
  const made: Resource[] = [];
  try {
    await inParallel(secrets, async (secret) => {
      made.push(await client.apply("Secret", secret, { manager: ADMIN_MANAGER, expect: "absent" }));
    });
    if (!only) return { awaits: [], batch: [] };
    const done = steps.length === 1 ? await applySingle(client, only) : await applyBatch(client, steps);
    return { ...done, awaits: [...made.map((secret) => writtenRecord("Secret", secret)), ...done.awaits] };
  } catch (error) {
    // No resource refers to them: Secrets that remain grant no access, and the next start removes them.
    await inParallel(made, (secret) => client.remove(refOfSecret(secret)).catch(() => false));
    const { step, cause } = error instanceof StepError ? error : { step: only, cause: error };
    if (!step) return throwUnavailable(cause);
    const { kind, resource, index } = step;
    const fault = toWriteFault(cause, { kind, name: resource.metadata.name }, alreadyExists(step));
    return { fault, index, ...(fault.kind === "changed" && { stale: { kind, resource } }) };
  }
}

/** A step that failed, with its fault. */
class StepError extends Error {
  readonly step: ResourceStep;
  constructor(step: ResourceStep, cause: unknown) {
    super("a step failed", { cause });
    this.step = step;
  }
}

async function applySingle(client: ResourceClient, step: ResourceStep) {
  const { kind, resource } = step;
  if (step.op !== "remove") {
    const written = await applyStep(client, step, { annotations: {}, without: [] });
    return { awaits: [writtenRecord(kind, written)], batch: [], alone: { kind, resource: written } };
  }
  const { uid } = resource.metadata;
  await client.remove(refOf(step), uid === undefined ? {} : { uid });
  return { awaits: [removedRecord(kind, resource.metadata)], batch: [] };
}

/**
 * The first resource of the batch is the record, which at the end is marked complete. Undoing a batch changes the
 * record first; after that the batch can no longer be marked complete, however late the writer's calls arrive.
 */
async function applyBatch(client: ResourceClient, steps: readonly ResourceStep[]) {
  const id = randomUUID();
  const done = new Map<ResourceStep, MarkedMember>();
  const mark = async (step: ResourceStep, complete?: string): Promise<void> => {
    const undoMember = step.op === "replace" ? step.division.undo : null;
    const annotations = {
      [BATCH]: `${id}/${steps.length}`,
      ...(step.op === "remove" ? { [BATCH_REMOVE]: id } : { [BATCH_UNDO]: JSON.stringify(undoMember) }),
      ...(complete !== undefined && { [BATCH_COMPLETE]: complete }),
    };
    try {
      done.set(step, { kind: step.kind, resource: await applyStep(client, step, { annotations, without: [] }) });
    } catch (cause) {
      throw new StepError(step, cause);
    }
  };
  const record = steps.findLast(({ op }) => op !== "remove") ?? steps.at(-1);
  if (!record) return { awaits: [], batch: [] };
  try {
    await mark(record, "");
    await inParallel(
      steps.filter((step) => step !== record),
      (step) => mark(step),
    );
    const { kind, resource } = done.get(record) ?? record;
    const decided = await decideBatch(client, { kind, resource }, id).catch((cause: unknown) => {
      throw new StepError(record, cause);
    });
    if (!decided || !isComplete(decided)) throw new StepError(record, new Conflict("changed", "the batch was undone"));
    done.set(record, { kind, resource: decided });
  } catch (error) {
    if (!(await undoBatch(client, [...done.values()]).catch(() => false))) throw error;
  }
  const batch = [...done.values()];
  const { kind, resource } = done.get(record) ?? record;
  const awaits = batch.map((one) => writtenRecord(one.kind, one.resource));
  const { generation: _, ...last } = writtenRecord(kind, resource);
  const { resourceVersion } = resource.metadata;
  // The mark of completion does not change the generation; but versions in a directory have no order.
  return { awaits: hasOrderedVersion(resource.metadata) ? [...awaits, { ...last, resourceVersion }] : awaits, batch };
}

/** Maximum attempts if status writes by others keep changing the resourceVersion. */
const ATTEMPTS = 16;

interface AnnotationChanges {
  readonly annotations: Readonly<Record<string, string>>;
  readonly without: readonly string[];
}

/** Applies a step's resource with these annotations in addition. */
async function applyStep(client: ResourceClient, step: ResourceStep, notes: AnnotationChanges): Promise<Resource> {
  const { kind } = step;
  if (step.op === "create") {
    const { metadata } = step.resource;
    const annotations = { ...metadata.annotations, ...notes.annotations };
    const resource = { ...step.resource, metadata: { ...metadata, annotations } };
    return client.apply(kind, resource, { manager: ADMIN_MANAGER, expect: "absent" });
  }
  let resource = step.resource;
  for (let attempt = 1; ; attempt++) {
    const wanted = step.op === "replace" ? step.wanted : { spec: resource.spec ?? {}, annotations: {}, without: [] };
    const { ours, managedFields } = divideByOwner(kind, resource, {
      spec: wanted.spec,
      annotations: { ...wanted.annotations, ...notes.annotations },
      without: [...wanted.without, ...notes.without],
    });
    try {
      return await client.apply(
        kind,
        { ...head(resource), ...ours },
        { ...expecting(resource), ...(managedFields && { managedFields }) },
      );
    } catch (error) {
      if (!(error instanceof Conflict) || error.reason !== "changed" || attempt === ATTEMPTS) throw error;
      const fresh = await client.get(refOf({ kind, resource }));
      if (!fresh || !isSameSpecAndOwners(resource, fresh)) throw error;
      resource = fresh;
    }
  }
}

/** Only the status or annotations of others differ. */
function isSameSpecAndOwners({ metadata: before, spec }: Resource, { metadata: now, spec: other }: Resource): boolean {
  const owners = ({ managedFields = [] }: Resource["metadata"]) =>
    JSON.stringify(
      managedFields
        .filter(({ subresource }) => !subresource)
        .map(({ manager, fieldsV1 }) => [manager, Object(fieldsV1)["f:spec"]]),
    );
  return before.uid === now.uid && JSON.stringify(spec) === JSON.stringify(other) && owners(before) === owners(now);
}

const head = ({ apiVersion, kind }: Resource) => ({ apiVersion, kind });

/** The owners of the changed fields were checked at this version: only at this version may they be taken over. */
const expecting = ({ metadata: { uid = "", resourceVersion = "" } }: Resource): ApplyOptions => ({
  manager: ADMIN_MANAGER,
  force: true,
  expect: { uid, resourceVersion },
});

const refOf = ({ kind, resource }: { readonly kind: ResourceKind; readonly resource: Resource }): Ref => ({
  kind,
  namespace: resource.metadata.namespace,
  name: resource.metadata.name,
});

const BATCH_ANNOTATIONS = [BATCH, BATCH_REMOVE, BATCH_COMPLETE, BATCH_UNDO];

/** Finishes one resource of a complete batch. */
export async function finishMember(client: ResourceClient, { kind, resource }: MarkedMember): Promise<void> {
  const { annotations = {}, uid } = resource.metadata;
  if (annotations[BATCH_REMOVE] !== undefined) {
    await client.remove(refOf({ kind, resource }), uid === undefined ? {} : { uid });
    return;
  }
  await removeMarks(client, { kind, resource });
}

/** Restores one resource of an incomplete batch to its previous state. */
async function undo(client: ResourceClient, { kind, resource }: MarkedMember): Promise<void> {
  const { annotations = {}, uid } = resource.metadata;
  if (annotations[BATCH_REMOVE] !== undefined) return removeMarks(client, { kind, resource });
  const before: unknown = JSON.parse(annotations[BATCH_UNDO] ?? "{}");
  if (before === null) {
    await client.remove(refOf({ kind, resource }), uid === undefined ? {} : { uid });
    return;
  }
  const { metadata = resource.metadata, spec } = before as Partial<Pick<Resource, "metadata" | "spec">>;
  if (!spec) return removeMarks(client, { kind, resource });
  await client.apply(kind, { ...head(resource), metadata, spec }, expecting(resource));
}

const isComplete = (resource: Resource): boolean => batchMark(resource)?.completes === true;

/** The value in the record of a batch that is undone. */
const UNDONE = "undone";

/**
 * Writes the decision about a batch into its record, unless another process has decided before: the first decision
 * counts.
 *
 * @returns the record after that; null: it is gone, or it belongs to no batch.
 */
async function decideBatch(
  client: ResourceClient,
  { kind, resource }: MarkedMember,
  decision: string,
): Promise<Resource | null> {
  let read = resource;
  for (let attempt = 1; ; attempt++) {
    const annotations = { [BATCH_COMPLETE]: decision };
    const { ours } = divideByOwner(kind, read, { spec: read.spec ?? {}, annotations });
    try {
      return await client.apply(kind, { ...head(read), ...ours }, expecting(read));
    } catch (error) {
      if (!(error instanceof Conflict) || error.reason !== "changed" || attempt === ATTEMPTS) throw error;
      const fresh = await client.get(refOf({ kind, resource }));
      const isOfBatch = fresh && annotationOf(fresh, BATCH) === annotationOf(resource, BATCH);
      if (!isOfBatch || fresh.metadata.uid !== resource.metadata.uid) return null;
      if (annotationOf(fresh, BATCH_COMPLETE) !== annotationOf(resource, BATCH_COMPLETE)) return fresh;
      read = fresh;
    }
  }
}

const annotationOf = ({ metadata }: Resource, name: string): string | undefined => metadata.annotations?.[name];

/** Restores all resources of a batch; true: the batch was complete after all, and stays. */
export async function undoBatch(client: ResourceClient, batch: readonly MarkedMember[]): Promise<boolean> {
  const record = batch.find(({ resource }) => annotationOf(resource, BATCH_COMPLETE) !== undefined);
  const decided = record && (await decideBatch(client, record, UNDONE));
  if (decided && isComplete(decided)) return true;
  await inParallel(batch, async (one) => {
    if (one !== record) await undo(client, one);
    else if (decided) await undo(client, { ...one, resource: decided });
  });
  return false;
}

const removeMarks = async (client: ResourceClient, { kind, resource }: MarkedMember): Promise<void> => {
  const step = {
    op: "replace",
    index: 0,
    kind,
    resource,
    wanted: { spec: resource.spec ?? {}, annotations: {}, without: BATCH_ANNOTATIONS },
  } as const;
  await applyStep(
    client,
    { ...step, division: divideByOwner(kind, resource, step.wanted) },
    { annotations: {}, without: [] },
  );
};

/** A resource's name derives from the entity's name, or from its id if it has none. */
function alreadyExists(step: ResourceStep): WriteFault {
  if (step.op !== "create") return changedFault(step.kind, step.resource.metadata.name);
  const { collection } = kinds[step.kind];
  const { key } = entities[collection];
  const name = entityNameOf(collection, step.entity);
  return key !== null && name !== undefined
    ? { kind: "unique", members: { [key]: name } }
    : { kind: "primary-key", id: step.entity.id };
}

/** Waits for all calls that have begun, then throws the first error. */
export async function inParallel<Item>(items: readonly Item[], run: (item: Item) => Promise<unknown>): Promise<void> {
  const left = [...items];
  const errors: unknown[] = [];
  const work = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined && errors.length === 0; item = left.shift())
      await run(item).catch((error: unknown) => errors.push(error));
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_CALLS }, work));
  if (errors.length > 0) throw errors[0];
}

/** A written resource in the form of the wait request. */
function writtenRecord(kind: Kind, { metadata }: Resource): WrittenResource {
  const { namespace, name, uid, generation, resourceVersion } = metadata;
  return {
    kind,
    namespace,
    name,
    ...(uid !== undefined && { uid }),
    // Status changes change the resourceVersion; Secrets have no generation.
    ...(generation !== undefined ? { generation } : resourceVersion !== undefined && { resourceVersion }),
  };
}

function removedRecord(
  kind: Kind,
  { namespace, name, uid }: Pick<Metadata, "namespace" | "name" | "uid">,
): WrittenResource {
  return { kind, namespace, name, ...(uid !== undefined && { uid }), deleted: true };
}
