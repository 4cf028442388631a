/** Splits writes into statements. */
import type { Write } from "../store.ts";
import { isUuid } from "./statements.ts";

/** Writes with their indexes among all writes. */
export type WriteBatch = readonly NumberedWrite[];

export interface NumberedWrite {
  readonly write: Write;
  readonly index: number;
}

/** Maximum writes per statement, so that it completes within the timeout. */
const MOST = 500;

/**
 * In order. The expected row of a conditional write is read before its statement runs, so no earlier write of the same
 * statement may change it.
 */
export function splitIntoBatches(writes: readonly Write[]): readonly WriteBatch[] {
  const batches: NumberedWrite[][] = [];
  let open: NumberedWrite[] = [];
  let written = new Set<string>();
  for (const [index, write] of writes.entries()) {
    const key = keyOf(write);
    const clashes = isConditional(write) && (key === undefined || written.has(key));
    if (batches.length === 0 || clashes || open.length === MOST) {
      open = [];
      written = new Set();
      batches.push(open);
    }
    open.push({ write, index });
    if (key !== undefined) written.add(key);
  }
  return batches;
}

/** Whether the write has an etag that the entity must match. */
export const isConditional = (write: Write): boolean => write.op !== "create" && write.etag !== undefined;

/** Undefined when the id is only known after the write. */
function keyOf(write: Write): string | undefined {
  const id = idOf(write);
  return id === undefined ? undefined : `${write.collection} ${id}`;
}

export function idOf(write: Write): string | undefined {
  if (write.op !== "remove") return write.entity.id.toLowerCase();
  return "id" in write.by && isUuid(write.by.id) ? write.by.id.toLowerCase() : undefined;
}
