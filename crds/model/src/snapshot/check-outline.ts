/** Checks the outline of a document or change from a request. Its items are checked when it is applied. */
import type { Change, Document } from "../document.ts";
import { entities } from "../entities/index.ts";
import { isRecord } from "../schema/node.ts";
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

/** Plain data (a request's JSON) as a Change. */
export function checkChange(data: unknown): Checked<Change> {
  if (!isRecord(data)) return { violations: [{ path: [], message: "expected a record" }] };
  const { put = {}, remove = {}, endpoints, ...unknown } = data;
  const violations: Violation[] = [
    ...checkLists("put", put, () => true),
    ...checkLists("remove", remove, (id) => typeof id === "string"),
    ...Object.keys(unknown).map((member) => ({ path: [member], message: "unknown field" })),
  ];
  if (violations.length > 0) return { violations };
  // Endpoints are checked when the change is applied.
  return { value: { put, remove, ...(endpoints === undefined ? {} : { endpoints }) } as Change };
}

function checkLists(member: string, lists: unknown, accepts: (item: unknown) => boolean): readonly Violation[] {
  if (!isRecord(lists)) return [{ path: [member], message: "expected a record" }];
  return Object.entries(lists).flatMap(([collection, items]) => {
    const path = [member, collection];
    if (!Object.hasOwn(entities, collection)) return [{ path, message: "unknown field" }];
    if (!Array.isArray(items)) return [{ path, message: "expected an array" }];
    return items.flatMap((item, index) =>
      accepts(item) ? [] : [{ path: [...path, index], message: "expected a string" }],
    );
  });
}
