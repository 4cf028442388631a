/**
 * Splits the saved state into parts by resource key, so that a change of one resource changes one part. A part consists
 * of gzipped lines, one per resource, in key order: equal content gives equal bytes.
 */
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { Resource } from "@sluice/crds";

/** The resources of each part, in key order. */
export type StateParts = readonly (readonly (readonly [key: string, resource: Resource])[])[];

const [zip, unzip] = [promisify(gzip), promisify(gunzip)];

/** Maximum average number of resources per part. */
const RESOURCES_PER_PART = 1000;
const MIN_PARTS = 16;
/** Maximum bytes of a part: a ConfigMap holds at most 1 MiB. */
export const MAX_PART_BYTES = 900 * 1024;
/** Maximum bytes of a decompressed part. It bounds the memory even for a part that no operator wrote. */
const MAX_UNZIPPED = 256 * 1024 * 1024;

/** FNV-1a: fast, and spreads the keys evenly enough. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** The number of parts for this many resources: a power of 2, so that it rarely changes. */
export function partCount(resources: number): number {
  let count = MIN_PARTS;
  while (count * RESOURCES_PER_PART < resources) count *= 2;
  return count;
}

export function splitIntoParts(
  resources: ReadonlyMap<string, Resource>,
  count = partCount(resources.size),
): StateParts {
  const parts: (readonly [string, Resource])[][] = Array.from({ length: count }, () => []);
  for (const entry of resources) parts[hashOf(entry[0]) % count]?.push(entry);
  for (const part of parts) part.sort(([one], [other]) => (one < other ? -1 : 1));
  return parts.filter((part) => part.length > 0);
}

/**
 * A resource as a line, without members that do not affect a document, such as status and managed fields. Parts are
 * encrypted because they may contain Secrets. Secrets have no generation: their resourceVersion shows which of two
 * versions is later.
 */
function lineOf(key: string, { apiVersion, kind, metadata, spec, data, type }: Resource): string {
  const { name, namespace, uid, generation, creationTimestamp, labels, annotations } = metadata;
  const resourceVersion = kind === "Secret" ? metadata.resourceVersion : undefined;
  const kept = { name, namespace, uid, generation, resourceVersion, creationTimestamp, labels, annotations };
  return `${JSON.stringify([key, { apiVersion, kind, metadata: kept, spec, data, type }])}\n`;
}

export const encodePart = (part: StateParts[number]): Promise<Buffer> =>
  zip(part.map(([key, resource]) => lineOf(key, resource)).join(""));

/** @throws when the bytes are not a part. */
export async function decodePart(bytes: Buffer): Promise<readonly (readonly [string, Resource])[]> {
  const text = (await unzip(bytes, { maxOutputLength: MAX_UNZIPPED })).toString("utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as readonly [string, Resource]);
}
