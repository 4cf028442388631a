/** Paths of other APIs in the grammar of a Route's `paths`. */
import { escapeRegex, normalizePath } from "@sluice/model";

export interface DerivedPaths {
  /** If there is a fault: the nearest paths that a Route can have. Their requests must be refused. */
  readonly paths: readonly string[];
  /** The path in the normal form of requests. */
  readonly path: string;
  /** Why the path cannot be used. */
  readonly fault?: string;
}

/** The model's limit for a path of a Route. */
const MAX_LENGTH = 1024;

/** Characters of a path that is too long: escaping at most doubles them. */
const MAX_START = 500;

const BROKEN_ESCAPE = /%(?![\dA-F]{2})/gi;

/** Half an escape or half a character at the end of a part of a path. */
const INCOMPLETE_END = /%.?$|[\uD800-\uDBFF]$/;

/** Matches only this path, which has the normal form. */
const exactly = (path: string): string => `~${escapeRegex(path)}$`;

/** Match only this path. */
export const exactPaths = (path: string): DerivedPaths => derive(path, (normal) => [exactly(normal)]);

/** Match whole elements of the path: `/foo` and `/foo/` match `/foo` and `/foo/bar`, and not `/foobar`. */
export const prefixPaths = (path: string): DerivedPaths =>
  derive(path, (normal) => {
    const folder = normal.endsWith("/") ? normal : `${normal}/`;
    return folder === "/" ? [folder] : [exactly(folder.slice(0, -1)), folder];
  });

function derive(given: string, pathsOf: (normal: string) => readonly string[]): DerivedPaths {
  const absolute = given.startsWith("/") ? given : `/${given}`;
  // A `%` that begins no escape is taken as the character itself.
  const path = normalizePath(absolute.replace(BROKEN_ESCAPE, "%25")) ?? "/";
  const paths = pathsOf(path);
  if (paths.some(({ length }) => length > MAX_LENGTH)) {
    const start = path.slice(0, MAX_START).replace(INCOMPLETE_END, "");
    const fault = `longer than ${MAX_LENGTH} characters as a regular expression`;
    return { paths: [`~${escapeRegex(start)}`], path, fault };
  }
  if (absolute !== given) return { paths, path, fault: "must begin with /" };
  const isBroken = normalizePath(given) === null;
  return { paths, path, ...(isBroken && { fault: "a % must be followed by two hexadecimal digits" }) };
}
