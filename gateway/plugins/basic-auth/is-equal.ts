/** Comparison of hashes. It is apart from passwords.ts, so that the thread of hash-thread.ts loads little code. */
import { timingSafeEqual } from "node:crypto";

/** Compares strings of one character per byte in a time that does not depend on their content. */
export const isEqual = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one, "latin1"), Buffer.from(other, "latin1"));
