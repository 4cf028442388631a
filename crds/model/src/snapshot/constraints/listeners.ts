/** The listeners of a document or of a change. */
import { isRecord, type Violation } from "@sluice/plugin-sdk";
import { checkListener } from "../../check/listener.ts";
import type { DocumentListener } from "../../document.ts";
import { freezeDeep } from "../stored-entity.ts";

/** Listeners by name; null removes a listener. */
export type ChangedListeners = ReadonlyMap<string, DocumentListener | null>;

export interface CheckedListeners {
  /** Empty when there are violations. */
  readonly listeners: ChangedListeners;
  readonly violations: readonly Violation[];
}

const PATH: Violation["path"] = ["_sluice", "listeners"];

/** Checks the listeners of a change. */
export function checkChangedListeners(raw: unknown = {}): CheckedListeners {
  if (!isRecord(raw)) return refused([{ path: PATH, message: "expected a record" }]);
  const violations = Object.entries(raw).flatMap(([name, listener]) =>
    listener === null ? [] : faultsOf(listener, { path: [...PATH, name], name }),
  );
  if (violations.length > 0) return refused(violations);
  const listeners = Object.entries(raw as Readonly<Record<string, DocumentListener | null>>);
  return { listeners: new Map(listeners.map(([name, listener]) => [name, freezeDeep(listener)])), violations: [] };
}

/**
 * Checks the listeners of a whole document.
 *
 * @param previous The listeners before the document, which are removed unless the document has them.
 */
export function checkListenerList(
  raw: unknown = [],
  previous: ReadonlyMap<string, DocumentListener> = new Map(),
): CheckedListeners {
  if (!Array.isArray(raw)) return refused([{ path: PATH, message: "expected an array" }]);
  const violations = raw.flatMap((listener, index) => faultsOf(listener, { path: [...PATH, index] }));
  if (violations.length > 0) return refused(violations);
  const listeners = new Map<string, DocumentListener | null>([...previous.keys()].map((name) => [name, null]));
  const given = new Set<string>();
  for (const [index, listener] of (raw as readonly DocumentListener[]).entries()) {
    const { name } = listener;
    if (given.has(name)) violations.push({ path: [...PATH, index, "name"], message: `'${name}' is not unique` });
    given.add(name);
    listeners.set(name, freezeDeep(listener));
  }
  return violations.length > 0 ? refused(violations) : { listeners, violations };
}

const refused = (violations: readonly Violation[]): CheckedListeners => ({ listeners: new Map(), violations });

interface Place {
  readonly path: Violation["path"];
  /** The name that the listener must have. Absent: any. */
  readonly name?: string;
}

function faultsOf(listener: unknown, { path, name }: Place): readonly Violation[] {
  if (!isRecord(listener)) return [{ path, message: "expected a record" }];
  const violations = checkListener(listener).map((violation) => ({ ...violation, path: [...path, ...violation.path] }));
  if (violations.length > 0 || name === undefined || listener.name === name) return violations;
  return [{ path: [...path, "name"], message: `expected ${name}` }];
}
