/** How much of a request's target the access log tells. */
import type { Snapshot } from "@sluice/model";
import type { PathFormatter } from "./record.ts";

/** Many log files are read by more people than may see what stands in a query. */
export const withoutQuery: PathFormatter = ({ path }) => path;

/** Some frameworks still take `;` for a separator, as HTML 4.01 advised (B.2.2). */
const PAIR = /[^&;]+/g;

const HIDDEN = "[redacted]";

/**
 * The query too, without the values of parameters that some key-auth plugin reads keys from: also on routes that have
 * none, because clients send their keys to the wrong place.
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

/** In any case, and with brackets behind it: such a name carries no key, but whoever wrote it thought so. */
function isKey(pair: string, names: ReadonlySet<string>): boolean {
  const name = nameOf(pair).replaceAll("+", " ");
  try {
    return names.has(plain(decodeURIComponent(name)));
  } catch {
    return true;
  }
}

const plain = (name: string): string => name.toLowerCase().replace(/\[.*$/s, "");
