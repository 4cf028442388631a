/** Checks the outline of a flat document from a request. Its items are checked when the document is applied. */
import type { Document } from "../document.ts";
import { entities } from "../entities/index.ts";
import { isRecord } from "../schema/walk.ts";
import type { Checked, Violation } from "../violation.ts";

/** The expected types of members that are not collections. */
const heads: Readonly<Record<string, readonly [expected: string, holds: (value: unknown) => boolean]>> = {
  _format_version: ["a string", (value) => typeof value === "string"],
  _transform: ["a boolean", (value) => typeof value === "boolean"],
  _sluice: ["a record", isRecord],
};

/**
 * Plain data (a request's JSON) as a Document. An unknown member is a violation: a node
 * that receives a document from a newer operator must refuse it instead of serving a part of it.
 */
export function checkFlatDocument(data: unknown): Checked<Document> {
  if (!isRecord(data)) return { violations: [{ path: [], message: "expected a record" }] };
  const ours = isRecord(data._sluice) ? data._sluice : {};
  const violations = [
    ...Object.entries(data).flatMap(([member, value]) => checkMember(member, value)),
    ...Object.entries(ours).flatMap(([member, value]) => checkOurs(["_sluice", member], value)),
  ];
  return violations.length > 0 ? { violations } : { value: data as unknown as Document };
}

function checkMember(member: string, value: unknown): readonly Violation[] {
  const path = [member];
  const head = Object.hasOwn(heads, member) ? heads[member] : undefined;
  if (head !== undefined) return head[1](value) ? [] : [{ path, message: `expected ${head[0]}` }];
  if (!Object.hasOwn(entities, member)) return [{ path, message: "unknown field" }];
  return Array.isArray(value) ? [] : [{ path, message: "expected an array" }];
}

function checkOurs(path: readonly string[], value: unknown): readonly Violation[] {
  if (path.at(-1) !== "endpoints") return [{ path, message: "unknown field" }];
  return isRecord(value) ? [] : [{ path, message: "expected a record" }];
}
