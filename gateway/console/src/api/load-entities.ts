/** Reads whole collections, page by page. */
import { read } from "./client.ts";

export interface EntityRecord {
  readonly id: string;
  readonly [member: string]: unknown;
}

interface EntityPage {
  readonly data: readonly EntityRecord[];
  readonly offset?: string;
}

export interface EntityList {
  readonly entities: readonly EntityRecord[];
  /** Whether the collection has more entities than are read. */
  readonly isTruncated: boolean;
}

/** More entities than this are not read: a browser would need gigabytes. */
export const MAX_ENTITIES = 20_000;

const PAGE_SIZE = 1000;

/** @param report Called after each page with the number of entities so far. */
export async function loadEntities(
  path: string,
  {
    signal,
    report = () => {},
    max = MAX_ENTITIES,
  }: { signal?: AbortSignal; report?: (count: number) => void; max?: number } = {},
): Promise<EntityList> {
  const entities: EntityRecord[] = [];
  let offset: string | undefined;
  do {
    const size = `size=${PAGE_SIZE}`;
    const query = offset === undefined ? size : `${size}&offset=${encodeURIComponent(offset)}`;
    const page: EntityPage = await read(`${path}?${query}`, signal);
    entities.push(...page.data);
    report(entities.length);
    offset = page.offset;
  } while (offset !== undefined && entities.length < max);
  return { entities, isTruncated: offset !== undefined };
}
