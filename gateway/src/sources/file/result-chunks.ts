/**
 * What was read of a file, on its way from the process that reads it. In one piece it would be a message of megabytes,
 * and what Node makes of that stays in the node's memory until the next collection of old garbage, which may be long.
 */
import type { Change, Checked, Collection } from "@sluice/model";
import { collections } from "@sluice/model/serving";
import type { FileReading } from "./read-file.ts";

/** Some of the entities that a change puts; or what was read, without what came before it. */
export type ResultChunk =
  | { readonly collection: Collection; readonly entities: readonly object[] }
  | { readonly read: Checked<FileReading> };

/** Entities in a message. */
const CHUNK_SIZE = 200;

export function* splitResult(read: Checked<FileReading>): Iterable<ResultChunk> {
  if (read.violations) return yield { read };
  const { put, ...rest } = read.value;
  for (const collection of collections) {
    const entities = (put[collection] ?? []) as readonly object[];
    for (let at = 0; at < entities.length; at += CHUNK_SIZE) {
      yield { collection, entities: deduplicated(entities.slice(at, at + CHUNK_SIZE)) };
    }
  }
  yield { read: { value: { ...rest, put: {} } } };
}

/**
 * The same entities, with one list or record where several are equal. As a copy keeps who is who, the node and each of
 * its workers have one, too: the references and protocols of 10,000 routes take megabytes.
 */
function deduplicated(entities: readonly object[]): readonly object[] {
  const known = new Map<string, unknown>();
  const shared = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const text = JSON.stringify(value);
    if (!known.has(text)) known.set(text, value);
    return known.get(text);
  };
  return entities.map((entity) =>
    Object.fromEntries(Object.entries(entity).map(([name, value]) => [name, shared(value)])),
  );
}

/** Puts messages together again. */
export class ResultAssembler {
  #put: Partial<Record<Collection, object[]>> = {};

  /** What was read, when that was the last message; null: there are others to come. */
  add(message: ResultChunk): Checked<FileReading> | null {
    if ("collection" in message) {
      const { collection, entities } = message;
      this.#put[collection] ??= [];
      this.#put[collection].push(...entities);
      return null;
    }
    const { read } = message;
    if (read.violations) return read;
    const put = this.#put as Change["put"];
    this.#put = {};
    return { value: { ...read.value, put } };
  }
}
