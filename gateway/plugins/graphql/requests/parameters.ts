/** The parameters of GraphQL requests, and the forms in which services could read them in different ways. */
import { isRecord, repeatsName } from "@sluice/plugin-sdk";
import { malformedRequest, type Refusal } from "../refusals.ts";

/** The parameters of a request, whose types are not checked. */
export interface Parameters {
  readonly query?: unknown;
  readonly operationName?: unknown;
  readonly variables?: unknown;
  readonly extensions?: unknown;
  /** The id of a persisted document (GraphQL over HTTP, appendix A). */
  readonly documentId?: unknown;
  /** The id of a persisted document, as some clients of Relay send it. */
  readonly id?: unknown;
  /** The same, as Relay's guide to persisted queries names it. */
  readonly doc_id?: unknown;
}

const inUrl = ["query", "operationName", "variables", "extensions", "documentId"] as const;
const inBody = [...inUrl, "id", "doc_id"] as const;
const idsInBody: ReadonlySet<string> = new Set(["id", "doc_id"]);

/** A name as services compare it that ignore letter case: Go's JSON decoder also equates `ſ` with `s`. */
const folded = (name: string): string => name.toUpperCase().toLowerCase();

const namesByFolded = new Map(inBody.map((name) => [folded(name), name]));

/** Whether some services read a name as another one, because they ignore letter case. */
export const isVariantOf = (name: string, meant: string): boolean => name !== meant && folded(name) === folded(meant);

/** A parameter's name as PHP and Express read it: without leading spaces, and `query[a]` as a member of `query`. */
const simplified = (name: string): string => folded((name.trim().split(/[[.]/, 1)[0] ?? "").replaceAll("\0", ""));

/** Null: the text is not JSON. */
export function parsedJson(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

/**
 * Whether a parsed result has errors (GraphQL, October 2021, section 7.1.2): a list `errors` that is not empty, or
 * `errors` that are neither a list nor null.
 */
export function hasErrors(result: unknown): boolean {
  const errors = isRecord(result) ? (result.errors ?? null) : null;
  return Array.isArray(errors) ? errors.length > 0 : errors !== null;
}

/** Why the names of a JSON object are ambiguous; null: they are not. */
export function nameRefusal(members: Readonly<Record<string, unknown>>): Refusal | null {
  for (const name of Object.keys(members)) {
    const meant = namesByFolded.get(folded(name));
    if (meant !== undefined && meant !== name)
      return malformedRequest(`The request has a member whose name differs from ${meant} only by letter case`);
  }
  return null;
}

/** The parsed text, or why it is refused. */
export type JsonReading = { readonly value: unknown } | { readonly refusal: Refusal };

/** @param what The subject of a message, such as "The body" */
export function readJsonText(text: string, what: string): JsonReading {
  const parsed = parsedJson(text);
  if (parsed === null) return { refusal: malformedRequest(`${what} is not valid JSON`) };
  // Parsers differ in which of two members with one name they use (RFC 8259 section 4).
  if (repeatsName(Buffer.from(text), parsed.value))
    return { refusal: malformedRequest(`${what} has an object that repeats a name`) };
  return parsed;
}

/** The parameters of a URL's query, by the names of GraphQL over HTTP. */
export interface UrlParameters {
  readonly values: ReadonlyMap<string, string>;
  readonly refusal: Refusal | null;
}

const decoded = (text: string): string => [...new URLSearchParams(text).keys()][0] ?? "";

/**
 * @param query With its `?`, or empty
 * @param hasIds Whether `id` and `doc_id` name documents, as in a body: they may also be parameters of a page
 */
export function urlParameters(query: string, hasIds = false): UrlParameters {
  const values = new Map<string, string>();
  let refusal: Refusal | null = null;
  for (const [name, value] of new URLSearchParams(query)) {
    const meant = namesByFolded.get(simplified(name));
    if (meant === undefined || (!hasIds && idsInBody.has(meant))) continue;
    if (meant !== name) refusal ??= malformedRequest(`The URL has a parameter that some services read as ${meant}`);
    else if (values.has(name)) refusal ??= malformedRequest(`The URL has the parameter ${name} twice`);
    else values.set(name, value);
  }
  if (query.includes(";") && hasHiddenParameter(query))
    refusal ??= malformedRequest("The URL has a parameter of GraphQL after a semicolon, where some services read it");
  return { values, refusal };
}

/** Whether a service that separates parameters by semicolons too would find another parameter of GraphQL. */
const hasHiddenParameter = (query: string): boolean =>
  query.split("&").some((pair) =>
    pair
      .split(";")
      .slice(1)
      .some((part) => inUrl.some((name) => simplified(decoded(part)) === folded(name))),
  );
