/** request-redirect: redirects requests to a changed URL. */
import { type DirectResponse, definePlugin, type ExchangeRequest } from "@sluice/plugin-sdk";
import { type RequestRedirectConfig, requestRedirectFacts } from "./schema.ts";

const badRequest: DirectResponse = { status: 400, message: "Bad request" };

/** The host and the port of a Host header; the port is "" if the header has none. */
function splitHost(host: string): readonly [host: string, port: string] {
  const [, name = "", port = ""] = /^(.*?)(?::(\d*))?$/.exec(host) ?? [];
  return [name, port];
}

const withoutSlash = (path: string): string => (path.endsWith("/") ? path.slice(0, -1) : path);

/** Replaces the prefix of a path if the path has it, by whole elements. */
function replacePrefix(path: string, prefix: string, replacement: string): string {
  const stripped = withoutSlash(prefix);
  if (!path.startsWith(stripped)) return path;
  const rest = path.slice(stripped.length);
  if (rest === "") return replacement;
  return rest.startsWith("/") ? withoutSlash(replacement) + rest : path;
}

export const requestRedirect = definePlugin({
  ...requestRedirectFacts,
  phases(config) {
    const { status_code: status } = config;

    return {
      access({ request }): DirectResponse {
        const location = locationOf(request, config);
        return location === undefined ? badRequest : { status, headers: { Location: location }, body: "" };
      },
    };
  },
});

/** Undefined: the Host of the request cannot be a part of a URL. The setters of `URL` encode invalid characters. */
function locationOf(request: ExchangeRequest, config: RequestRedirectConfig): string | undefined {
  const [sentHost, sentPort] = splitHost(request.host);
  const url = URL.parse(`${config.scheme ?? request.scheme}://${config.host ?? sentHost}`);
  if (url === null) return undefined;
  const { strip_prefix: prefix, add_prefix: replacement } = config;
  url.port = config.port === null ? (config.scheme === null ? sentPort : "") : `${config.port}`;
  url.pathname =
    config.path ?? (prefix === null ? request.path : replacePrefix(request.path, prefix, replacement ?? "/"));
  url.search = request.query;
  return url.href;
}
