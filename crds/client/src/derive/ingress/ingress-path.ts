/** The paths of an Ingress as paths of a Route. */
import { compileRegex, escapeRegex, literalPrefix } from "@sluice/model";
import { type DerivedPaths, exactPaths, prefixPaths } from "../derived-paths.ts";
import type { IngressPath } from "./ingress-spec.ts";

/** If there is a fault, the requests must be refused: other paths of the host may protect less. */
export interface PathMatch extends DerivedPaths {
  /** Orders the routes of a host: exact paths first, then longer before shorter prefixes. */
  readonly priority: number;
}

/** Exact paths come before all prefixes. */
export const EXACT_PATH_PRIORITY = 2 ** 20;
/** The priorities of two paths are this far apart, so that routes of one path can differ in priority. */
const PRIORITIES_PER_PATH = 2 ** 8;
const MAX_LENGTH = EXACT_PATH_PRIORITY / PRIORITIES_PER_PATH - 1;

/**
 * The paths of a host on which an Ingress uses regular expressions: each path is one. It ignores case, and
 * matches the beginning of a request's path. The longest is tried first (ingress-nginx, "Ingress Path Matching").
 */
export function regexMatchOf({ path }: Pick<IngressPath, "path">): PathMatch {
  const priority = ofLength(path);
  const fault = faultOf(path);
  if (fault === undefined) return { paths: [`~/(?i)${path.slice(1)}`], path, priority };
  const prefix = literalPrefix(path)
    .replace(/\/{2,}/g, "/")
    .slice(1, MAX_PREFIX);
  return {
    paths: [`~/(?i)${escapeRegex(prefix)}`],
    path,
    priority,
    fault: `not a usable regular expression (${fault})`,
  };
}

const MAX_PREFIX = 500;
/** The model allows 1024 characters. */
const MAX_REGEX = 1000;

function faultOf(path: string): string | undefined {
  if (path.length > MAX_REGEX) return `longer than ${MAX_REGEX} characters`;
  if (path.includes("//")) return "must not have empty segments";
  return compileRegex(path).violations?.[0]?.message;
}

const ofLength = ({ length }: string): number => Math.min(length, MAX_LENGTH) * PRIORITIES_PER_PATH;

/**
 * `Prefix` compares whole elements of the path: `/foo` and `/foo/` match `/foo` and `/foo/bar`, and not `/foobar`
 * (Kubernetes documentation, Ingress, "Path types"). `ImplementationSpecific` is the same, as in ingress-nginx.
 */
export function matchOf({ path: given, pathType }: Pick<IngressPath, "path" | "pathType">): PathMatch {
  const derived = pathType === "Exact" ? exactPaths(given) : prefixPaths(given);
  const { path } = derived;
  if (pathType === "Exact") return { ...derived, priority: EXACT_PATH_PRIORITY + ofLength(path) };
  return { ...derived, priority: ofLength(path.endsWith("/") ? path : `${path}/`) };
}
