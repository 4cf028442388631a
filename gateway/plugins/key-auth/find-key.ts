/**
 * Finds the key of a request in Kong's order: tries one name after the other, each in the header, then in the query,
 * then in the body. Also removes keys from the forwarded request.
 */

import { type BodyMembers, type Exchange, headerValuesOf, pairValues, withDashes } from "@sluice/plugin-sdk";
import type { KeyAuthConfig } from "./schema.ts";

export type FoundKey =
  | { readonly key: string; readonly fault?: undefined }
  | { readonly key?: undefined; readonly fault: "absent" | "duplicate" };

/** Header values arrive as Latin-1, one character per byte; keys are UTF-8 everywhere. */
const utf8 = (latin1: string) => (ASCII.test(latin1) ? latin1 : Buffer.from(latin1, "latin1").toString("utf8"));
const ASCII = /^[ -~]*$/;

const NONE: readonly unknown[] = [];

const queryOf = ({ request }: Exchange) => request.query.slice(1);

/** A list or an object in JSON counts as more than one key, like a repeated name. */
const isNested = (value: unknown) => typeof value === "object" && value !== null;

/**
 * The key of a request, or why it has no usable key.
 *
 * @param members Members of the request's body; null: it has no readable members; undefined: it has not been read
 * @returns undefined when the result depends on the unread body
 */
export function findKey(
  exchange: Exchange,
  config: KeyAuthConfig,
  members: BodyMembers | null | undefined,
): FoundKey | undefined {
  for (const name of config.key_names) {
    let values: readonly unknown[] = config.key_in_header ? headerValuesOf(exchange.request, name) : NONE;
    const isHeader = values.length > 0;
    if (values.length === 0 && config.key_in_query) values = pairValues(queryOf(exchange), name);
    if (values.length === 0 && config.key_in_body) {
      if (members === undefined) return undefined;
      values = members?.values(name) ?? NONE;
    }
    const value = values[0];
    if (values.length > 1 || isNested(value)) return { fault: "duplicate" };
    if (typeof value === "string") return value === "" ? { fault: "absent" } : { key: isHeader ? utf8(value) : value };
  }
  return { fault: "absent" };
}

/**
 * Removes keys from the forwarded request: every configured name from the headers, the query and the body.
 *
 * @param body Members of the body; null when it has none, or is not searched for keys
 */
export function hideKey(exchange: Exchange, config: KeyAuthConfig, body: BodyMembers | null): void {
  const names = config.key_names;
  for (const name of names) {
    exchange.upstreamHeaders.remove(name);
    if (name.includes("_")) exchange.upstreamHeaders.remove(withDashes(name));
  }
  if (names.some((name) => pairValues(queryOf(exchange), name).length > 0)) exchange.removeQuery(names);
  if (body !== null && names.some((name) => body.values(name).length > 0)) exchange.replaceBody(body.without(names));
}
