/** Formats request targets for the access log. */
import type { Snapshot } from "@sluice/model";
import type { PathFormatter } from "./record.ts";

/** The default, because people who may not see queries can often read log files. */
export const withoutQuery: PathFormatter = ({ path }) => path;

/** Some frameworks still accept `;` as a separator, as HTML 4.01 advised (B.2.2). */
const PAIR = /[^&;]+/g;

const HIDDEN = "[redacted]";

/**
 * Includes the query, but hides the values of all parameters from which any key-auth plugin reads keys. Routes without
 * key-auth are not excepted, because clients send their keys to wrong routes.
 */
export function withQuery(snapshot: () => Snapshot): PathFormatter {
  let of: Snapshot | null = null;
  let names: ReadonlySet<string> = new Set();
  return ({ path, query }) => {
    if (query.length < 2) return path;
    const current = snapshot();
    if (current !== of) {
      of = current;
      names = keyNames(current);
    }
    return `${path}?${query.slice(1).replace(PAIR, (pair) => (isKey(pair, names) ? hidden(pair) : pair))}`;
  };
}

const keyNames = ({ plugins }: Snapshot): ReadonlySet<string> =>
  new Set(
    plugins
      .values()
      .filter(({ name }) => name === "key-auth")
      .flatMap(({ config }) => (Array.isArray(config.key_names) ? config.key_names.map(String) : []))
      .map((name) => name.toLowerCase()),
  );

const nameOf = (pair: string): string => pair.split("=", 1)[0] ?? "";

const hidden = (pair: string): string => `${nameOf(pair)}=${HIDDEN}`;

/**
 * Whether a pair may hold a key. Case is ignored, and so are brackets after the name: key-auth does not read such a
 * parameter, but a client may have sent its key in it.
 */
function isKey(pair: string, names: ReadonlySet<string>): boolean {
  const name = nameOf(pair).replaceAll("+", " ");
  try {
    return names.has(plain(decodeURIComponent(name)));
  } catch {
    return true;
  }
}

const plain = (name: string): string => name.toLowerCase().replace(/\[.*$/s, "");
