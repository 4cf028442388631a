/**
 * Splits the result of reading a file into messages. A single message could be megabytes long, and the memory that Node
 * allocates for it would stay until the next major garbage collection, which may be much later.
 */
import type { Change, Checked, Collection } from "@sluice/model";
import { collections } from "@sluice/model/serving";
import type { FileReading } from "./read-file.ts";

/** Some of the entities to put; or, in the last message, the rest of the result. */
export type ResultChunk =
  | { readonly collection: Collection; readonly entities: readonly object[] }
  | { readonly read: Checked<FileReading> };

/** Maximum number of entities in a message. */
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
 * Replaces equal lists and records of the entities by one shared object. Structured clones keep shared objects shared,
 * so this saves memory in the node and its workers too: the references and protocols of 10,000 routes use megabytes.
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

/** Reassembles the result from its messages. */
export class ResultAssembler {
  #put: Partial<Record<Collection, object[]>> = {};

  /** The result if this was the last message; null: more messages follow. */
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
