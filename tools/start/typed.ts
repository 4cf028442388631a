import { relative } from "node:path";

/** A path as a person in the project's folder can type it in a shell. */
export function typed(path: string): string {
  const short = relative(process.cwd(), path);
  const text = short === "" || short.startsWith("..") ? path : short;
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
