/** When an entity was created and changed, as its resource tells: Unix time in seconds. */
import type { Metadata } from "../resource.ts";

/** Written by the admin listener, because the API server sets creation times itself. */
export const CREATED_AT = "sluice.dev/created-at";
export const UPDATED_AT = "sluice.dev/updated-at";

/** When the holder of the resources got the object, whatever its annotations say. */
export const bornAt = ({ creationTimestamp }: Metadata): number | undefined => unixTime(creationTimestamp);

/** The annotation, else the creation of the object; undefined when it says neither. */
export const createdAt = ({ annotations, creationTimestamp }: Metadata): number | undefined =>
  annotated(annotations?.[CREATED_AT]) ?? unixTime(creationTimestamp);

/** The latest of the annotation and the writes to anything but the status; else the creation. */
export function updatedAt(metadata: Metadata): number | undefined {
  const writes = (metadata.managedFields ?? [])
    .filter(({ subresource }) => !subresource)
    .map(({ time }) => unixTime(time));
  const times = [annotated(metadata.annotations?.[UPDATED_AT]), ...writes].filter((time) => time !== undefined);
  return times.length > 0 ? Math.max(...times) : createdAt(metadata);
}

const annotated = (value: string | undefined): number | undefined =>
  value !== undefined && /^\d{1,12}$/.test(value) ? Number(value) : undefined;

function unixTime(timestamp: string | undefined): number | undefined {
  const milliseconds = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}
