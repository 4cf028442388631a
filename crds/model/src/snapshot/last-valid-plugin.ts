/**
 * A newer operator may give a plugin members that this node cannot read. The node then keeps the plugin's previous
 * version if its scope is unchanged, so that an upgrade does not turn served routes into 503 responses.
 */
import { isRecord } from "../schema/walk.ts";
import { digestOf } from "./hash-tree.ts";
import type { StoredEntity } from "./stored-entity.ts";

const unavailable = ({ _sluice }: Readonly<Record<string, unknown>>): unknown => Object(_sluice).unavailable;

/** Whether the check marked the plugin as unavailable, rather than its writer. */
export const isClosedHere = (raw: unknown, entity: StoredEntity): boolean =>
  unavailable(entity) !== undefined && isRecord(raw) && (unavailable(raw) ?? null) === null;

/** Whether the previous version is available and has the same scope. */
export const protectsAlike = (before: StoredEntity, now: StoredEntity): boolean =>
  unavailable(before) === undefined && scopeOf(before) === scopeOf(now);

const scopeOf = ({ name, enabled, route, service, consumer, protocols }: StoredEntity): string =>
  digestOf(Object.freeze({ name, enabled, route, service, consumer, protocols }));
