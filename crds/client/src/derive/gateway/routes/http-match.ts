/** The matches of an HTTPRoute as members of a Route, and their order of precedence. */
import { compileRegex, escapeRegex, literalPrefix, type RequestMatch, type ValueMatch } from "@sluice/model";
import { type DerivedPaths, exactPaths, prefixPaths } from "../../derived-paths.ts";
import type { HttpPathMatch, HttpRouteMatch, NamedValueMatch } from "../gateway-api.ts";

export interface TranslatedMatch {
  readonly paths: readonly string[];
  readonly methods: readonly string[];
  readonly match: RequestMatch | undefined;
  readonly priority: number;
  /** The prefix that matches, without a slash at its end; undefined unless the path is a prefix. */
  readonly prefix: string | undefined;
  /** Conditions that cannot be used. */
  readonly faults: readonly MatchFault[];
}

/** A condition that cannot be used. */
export interface MatchFault {
  /** The path of the field in the match. */
  readonly field: string;
  readonly message: string;
}

/** The model allows 1024 characters, with those that are added to a regular expression. */
const MAX_PATH = 1000;

/**
 * Conditions that cannot be used are left out, so that the match includes all requests that were meant; these have to
 * be refused.
 */
export function translateMatch({ path = {}, headers, queryParams, method }: HttpRouteMatch): TranslatedMatch {
  const { type = "PathPrefix", value = "/" } = path;
  const ofPath = pathOf({ type, value });
  // Of several matches for the same header, the first counts; names of headers have no case.
  const ofHeaders = valueMatches(headers, { list: "headers", keyOf: (name) => name.toLowerCase() });
  const ofQuery = valueMatches(queryParams, { list: "queryParams", keyOf: (name) => name });
  const match = {
    ...(ofHeaders.matches.length > 0 && { headers: ofHeaders.matches }),
    ...(ofQuery.matches.length > 0 && { query: ofQuery.matches }),
  };
  const isPrefix = type === "PathPrefix";
  return {
    paths: ofPath.paths,
    methods: method === undefined ? [] : [method],
    match: Object.keys(match).length > 0 ? match : undefined,
    priority: priorityOf({
      rank: ranks[type] ?? 0,
      length: Math.min(isPrefix ? withoutSlash(ofPath.path).length : ofPath.path.length, MAX_PATH),
      hasMethod: method !== undefined,
      headers: headers?.length ?? 0,
      query: queryParams?.length ?? 0,
    }),
    prefix: isPrefix ? withoutSlash(ofPath.path) : undefined,
    faults: [...ofPath.faults, ...ofHeaders.faults, ...ofQuery.faults],
  };
}

const withoutSlash = (path: string): string => (path.endsWith("/") ? path.slice(0, -1) : path);

/** Exact paths come first. The specification leaves the place of regular expressions open. */
const ranks = { PathPrefix: 0, RegularExpression: 1, Exact: 2 } as const;

interface PathResult extends Pick<DerivedPaths, "path" | "paths"> {
  readonly faults: readonly MatchFault[];
}

function pathOf({ type, value }: Required<HttpPathMatch>): PathResult {
  const faultsOf = (message: string | undefined) => (message === undefined ? [] : [{ field: "path.value", message }]);
  if (type !== "RegularExpression") {
    const { fault, ...derived } = type === "Exact" ? exactPaths(value) : prefixPaths(value);
    return { ...derived, faults: faultsOf(fault) };
  }
  const pattern = wholeMatch(value);
  const message = regexFault(value) ?? regexFault(pattern);
  if (message === undefined) return { path: value, paths: [`~${pattern}`], faults: [] };
  const prefix = literalPrefix(value)
    .replace(/\/{2,}/g, "/")
    .slice(0, MAX_PREFIX);
  return { path: value, paths: [`~${escapeRegex(prefix.startsWith("/") ? prefix : "/")}`], faults: faultsOf(message) };
}

const MAX_PREFIX = 500;

/** Syntax whose effect may extend beyond the end of an expression: alternatives, quoting by `\Q`, and flags. */
const OPEN_ENDED = /\||\\Q|\(\?/;

/**
 * A regular expression that matches only a whole path. The router finds expressions without a group faster. A Route's
 * expression must begin with `/`, and `/{0}` matches the empty string.
 */
const wholeMatch = (value: string): string => (OPEN_ENDED.test(value) ? `/{0}(?:${value})$` : `${value}$`);

function regexFault(value: string): string | undefined {
  if (value.length > MAX_PATH) return `longer than ${MAX_PATH} characters`;
  if (!value.startsWith("/")) return "must begin with /";
  if (value.includes("//")) return "must not have empty segments";
  const violation = compileRegex(value).violations?.[0];
  return violation && `not a usable regular expression: ${violation.message}`;
}

/** Conditions for the values of headers or query parameters. Of several for one name, the first counts. */
export function valueMatches(
  given: readonly NamedValueMatch[] = [],
  { list, keyOf }: { readonly list: "headers" | "queryParams"; readonly keyOf: (name: string) => string },
) {
  const matches = new Map<string, ValueMatch>();
  const faults: MatchFault[] = [];
  for (const [index, { type, name, value }] of given.entries()) {
    const isRegex = type === "RegularExpression";
    const violation = isRegex ? compileRegex(value).violations?.[0] : undefined;
    if (violation) {
      const message = `not a usable regular expression: ${violation.message}`;
      faults.push({ field: `${list}[${index}].value`, message });
    } else if (!matches.has(keyOf(name)))
      matches.set(keyOf(name), { name, value, ...(isRegex && { type: "regex" as const }) });
  }
  return { matches: [...matches.values()], faults };
}

interface Specificity {
  readonly rank: number;
  readonly length: number;
  readonly hasMethod: boolean;
  readonly headers: number;
  readonly query: number;
}

/**
 * The order of precedence of matches (Gateway API, "HTTPRouteRule"): exact paths, longer paths, a method, more headers,
 * more query parameters. The API allows 1024 characters, 16 headers and 16 parameters.
 */
function priorityOf({ rank, length, hasMethod, headers, query }: Specificity): number {
  const path = rank * 2 ** 11 + length;
  return ((path * 2 + Number(hasMethod)) * 2 ** 5 + headers) * 2 ** 5 + query;
}
