/**
 * The closed form of a route that cannot be served: a valid route that matches at least the same requests with at least
 * the same priority. A plugin that is attached to it answers 503.
 */
import { isRecord, memberSchemaOf, type Violation } from "@sluice/plugin-sdk";
import { entities } from "../../entities/index.ts";

type Members = Readonly<Record<string, unknown>>;

/** Matches every path, with the priority of a regular expression. */
const ANY_PATH = "~/";
const ANY_VALUE = "~*.*";
const HIGHEST_PRIORITY = 2 ** 31 - 1;
/** Maximum number of characters of a literal prefix: with escapes, it must still fit the length limit of paths. */
const MAX_PREFIX = 500;

/** Members that affect neither which requests a route matches nor its priority. */
const unrelatedToMatching: ReadonlySet<string> = new Set([
  "name",
  "created_at",
  "updated_at",
  "https_redirect_status_code",
  "strip_path",
  "preserve_host",
  "path_handling",
  "request_buffering",
  "response_buffering",
  "service",
]);

/** Members for Kong's expressions router, which Sluice does not have. */
const ofExpressions: ReadonlySet<string> = new Set(["expression", "priority"]);

/** The WebSocket protocols of Kong's paid editions, and the protocols in which Sluice serves WebSocket. */
const served: Readonly<Record<string, string>> = { ws: "http", wss: "https" };

/**
 * The closed form of a route. Undefined if no closed form is known for one of the violations, such as an invalid host:
 * a route without that host would lose to other routes.
 *
 * @param faults Violations whose paths start at the route.
 */
export function closedRoute(members: Members, faults: readonly Violation[]): Members | undefined {
  const closed: Record<string, unknown> = structuredClone(members);
  for (const { path } of faults) {
    const [member, item, value] = path;
    const name = String(member);
    if (ofExpressions.has(name)) return undefined;
    if (name === "paths") closed.paths = withClosedPath(closed.paths, item);
    else if (name === "headers" && value !== undefined && isRecord(closed.headers) && isText(item)) {
      closed.headers = { ...closed.headers, [item]: [ANY_VALUE] };
    } else if (name === "protocols" && Array.isArray(closed.protocols) && typeof item === "number") {
      const protocol = served[String(closed.protocols[item])];
      if (protocol === undefined) return undefined;
      closed.protocols = closed.protocols.with(item, protocol);
    } else if (name === "regex_priority") closed.regex_priority = HIGHEST_PRIORITY;
    else if (unrelatedToMatching.has(name) || !memberSchemaOf(entities.routes.schema, name)) delete closed[name];
    else return undefined;
  }
  if (Array.isArray(closed.protocols)) closed.protocols = [...new Set(closed.protocols)];
  return closed;
}

const isText = (value: unknown): value is string => typeof value === "string";

function withClosedPath(paths: unknown, at: unknown): readonly unknown[] {
  if (!Array.isArray(paths) || typeof at !== "number") return [ANY_PATH];
  const path: unknown = paths[at];
  if (!isText(path)) return [ANY_PATH];
  const prefix = path.startsWith("~") ? literalPrefix(path.slice(1)) : path;
  return paths.with(
    at,
    prefix.startsWith("/") ? `~${escapeRegex(mergeSlashes(prefix.slice(0, MAX_PREFIX)))}` : ANY_PATH,
  );
}

/** The literal as a regular expression. */
export const escapeRegex = (literal: string): string => literal.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The path of a route must not have empty segments, and the normalized path of a request has none. */
const mergeSlashes = (path: string): string => path.replace(/\/{2,}/g, "/");

/** An escape, a class, or a character. A class may contain POSIX classes; `]` is literal at its start. */
const TOKEN = /\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|./gsu;
const QUANTIFIER = /^[?*+{]$/;
/** Quoted text, a comment, or the flag `x`, which allows more comments: parentheses in these are not groups. */
const HIDING_PARENTHESES = /\\[QE]|\(\?#|\(\?\^?[a-wyzA-Z-]*x/;

/** The text with which every match of a regular expression starts; empty if none is known. */
export function literalPrefix(source: string): string {
  if (HIDING_PARENTHESES.test(source)) return "";
  const tokens = source.match(TOKEN) ?? [];
  let depth = 0;
  for (const token of tokens) {
    if (token === "(") depth++;
    else if (token === ")") depth--;
    else if (token === "|" && depth <= 0) return "";
  }
  let prefix = "";
  for (const [index, token] of tokens.entries()) {
    const character = literalOf(token);
    if (character === undefined || QUANTIFIER.test(tokens[index + 1] ?? "")) break;
    prefix += character;
  }
  return prefix;
}

function literalOf(token: string): string | undefined {
  if (/^[^\\[\]^$.|?*+(){}]$/su.test(token)) return token;
  return /^\\[^\p{L}\p{N}]$/u.test(token) ? token.slice(1) : undefined;
}
