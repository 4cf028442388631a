/**
 * Refuses requests of foreign web pages. Any page can make a browser on this machine send forms to a loopback address.
 * A page whose host name is rebound to 127.0.0.1 could even read the responses.
 */
import { isIP } from "node:net";

export interface BrowserHeaders {
  readonly method: string;
  readonly path: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The header Sec-Fetch-Site, which browsers send and pages cannot change. */
  readonly fetchSite: string | undefined;
}

/** For liveness and readiness probes, which carry no token and may use any host name. */
export const probePaths: readonly string[] = ["/healthz", "/livez", "/readyz"];

const readMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
/**
 * URLs that may be read under any host name. Under a foreign name, the responses leave out settings, nodes and
 * problems.
 */
const publicPaths: ReadonlySet<string> = new Set(["/", "/status", ...probePaths]);

/** The host names of the listener, and the origins of pages that may use it. */
export interface BrowserPolicy {
  readonly listenHost: string;
  readonly scheme: "http" | "https";
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** Whether every host name is accepted. True if callers must send a token: no page can make a browser send one. */
  readonly anyHost: boolean;
}

/** The reason for refusing the request, as a sentence; undefined when it is accepted. */
export function browserRefusal(
  { method, path, host, origin, fetchSite }: BrowserHeaders,
  policy: BrowserPolicy,
): string | undefined {
  const isReading = readMethods.has(method);
  if (!(isReading && publicPaths.has(path)) && isForeignHost(host, policy)) {
    return `this listener answers only for its own address, not for the host '${host ?? ""}'`;
  }
  if (isReading || (origin !== undefined && isAllowedOrigin(origin, policy.origins))) return undefined;
  if (fetchSite === "cross-site") return "writes that a browser sends for another web site are refused";
  if (origin !== undefined && !isSameOrigin(origin, host, policy))
    return `writes from the origin '${origin}' are refused`;
  return undefined;
}

/** Whether the host name may belong to a web page and have been rebound to this machine (DNS rebinding). */
export const isForeignHost = (host: string | undefined, policy: BrowserPolicy): boolean =>
  !policy.anyHost && !isOwnHost(host, policy);

export const isAllowedOrigin = (origin: string, origins: readonly string[]): boolean =>
  origins.some((one) => one.toLowerCase() === origin.toLowerCase());

/** Unless the listener is on loopback, any IP address is accepted as host: an IP address cannot be rebound. */
function isOwnHost(host: string | undefined, { listenHost: own, hosts }: BrowserPolicy): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:]*))(?::\d+)?$/.exec(host ?? "") ?? [];
  const name = (bracketed ?? plain ?? "").toLowerCase();
  if (name === "" || isLoopbackHost(name)) return name !== "";
  if (isIP(name) !== 0 && !isLoopbackHost(own.toLowerCase())) return true;
  return [own, ...hosts].some((one) => one.toLowerCase() === name);
}

const isSameOrigin = (origin: string, host: string | undefined, { scheme }: BrowserPolicy): boolean =>
  host !== undefined && origin.toLowerCase() === `${scheme}://${host.toLowerCase()}`;

/** Whether the name or address can only be reached from this machine. */
export function isLoopbackHost(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}
