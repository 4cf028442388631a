/** Checks the outline of a change from a request. Its items are checked when the change is applied. */
import type { Change } from "../document.ts";
import { entities } from "../entities/index.ts";
import { isRecord } from "../schema/walk.ts";
import type { Checked, Violation } from "../violation.ts";

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
