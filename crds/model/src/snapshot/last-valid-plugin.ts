/**
 * While an operator or another writer is newer than a node, a plugin may get members that the node cannot read. Its
 * version before protects as long as it is attached to the same: an upgrade closes nothing that was served.
 */
import { isRecord } from "../schema/walk.ts";
import { digestOf } from "./hash.ts";
import type { Held } from "./held.ts";

const unavailable = ({ _sluice }: Readonly<Record<string, unknown>>): unknown => Object(_sluice).unavailable;

/** Whether it was marked as unavailable when it was checked, and not by its writer. */
export const isClosedHere = (raw: unknown, entity: Held): boolean =>
  unavailable(entity) !== undefined && isRecord(raw) && (unavailable(raw) ?? null) === null;

/** Whether the version before runs, and on the same requests. */
export const protectsAlike = (before: Held, now: Held): boolean =>
  unavailable(before) === undefined && scopeOf(before) === scopeOf(now);

const scopeOf = ({ name, enabled, route, service, consumer, protocols }: Held): string =>
  digestOf(Object.freeze({ name, enabled, route, service, consumer, protocols }));
