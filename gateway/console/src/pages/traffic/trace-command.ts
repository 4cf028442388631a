/** The command that sends a request with a debug token, and the durations in its response. */

interface CommandedRequest {
  readonly method: string;
  readonly url: string;
  readonly header: string;
  readonly token: string;
}

/** Quotes a word for a POSIX shell, because methods, hosts and paths come from clients. */
const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The command prints the head of the response only. */
export function curlCommand({ method, url, header, token }: CommandedRequest): string {
  const shown =
    method === "HEAD" ? ["--head"] : ["-o /dev/null -D -", ...(method === "GET" ? [] : [`-X ${shellWord(method)}`])];
  // Without --globoff and --path-as-is, curl would change URLs with brackets or with dots.
  return ["curl -s --globoff --path-as-is", ...shown, `-H ${shellWord(`${header}: ${token}`)}`, shellWord(url)].join(
    " ",
  );
}

export interface TimedStep {
  readonly name: string;
  /** Milliseconds; null: a name only, such as that of the route. */
  readonly duration: number | null;
  readonly description: string;
}

const METRIC = /([\w-]+)((?:\s*;\s*\w+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]*))*)/g;
const PARAMETER = /(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*))/g;

/** Reads the value of `Server-Timing`, or finds it among the lines of a response's head. */
export function readServerTiming(text: string): readonly TimedStep[] {
  const [, line] = /^server-timing:(.*)$/im.exec(text) ?? [];
  if (line === undefined && /^\S+:\s/m.test(text)) return [];
  return [...(line ?? text).matchAll(METRIC)].map(([, name = "", parameters = ""]) => {
    const values = new Map(
      [...parameters.matchAll(PARAMETER)].map(([, key = "", quoted, bare = ""]) => [
        key,
        quoted?.replaceAll(/\\(.)/g, "$1") ?? bare,
      ]),
    );
    const duration = Number(values.get("dur"));
    return {
      name,
      duration: values.has("dur") && Number.isFinite(duration) ? duration : null,
      description: values.get("desc") ?? "",
    };
  });
}
