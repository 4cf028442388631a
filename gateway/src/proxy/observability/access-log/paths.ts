/** Formats request targets for the access log. */
import type { Snapshot } from "@sluice/model";
import { keyNamesOf, withoutKeys } from "../key-parameters.ts";
import type { PathFormatter } from "./record.ts";

/** Leaves out the query: this is the default, because people who may not see queries can often read log files. */
export const withoutQuery: PathFormatter = ({ path }) => path;

const HIDDEN = "[redacted]";

/** Includes the query, but hides the values of all parameters from which any plugin reads keys or tokens. */
export const withQuery =
  (snapshot: () => Snapshot): PathFormatter =>
  ({ path, query }) =>
    query.length < 2 ? path : path + withoutKeys(query, keyNamesOf(snapshot()), HIDDEN);
