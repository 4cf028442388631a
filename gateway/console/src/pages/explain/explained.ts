/** An explanation as sentences. */
import type { ExplainedPlugin, Explanation, PluginResult } from "@sluice/model";

export interface Verdict {
  readonly tone: "good" | "warning" | "bad";
  /** The status, or the place where the request goes. */
  readonly title: string;
  readonly sentence: string;
}

const nameOf = (entity: { readonly id: string; readonly name: string | null }): string => entity.name ?? entity.id;

/** Whether the URL is that of a connection instead of a request. */
export const isConnectionUrl = (url: string): boolean => /^(?:tcp|tls):/.test(url);

/** The result of the request or connection, and its cause. */
export function verdictOf({
  route,
  service,
  plugins,
  closed,
  response,
  upstream,
  unknown,
  log,
  candidates,
}: Explanation): Verdict {
  if (unknown !== null)
    return { tone: "warning", title: "Not known", sentence: `The explanation ends early: ${unknown}` };
  if (closed !== null) return { tone: "bad", title: "The gateway closes the connection", sentence: closed.reason };
  if (response !== null) {
    const { status } = response;
    const tone = status >= 400 ? "bad" : "good";
    const title = `The gateway answers ${status}`;
    const by = plugins.find(({ result }) => result === "answered" || result === "failed");
    if (by) {
      const what = by.result === "failed" ? "failed" : "answered";
      const why = by.reason ?? messageIn(response.body);
      return { tone, title, sentence: `The plugin ${by.name} ${what}${why === undefined ? "." : `: ${why}`}` };
    }
    if (route === null) {
      const [nearest] = candidates;
      const near = nearest ? ` The nearest is ${nameOf(nearest.route)}: ${nearest.reason}.` : "";
      return { tone, title, sentence: `No route matches.${near}` };
    }
    return {
      tone,
      title,
      sentence: log[0] ?? `The route ${nameOf(route)} matches, and the request cannot be sent to its service.`,
    };
  }
  if (upstream !== null)
    return {
      tone: "good",
      title: service ? `Goes to the service ${nameOf(service)}` : "Goes to the upstream",
      sentence: upstream.method === null ? upstream.url : `${upstream.method} ${upstream.url}`,
    };
  return { tone: "warning", title: "Not known", sentence: "The gateway gave no result." };
}

/** The message in a JSON body of the gateway. */
function messageIn(body: string): string | undefined {
  try {
    const { message } = Object(JSON.parse(body));
    return typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

export const pluginResults: Readonly<Record<PluginResult, { readonly label: string; readonly tone: string }>> = {
  ran: { label: "let it pass", tone: "good" },
  answered: { label: "answered", tone: "bad" },
  failed: { label: "failed", tone: "bad" },
  applies: { label: "acts on the response", tone: "good" },
  unknown: { label: "not known", tone: "warning" },
  "not reached": { label: "not reached", tone: "idle" },
  overridden: { label: "overridden", tone: "idle" },
  "other protocol": { label: "other protocol", tone: "idle" },
  disabled: { label: "disabled", tone: "idle" },
};

/** `route shop, consumer ann`, or `all requests`. */
export function scopeText({ scope }: ExplainedPlugin): string {
  const parts = Object.entries(scope).map(([kind, entity]) => `${kind.replace("_", " ")} ${nameOf(entity)}`);
  return parts.length === 0 ? "all requests" : parts.join(", ");
}

/** Reads `name: value` lines; a name may occur on several lines. Returns the error as a sentence. */
export function headersFromText(text: string): Readonly<Record<string, readonly string[]>> | string {
  const headers: Record<string, string[]> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const colon = line.indexOf(":");
    if (colon < 1) return `'${line.trim()}' is not a header: expected a line such as accept: application/json`;
    const name = line.slice(0, colon).trim();
    const values = headers[name] ?? [];
    headers[name] = values;
    values.push(line.slice(colon + 1).trim());
  }
  return headers;
}
