/** Hides API keys and tokens in queries and cookies that are logged. */
import { pluginNamed, type Snapshot } from "@sluice/model/serving";

/** Some frameworks still accept `;` as a separator, as HTML 4.01 advised (B.2.2). */
const PAIR = /[^&;]+/g;
const COOKIE = /[^;\s][^;]*/g;

/** Matches most names, which are not encoded and have no brackets. */
const UNENCODED = /^[\w.-]*$/;

const known = new WeakMap<Snapshot, ReadonlySet<string>>();

/**
 * The names, in lower case, of query parameters, headers and cookies from which any plugin of the snapshot reads keys
 * or tokens. The names apply to routes without such a plugin too, because clients also send keys to routes by mistake.
 */
export function keyNamesOf(snapshot: Snapshot): ReadonlySet<string> {
  let names = known.get(snapshot);
  if (names === undefined) {
    names = readNames(snapshot);
    known.set(snapshot, names);
  }
  return names;
}

const readNames = ({ plugins }: Snapshot): ReadonlySet<string> =>
  new Set(
    plugins
      .values()
      .flatMap(({ name, config }) => pluginNamed(name)?.secretParameters?.(config) ?? [])
      .map((name) => name.toLowerCase()),
  );

/**
 * Replaces the values of the parameters that hold API keys or tokens.
 *
 * @param query With its `?`, or empty
 */
export const withoutKeys = (query: string, names: ReadonlySet<string>, hidden: string): string =>
  query.length < 2
    ? query
    : `?${query.slice(1).replace(PAIR, (pair) => (isKey(pair, names) ? `${nameOf(pair)}=${hidden}` : pair))}`;

/** Like `withoutKeys`, for the query of a request target or a URL. */
export function withoutKeysOfTarget(target: string, names: ReadonlySet<string>, hidden: string): string {
  const at = target.indexOf("?");
  return at < 0 ? target : target.slice(0, at) + withoutKeys(target.slice(at), names, hidden);
}

/** In the value of a `Cookie` or `Set-Cookie` header, replaces the values of the cookies that hold keys. */
export const withoutKeyCookies = (cookies: string, names: ReadonlySet<string>, hidden: string): string =>
  cookies.replace(COOKIE, (pair) => (isKey(pair, names) ? `${nameOf(pair)}=${hidden}` : pair));

const nameOf = (pair: string): string => (pair.split("=", 1)[0] ?? "").trimEnd();

/**
 * Whether a pair may hold a key. Case is ignored, and so are brackets after the name: key-auth does not read such a
 * parameter, but a client may have sent its key in it. A parameter whose name has a malformed escape may hold a key
 * too.
 */
function isKey(pair: string, names: ReadonlySet<string>): boolean {
  const sent = nameOf(pair);
  if (UNENCODED.test(sent)) return names.has(sent.toLowerCase());
  const name = sent.replaceAll("+", " ");
  try {
    return names.has(plain(decodeURIComponent(name)));
  } catch {
    return true;
  }
}

const plain = (name: string): string => name.toLowerCase().replace(/\[.*$/s, "");
