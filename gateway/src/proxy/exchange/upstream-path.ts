/** Joins service path and request path (docs/reference/kong-compatibility.md#upstream-paths). */

export interface UpstreamPathOptions {
  /** The service's path, at least `/`. */
  readonly base: string;
  /** The normalised request path. */
  readonly path: string;
  /** Length of the part of `path` that the route's path matched; 0 for a route without paths. */
  readonly matchedPath: number;
  readonly strip: boolean;
  /** v0 joins with exactly one slash; v1 (deprecated) concatenates. */
  readonly handling: "v0" | "v1";
}

export function upstreamPath(join: UpstreamPathOptions): string {
  const { base, path } = join;
  if (!join.strip) return join.handling === "v0" ? kept(base, path) : base + path.slice(1);
  const rest = withoutTraversal(join.matchedPath === 0 ? path.slice(1) : path.slice(join.matchedPath));
  if (join.handling === "v0") return stripped(base, path, rest);
  return base.endsWith("/") && rest.startsWith("/") ? base + rest.slice(1) : base + rest;
}

function kept(base: string, path: string): string {
  if (base.endsWith("/")) return base + path.slice(1);
  return path === "/" ? base : base + path;
}

function stripped(base: string, path: string, rest: string): string {
  const slashed = base.endsWith("/");
  if (rest !== "") return (slashed ? base : `${base}/`) + (rest.startsWith("/") ? rest.slice(1) : rest);
  if (!slashed) return path.length > 1 && path.endsWith("/") ? `${base}/` : base;
  return base === "/" || path.endsWith("/") ? base : base.slice(0, -1);
}

/** A leading dot segment, with the path parameters that servlet containers remove from it. */
const LEADING_DOTS = /^\.\.?(?:;[^/]*)?(?:\/|$)/;

/** A prefix that ends inside a segment (`/route` of `/route../x`) must not leave a dot segment behind. */
function withoutTraversal(rest: string): string {
  return rest.startsWith(".") ? rest.replace(LEADING_DOTS, "") : rest;
}
