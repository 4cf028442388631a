/**
 * Paths of routes in formats before 3.0, changed as by Kong's own migration (migrate_path_280_300). Those formats do
 * not mark regular expressions: a path is one if it has a character that `PLAIN` does not allow. Kong before 3.0
 * normalized plain paths when it stored them; from format 3.0 on, a document must contain their normal form.
 */
import { normalizePath } from "../../matching/path.ts";

const PLAIN = /^[a-zA-Z0-9.\-_~/%]*$/;

/**
 * The route with its regular expressions marked by `~` and its plain paths normalized. Paths that already start with
 * `~` stay as they are.
 */
export function migratePaths(route: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!Array.isArray(route.paths)) return route;
  return { ...route, paths: route.paths.map((path) => (typeof path === "string" ? migratePath(path) : path)) };
}

function migratePath(path: string): string {
  if (path.startsWith("~")) return path;
  // A malformed escape is left for the route's validation, which reports it.
  if (PLAIN.test(path)) return normalizePath(path) ?? path;
  return `~${path.replace(/%([\da-f]{2})/gi, decodeOnce)}`;
}

/**
 * The replacement for an escape in a regular expression. Kong before 3.0 percent-decoded paths when it stored them;
 * Kong 3.0 does not, so the migration decodes them once.
 */
function decodeOnce(encoded: string, hex: string): string {
  const character = String.fromCharCode(Number.parseInt(hex, 16));
  if ("!#$%&'()*+,/:;=?@[]".includes(character) || character > "\x7f") return encoded.toUpperCase();
  return ".^-{}\\|".includes(character) ? `\\${character}` : character;
}
