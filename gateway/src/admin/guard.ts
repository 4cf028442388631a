/**
 * Who may use a listener that has no authentication (house decision 14). Any web page can make a browser on this
 * machine send forms to a loopback address, and a page whose name is made to point at 127.0.0.1 could read the answers.
 */
import { isIP } from "node:net";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The header Sec-Fetch-Site, which browsers send and pages cannot change. */
  readonly fetchSite: string | undefined;
}

const reading: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
/** They tell nothing that is secret. */
const information: ReadonlySet<string> = new Set(["/", "/status"]);

/** Why the request is refused, as a sentence; undefined when it is not. `own` is the host that is listened on. */
export function refusal({ method, path, host, origin, fetchSite }: Asked, own: string): string | undefined {
  const isReading = reading.has(method);
  if (!(isReading && information.has(path)) && !isOwnHost(host, own)) {
    return `this listener answers only for its own address, not for the host '${host ?? ""}'`;
  }
  if (isReading) return undefined;
  if (fetchSite === "cross-site") return "writes that another web site makes a browser send are refused";
  if (origin !== undefined && !isSameOrigin(origin, host)) return `writes from the origin '${origin}' are refused`;
  return undefined;
}

function isOwnHost(host: string | undefined, own: string): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:]*))(?::\d+)?$/.exec(host ?? "") ?? [];
  const name = (bracketed ?? plain ?? "").toLowerCase();
  return name !== "" && (isLoopback(name) || name === own.toLowerCase());
}

const isSameOrigin = (origin: string, host: string | undefined): boolean =>
  host !== undefined && origin.toLowerCase() === `http://${host.toLowerCase()}`;

/** Names and addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}
