/** Ids of requests. */
import { randomFillSync } from "node:crypto";

const ID_BYTES = 16;
const pool = Buffer.allocUnsafe(ID_BYTES * 256);
let next = pool.length;

/** 32 random hex digits. Random bytes are generated for many ids at a time. */
export function newRequestId(): string {
  if (next === pool.length) {
    randomFillSync(pool);
    next = 0;
  }
  next += ID_BYTES;
  return pool.toString("hex", next - ID_BYTES, next);
}
