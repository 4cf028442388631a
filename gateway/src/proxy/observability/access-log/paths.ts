/** Formats request targets for an access log with queries. */
import type { Snapshot } from "@sluice/model";
import { keyNamesOf, withoutKeys } from "../key-parameters.ts";
import type { PathFormatter } from "../request-records.ts";

const HIDDEN = "[redacted]";

/** Includes the query, but hides the values of all parameters from which any plugin reads keys or tokens. */
export const withQuery =
  (snapshot: () => Snapshot): PathFormatter =>
  ({ path, query }) =>
    query.length < 2 ? path : path + withoutKeys(query, keyNamesOf(snapshot()), HIDDEN);
