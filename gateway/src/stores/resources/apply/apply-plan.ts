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
  type Ref,
  type Resource,
  type ResourceClient,
} from "@sluice/crds";
import { entities, entityNameOf, kindFacts, type ResourceKind, type WrittenResource } from "@sluice/model";
import type { WriteFault } from "../../store.ts";
import { ADMIN_MANAGER, type DesiredFields, divideByOwner } from "../plan/field-ownership.ts";
import { refOfSecret } from "../plan/secrets.ts";
import type { ResourceStep, ResourceWritePlan } from "../plan/write-plan.ts";
import { hasOrderedVersion } from "../view/live-resources.ts";
import { changedFault, throwUnavailable, toWriteFault } from "./write-faults.ts";

/** A resource and its kind. A resource of a batch has its batch mark. */
export interface MarkedMember {
  readonly kind: ResourceKind;
  readonly resource: Resource;
}

export type ApplyPlanResult =
  | {
      /** The written or removed resources: the nodes must serve these changes. */
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
      /** The planned resource, if another writer has changed it since: a new plan may succeed. */
      readonly stale?: MarkedMember;
    };

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
    // No resource refers to these Secrets. Secrets that remain grant no access, and the next start removes them.
    await inParallel(made, (secret) => client.remove(refOfSecret(secret)).catch(() => false));
    const { step, cause } = error instanceof StepError ? error : { step: only, cause: error };
    if (!step) return throwUnavailable(cause);
    const { kind, resource, index } = step;
    const fault = toWriteFault(cause, { kind, name: resource.metadata.name }, alreadyExists(step));
    return { fault, index, ...(fault.kind === "changed" && { stale: { kind, resource } }) };
  }
}

/** A step that failed; `cause` is its error. */
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
    const written = await applyStep(client, step);
    return { awaits: [writtenRecord(kind, written)], batch: [], alone: { kind, resource: written } };
  }
  await removeResource(client, step);
  return { awaits: [{ ...recordOf(kind, resource), deleted: true }], batch: [] };
}

/**
 * One resource of the batch, its record, is written first and marked complete at the end. Undoing a batch changes the
 * record first; after that the batch can no longer be marked complete, however late the writer's calls arrive.
 */
async function applyBatch(client: ResourceClient, steps: readonly ResourceStep[]) {
  const id = randomUUID();
  const done = new Map<ResourceStep, MarkedMember>();
  const mark = async (step: ResourceStep, complete?: string): Promise<void> => {
    const undoMember = step.op === "replace" ? step.undo : null;
    const annotations = {
      [BATCH]: `${id}/${steps.length}`,
      ...(step.op === "remove" ? { [BATCH_REMOVE]: id } : { [BATCH_UNDO]: JSON.stringify(undoMember) }),
      ...(complete !== undefined && { [BATCH_COMPLETE]: complete }),
    };
    try {
      done.set(step, { kind: step.kind, resource: await applyStep(client, step, annotations) });
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
  // The mark of completion only changes the resourceVersion, so the nodes must also serve the record's last version.
  // In a directory, resource versions are not increasing numbers, so there they cannot be awaited.
  return { awaits: hasOrderedVersion(resource.metadata) ? [...awaits, { ...last, resourceVersion }] : awaits, batch };
}

/** Maximum attempts if status writes by other writers keep changing the resourceVersion. */
const ATTEMPTS = 16;

/** Applies a step's resource with these annotations in addition; a resource that is to be removed is only marked. */
async function applyStep(client: ResourceClient, step: ResourceStep, annotations: Annotations = {}): Promise<Resource> {
  const { kind, resource } = step;
  if (step.op === "create") {
    const { metadata } = resource;
    const marked = { ...resource, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
    return client.apply(kind, marked, { manager: ADMIN_MANAGER, expect: "absent" });
  }
  const wanted = step.op === "replace" ? step.wanted : undefined;
  return changeResource(client, step, { ...wanted, annotations: { ...wanted?.annotations, ...annotations } });
}

type Annotations = Readonly<Record<string, string>>;

/** Changes to a resource; without a spec, the spec stays as it is. */
type ResourceChanges = Pick<DesiredFields, "annotations" | "without"> & Partial<Pick<DesiredFields, "spec">>;

/**
 * Applies changes to a resource. Retries if other writers have changed only the status or their own annotations in the
 * meantime.
 */
const changeResource = (client: ResourceClient, member: MarkedMember, changes: ResourceChanges): Promise<Resource> =>
  applyChanges<never>(client, member, changes, (fresh, error) => {
    if (!fresh || !isSameSpecAndOwners(member.resource, fresh)) throw error;
    return undefined;
  });

/**
 * @param settle Returns the result after a change by another writer; undefined applies the changes to the fresh
 * resource.
 */
async function applyChanges<Other>(
  client: ResourceClient,
  { kind, resource }: MarkedMember,
  changes: ResourceChanges,
  settle: (fresh: Resource | null, error: Conflict) => Other | undefined,
): Promise<Resource | Other> {
  let read = resource;
  for (let attempt = 1; ; attempt++) {
    const { ours, managedFields } = divideByOwner(kind, read, { spec: read.spec ?? {}, ...changes });
    const options = { ...expecting(read), ...(managedFields && { managedFields }) };
    try {
      return await client.apply(kind, { ...head(read), ...ours }, options);
    } catch (error) {
      if (!(error instanceof Conflict) || error.reason !== "changed" || attempt === ATTEMPTS) throw error;
      const fresh = await client.get(refOf({ kind, resource }));
      const settled = settle(fresh, error);
      if (settled !== undefined || !fresh) return settled as Other;
      read = fresh;
    }
  }
}

/** Whether the spec and the managers of its fields are the same, so that only status and annotations may differ. */
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

/** The owners of the changed fields were checked at this version: the fields may be taken over at this version only. */
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

const removeResource = (client: ResourceClient, { kind, resource }: MarkedMember): Promise<boolean> => {
  const { uid } = resource.metadata;
  return client.remove(refOf({ kind, resource }), uid === undefined ? {} : { uid });
};

const BATCH_ANNOTATIONS = [BATCH, BATCH_REMOVE, BATCH_COMPLETE, BATCH_UNDO];

export const finishMember = (client: ResourceClient, member: MarkedMember): Promise<unknown> =>
  annotationOf(member.resource, BATCH_REMOVE) !== undefined
    ? removeResource(client, member)
    : removeMarks(client, member);

/** Restores one resource of an incomplete batch to its previous state. */
async function undo(client: ResourceClient, member: MarkedMember): Promise<unknown> {
  const { kind, resource } = member;
  if (annotationOf(resource, BATCH_REMOVE) !== undefined) return removeMarks(client, member);
  const before: Partial<Pick<Resource, "metadata" | "spec">> | null = JSON.parse(
    annotationOf(resource, BATCH_UNDO) ?? "{}",
  );
  if (before === null) return removeResource(client, member);
  const { metadata = resource.metadata, spec } = before;
  if (!spec) return removeMarks(client, member);
  return client.apply(kind, { ...head(resource), metadata, spec }, expecting(resource));
}

const isComplete = (resource: Resource): boolean => batchMark(resource)?.completes === true;

/** The value of the annotation `BATCH_COMPLETE` in the record of a batch that is undone. */
const UNDONE = "undone";

/**
 * Writes the decision about a batch into its record, unless another process has decided before: the first decision is
 * final.
 *
 * @returns The record with the final decision; null: the record is gone, or no longer belongs to the batch.
 */
function decideBatch(client: ResourceClient, member: MarkedMember, decision: string): Promise<Resource | null> {
  const { resource } = member;
  const changes = { annotations: { [BATCH_COMPLETE]: decision } };
  return applyChanges<Resource | null>(client, member, changes, (fresh) => {
    const isOfBatch = fresh && annotationOf(fresh, BATCH) === annotationOf(resource, BATCH);
    if (!isOfBatch || fresh.metadata.uid !== resource.metadata.uid) return null;
    return annotationOf(fresh, BATCH_COMPLETE) !== annotationOf(resource, BATCH_COMPLETE) ? fresh : undefined;
  });
}

const annotationOf = ({ metadata }: Resource, name: string): string | undefined => metadata.annotations?.[name];

/** Restores all resources of a batch. If the batch was complete after all, resolves to true and changes nothing. */
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

const removeMarks = (client: ResourceClient, member: MarkedMember): Promise<Resource> =>
  changeResource(client, member, { annotations: {}, without: BATCH_ANNOTATIONS });

/**
 * The fault if the resource exists already. The name of the resource derives from the name of the entity, so this name
 * is in use; for a nameless entity, the id is.
 */
function alreadyExists(step: ResourceStep): WriteFault {
  if (step.op !== "create") return changedFault(step.kind, step.resource.metadata.name);
  const { collection } = kindFacts[step.kind];
  const { key } = entities[collection];
  const name = entityNameOf(collection, step.entity);
  return key !== null && name !== undefined
    ? { kind: "unique", members: { [key]: name } }
    : { kind: "primary-key", id: step.entity.id };
}

/**
 * Calls `run` for all items, several at a time. After an error, no further call starts, and the function
 * rejects with the error when the calls under way have ended.
 */
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

/** A resource in the form of the wait request. */
const recordOf = (kind: Kind, { metadata: { namespace, name, uid } }: Resource): WrittenResource => ({
  kind,
  namespace,
  name,
  ...(uid !== undefined && { uid }),
});

function writtenRecord(kind: Kind, resource: Resource): WrittenResource {
  const { generation, resourceVersion } = resource.metadata;
  // The generation, if there is one (Secrets have none): changes of the status change the resourceVersion too.
  const version = generation !== undefined ? { generation } : resourceVersion !== undefined && { resourceVersion };
  return { ...recordOf(kind, resource), ...version };
}
