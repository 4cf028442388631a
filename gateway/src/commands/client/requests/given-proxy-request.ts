/** The request that `trace` and `bench` send through the gateway, as their arguments describe it. */
import { isIP } from "node:net";
import type { GivenArguments, GivenOption } from "@sluice/model/command-line";
import type { Dispatcher } from "undici";
import { sluiceVersion } from "../../../settings/version.ts";
import { CommandError, UsageError } from "../../command.ts";
import { readOptionFile, reasonOf } from "../admin-connection.ts";
import { givenBody, givenHeaders } from "./given-request.ts";

export interface ProxyRequest {
  readonly url: URL;
  readonly tls: { readonly ca?: string; readonly rejectUnauthorized: boolean; readonly servername?: string };
  readonly method: Dispatcher.HttpMethod;
  /** Includes `host`, which is by default the host of the URL that the user gave. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string | null;
}

/** @throws UsageError */
export async function givenProxyRequest({ positionals, options }: GivenArguments): Promise<ProxyRequest> {
  const { url, host, servername } = destinationOf(positionals[0] ?? "", options["proxy-url"]);
  const body = options.data === undefined ? null : await givenBody(String(options.data));
  const headers = Object.entries(givenHeaders(options.header)).map(
    ([name, [first = "", ...more]]) => [name.toLowerCase(), more.length > 0 ? [first, ...more] : first] as const,
  );
  const ca = options["proxy-cacert"];
  return {
    url,
    tls: {
      ...(typeof ca === "string" && { ca: await readOptionFile(ca) }),
      rejectUnauthorized: options["proxy-insecure"] !== true,
      ...(servername !== undefined && { servername }),
    },
    method: String(options.method ?? (body === null ? "GET" : "POST")) as Dispatcher.HttpMethod,
    headers: { host, "user-agent": `sluice/${sluiceVersion}`, ...Object.fromEntries(headers) },
    body,
  };
}

interface Destination {
  readonly url: URL;
  /** The host and port of the request. */
  readonly host: string;
  /** The server name of the TLS handshake; undefined for an address. */
  readonly servername: string | undefined;
}

/** @throws UsageError */
function destinationOf(given: string, proxy: GivenOption): Destination {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`expected a URL such as http://shop.example/cart, not '${given}'`);
  const { host, hostname } = url;
  const servername = isIP(hostname.replace(/^\[|\]$/g, "")) ? undefined : hostname;
  if (proxy === undefined) return { url, host, servername };
  const address = URL.parse(String(proxy));
  if (address === null || !/^https?:$/.test(address.protocol) || address.pathname !== "/" || address.search !== "")
    throw new UsageError(`--proxy-url: expected a URL without a path, such as http://127.0.0.1:8000, not '${proxy}'`);
  return { url: new URL(`${url.pathname}${url.search}`, address.origin), host, servername };
}

interface RequestError extends Error {
  readonly code?: string;
}

/** The error of a command whose request got no response. */
export function failureOf(error: RequestError, { origin }: URL): CommandError | UsageError {
  // undici has refused an argument, and has sent nothing.
  if (error.code === "UND_ERR_INVALID_ARG") return new UsageError(error.message);
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(error.code ?? ""))
    return new CommandError(
      `the certificate of ${origin} cannot be verified (${error.code}): name a file with its CA by --proxy-cacert`,
    );
  return new CommandError(
    `the request to ${origin} failed: ${reasonOf(error)}. If the proxy is not at the host and port of the URL, name it with ` +
      "--proxy-url",
  );
}
