/**
 * Checks the outline of a document or change from a request: which members it has, and their types. The items are
 * checked when the document or change is applied.
 */

import { type Checked, isRecord, type Violation } from "@sluice/plugin-sdk";
import { type Change, type Document, perEndpointSection } from "../document.ts";
import { perCollection } from "../entities/index.ts";

const forms = {
  "a string": (value: unknown) => typeof value === "string",
  "a boolean": (value: unknown) => typeof value === "boolean",
  "a record": isRecord,
  "an array": Array.isArray,
  anything: () => true,
};
type Form = keyof typeof forms;

const lists = perCollection((): Form => "an array");

/** A violation for each member that is not expected, or that does not have the expected form. */
export function checkMembers(
  value: unknown,
  expected: Readonly<Record<string, Form>>,
  path: Violation["path"] = [],
): readonly Violation[] {
  if (!isRecord(value)) return [{ path, message: "expected a record" }];
  return Object.entries(value).flatMap(([member, given]) => {
    const form = Object.hasOwn(expected, member) ? expected[member] : undefined;
    if (form === undefined) return [{ path: [...path, member], message: "unknown field" }];
    return forms[form](given) ? [] : [{ path: [...path, member], message: `expected ${form}` }];
  });
}

const endpoints = perEndpointSection((): Form => "a record");

/** Checks the document's own `_sluice`; the `_sluice` of an entity is checked with the entity. */
const checkExtension = (extension: unknown): readonly Violation[] =>
  checkMembers(extension, { ...endpoints, listeners: "an array" }, ["_sluice"]);

/** Checks the `_sluice` of a file. Only the operator sets listeners, because it also reports whether nodes open them. */
export const checkFileExtension = (extension: unknown): readonly Violation[] =>
  isRecord(extension) && Object.hasOwn(extension, "listeners")
    ? [
        {
          path: ["_sluice", "listeners"],
          message: "only the operator sets listeners, for resources of the Gateway API",
        },
      ]
    : checkMembers(extension, endpoints, ["_sluice"]);

/**
 * Plain data (a request's JSON) as a Document. An unknown member is a violation: a node
 * that receives a document from a newer operator must refuse it instead of serving a part of it.
 */
export function checkFlatDocument(data: unknown): Checked<Document> {
  const extension = isRecord(data) && isRecord(data._sluice) ? data._sluice : {};
  const violations = [
    ...checkMembers(data, { _format_version: "a string", _transform: "a boolean", _sluice: "a record", ...lists }),
    ...checkExtension(extension),
  ];
  return violations.length > 0 ? { violations } : { value: data as Document };
}

/** Plain data (a request's JSON) as a Change. Endpoints and listeners are checked when the change is applied. */
export function checkChange(data: unknown): Checked<Change> {
  if (!isRecord(data)) return { violations: [{ path: [], message: "expected a record" }] };
  const { put = {}, remove = {} } = data;
  const violations = [
    ...checkMembers(put, lists, ["put"]),
    ...checkMembers(remove, lists, ["remove"]),
    ...Object.entries(isRecord(remove) ? remove : {}).flatMap(([collection, ids]) => checkIds(collection, ids)),
    ...checkMembers(data, {
      put: "anything",
      remove: "anything",
      listeners: "anything",
      ...perEndpointSection((): Form => "anything"),
    }),
  ];
  return violations.length > 0 ? { violations } : { value: { ...data, put, remove } as Change };
}

const checkIds = (collection: string, ids: unknown): readonly Violation[] =>
  (Array.isArray(ids) ? ids : []).flatMap((id, index) =>
    typeof id === "string" ? [] : [{ path: ["remove", collection, index], message: "expected a string" }],
  );
