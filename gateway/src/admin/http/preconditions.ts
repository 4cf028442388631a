/** Request preconditions: If-Match and If-None-Match (RFC 9110 section 13). */
import type { IncomingHttpHeaders } from "node:http";
import { preconditionFailed } from "./errors.ts";

/** The tags, with their quotes removed; `*`: any tag. */
type EntityTags = readonly string[] | "*";

export interface Preconditions {
  readonly match?: EntityTags;
  readonly noneMatch?: EntityTags;
}

export function readPreconditions(headers: IncomingHttpHeaders): Preconditions {
  const [match, noneMatch] = [headers["if-match"], headers["if-none-match"]];
  return {
    ...(match !== undefined && { match: tagsOf(match) }),
    ...(noneMatch !== undefined && { noneMatch: tagsOf(noneMatch) }),
  };
}

/** Tags without quotes are accepted too. */
function tagsOf(header: string): EntityTags {
  if (header.trim() === "*") return "*";
  return header.split(",").map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/, "$1"));
}

const includes = (tags: EntityTags, tag: string | null): boolean =>
  tag !== null && (tags === "*" || tags.includes(tag));

/**
 * Checks the preconditions of a write.
 *
 * @param what The kind of thing that has the ETag, for the message of the error.
 * @param tagOf Returns the current ETag; null: the entity does not exist. Only called if there is a condition.
 * @throws HttpError 412.
 */
export async function requirePreconditions(
  { match, noneMatch }: Preconditions,
  tagOf: () => Promise<string | null> | string | null,
  what = "entity",
): Promise<void> {
  if (match === undefined && noneMatch === undefined) return;
  const tag = await tagOf();
  if (match !== undefined && !includes(match, tag)) {
    const is = tag === null ? `there is no such ${what}` : `its ETag is "${tag}"`;
    throw preconditionFailed(`the ${what} does not match If-Match: ${is}`);
  }
  if (noneMatch !== undefined && includes(noneMatch, tag)) {
    throw preconditionFailed(`the ${what} matches If-None-Match: its ETag is "${tag}"`);
  }
}

/** For reads: whether the client already has the current version. */
export const isNotModified = ({ noneMatch }: Preconditions, tag: string): boolean =>
  noneMatch !== undefined && includes(noneMatch, tag);

export const etagHeader = (tag: string): { readonly ETag: string } => ({ ETag: `"${tag}"` });
