/** When an entity was created and changed, as its resource tells: Unix time in seconds. */
import type { Metadata } from "../resource.ts";

/** Written by the admin listener, because the API server sets creation times itself. */
export const CREATED_AT = "sluice.dev/created-at";
export const UPDATED_AT = "sluice.dev/updated-at";

/** The admin listener's field manager. */
const ADMIN = "sluice-admin";

/** Times of entities that stand inside a resource, where they differ from its own: `{"<id>": [created, updated]}`. */
export const CHILD_TIMES = "sluice.dev/child-times";

type Times = Readonly<Record<string, readonly [created: number, updated: number]>>;

/** What the annotation says, whoever wrote it: what is none of ours is passed over. */
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

interface Timed {
  readonly id: string;
  readonly created_at: number;
  readonly updated_at: number;
}

/** The annotation for the children of a parent; undefined when all have its times. */
export function writeChildTimes(parent: Omit<Timed, "id">, children: readonly Timed[]): string | undefined {
  const own = children.filter(
    ({ created_at, updated_at }) => created_at !== parent.created_at || updated_at !== parent.updated_at,
  );
  if (own.length === 0) return undefined;
  return JSON.stringify(Object.fromEntries(own.map((child) => [child.id, [child.created_at, child.updated_at]])));
}

/** When the holder of the resources got the object, whatever its annotations say. */
export const bornAt = ({ creationTimestamp }: Metadata): number | undefined => unixTime(creationTimestamp);

/** The annotation, else the creation of the object; undefined when it says neither. */
export const createdAt = ({ annotations, creationTimestamp }: Metadata): number | undefined =>
  annotated(annotations?.[CREATED_AT]) ?? unixTime(creationTimestamp);

/**
 * The latest of the annotation and the writes to anything but the status; else the creation.
 *
 * The admin listener's writes are told by its annotation: the API server dates them later, and some, as the end of a
 * batch, change nothing of the entity.
 */
export function updatedAt(metadata: Metadata): number | undefined {
  const told = annotated(metadata.annotations?.[UPDATED_AT]);
  const writes = (metadata.managedFields ?? [])
    .filter(({ manager, subresource }) => !subresource && !(told !== undefined && manager === ADMIN))
    .map(({ time }) => unixTime(time));
  const times = [told, ...writes].filter((time) => time !== undefined);
  return times.length > 0 ? Math.max(...times) : createdAt(metadata);
}

const annotated = (value: string | undefined): number | undefined =>
  value !== undefined && /^\d{1,12}$/.test(value) ? Number(value) : undefined;

function unixTime(timestamp: string | undefined): number | undefined {
  const milliseconds = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}
