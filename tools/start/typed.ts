import { relative } from "node:path";

/** A path that a user in the project's folder can type in a shell. */
export function typed(path: string): string {
  const short = relative(process.cwd(), path);
  const text = short === "" || short.startsWith("..") ? path : short;
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
