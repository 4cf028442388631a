/** Creation and update times of an entity according to its resource, as Unix time in seconds. */
import type { Metadata, Resource } from "../resource.ts";

/**
 * The admin listener's annotation with the entity's creation time. It is needed because the API server sets
 * creationTimestamp itself.
 */
export const CREATED_AT = "sluice.dev/created-at";
/** The admin listener's annotation with the time of the entity's last change. */
export const UPDATED_AT = "sluice.dev/updated-at";

/** The admin listener's field manager. */
const ADMIN = "sluice-admin";

/** Annotation with the times of nested entities, if they differ from the parent's: `{"<id>": [created, updated]}`. */
export const CHILD_TIMES = "sluice.dev/child-times";

type Times = Readonly<Record<string, readonly [created: number, updated: number]>>;

/** The times in `CHILD_TIMES` by entity id. Invalid entries are ignored: any client may have written the annotation. */
export function childTimes(annotation: string | undefined): Times {
  if (annotation === undefined) return {};
  try {
    const entries = Object.entries(Object(JSON.parse(annotation))).filter(
      ([, times]) => Array.isArray(times) && times.length === 2 && times.every((time) => Number.isFinite(time)),
    );
    return Object.fromEntries(entries) as Times;
  } catch {
    return {};
  }
}

interface ParentTimes {
  readonly created_at: number;
  readonly updated_at: number;
}

interface ChildEntity {
  readonly id: string;
  readonly created_at: number;
  /** Absent for credentials. */
  readonly updated_at?: number;
}

/** The value of `CHILD_TIMES` for a parent's children; undefined when all have the parent's times. */
export function writeChildTimes(parent: ParentTimes, children: readonly ChildEntity[]): string | undefined {
  const own = children
    .map(({ id, created_at, updated_at = parent.updated_at }) => ({ id, created_at, updated_at }))
    .filter(({ created_at, updated_at }) => created_at !== parent.created_at || updated_at !== parent.updated_at);
  if (own.length === 0) return undefined;
  return JSON.stringify(Object.fromEntries(own.map((child) => [child.id, [child.created_at, child.updated_at]])));
}

/** The object's own creationTimestamp, whatever its annotations say; undefined when it is missing. */
export const creationTimeOf = ({ creationTimestamp }: Metadata): number | undefined => unixTime(creationTimestamp);

/** The time in `CREATED_AT`, or else the object's creationTimestamp; undefined when both are missing. */
export const createdAt = ({ annotations, creationTimestamp }: Metadata): number | undefined =>
  annotated(annotations?.[CREATED_AT]) ?? unixTime(creationTimestamp);

/**
 * The latest of `UPDATED_AT` and the times of writes to anything but the status, or else the time of `createdAt`.
 *
 * The admin listener's own writes are ignored if the annotation `UPDATED_AT` exists. The API server gives these writes
 * later times than the annotation, and some of them, such as the end of a batch, do not change the entity.
 */
export function updatedAt(metadata: Metadata): number | undefined {
  const recorded = annotated(metadata.annotations?.[UPDATED_AT]);
  const writes = (metadata.managedFields ?? [])
    .filter(({ manager, subresource }) => !subresource && !(recorded !== undefined && manager === ADMIN))
    .map(({ time }) => unixTime(time));
  const times = [recorded, ...writes].filter((time) => time !== undefined);
  return times.length > 0 ? Math.max(...times) : createdAt(metadata);
}

/**
 * A version that changes whenever a change of the resource affects its entities in the admin API. A change of the
 * status alone does not change the version.
 */
export const timedVersionOf = ({ metadata }: Resource): string => {
  const { generation, resourceVersion, annotations } = metadata;
  return [generation ?? resourceVersion, createdAt(metadata), updatedAt(metadata), annotations?.[CHILD_TIMES]].join(
    " ",
  );
};

const annotated = (value: string | undefined): number | undefined =>
  value !== undefined && /^\d{1,12}$/.test(value) ? Number(value) : undefined;

function unixTime(timestamp: string | undefined): number | undefined {
  const milliseconds = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}
