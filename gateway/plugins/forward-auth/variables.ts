/**
 * Texts of the config with variables of nginx, such as `$host` or `${host}`. They are replaced with `request_style:
 * nginx` only.
 */
import { type Exchange, escapePath, type Violation } from "@sluice/plugin-sdk";

/**
 * Path and query of the request. The path is the one on which routes match, so that the server decides about the path
 * that was routed.
 */
export const requestUriOf = ({ request }: Exchange): string =>
  (escapePath(request.path) + request.query).replaceAll("#", "%23");

/** The client's Host without its port. */
export const clientHostOf = ({ request }: Exchange): string => request.host.replace(/:\d*$/, "");

interface Variable {
  readonly read: (exchange: Exchange) => string;
  /** A value for the check of a URL. */
  readonly sample: string;
}

const scheme: Variable = { read: ({ request }) => request.scheme, sample: "http" };

const variables: ReadonlyMap<string, Variable> = new Map<string, Variable>([
  ["escaped_request_uri", { read: (exchange) => encodeURIComponent(requestUriOf(exchange)), sample: "%2F" }],
  ["host", { read: clientHostOf, sample: "a.test" }],
  ["http_host", { read: ({ request }) => request.host, sample: "a.test" }],
  ["pass_access_scheme", scheme],
  ["remote_addr", { read: ({ request }) => request.clientAddress, sample: "192.0.2.1" }],
  ["request_method", { read: ({ request }) => request.method, sample: "GET" }],
  ["request_uri", { read: requestUriOf, sample: "/" }],
  ["scheme", scheme],
  ["uri", { read: ({ request }) => escapePath(request.path).replaceAll("#", "%23"), sample: "/" }],
]);

const VARIABLE = /\$(?:\{(\w+)\}|(\w+))?/g;

const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(VARIABLE)].map(([, braced, plain]) => braced ?? plain ?? "");

const replaced = (text: string, show: (variable: Variable) => string): string =>
  text.replace(VARIABLE, (whole, braced?: string, plain?: string) => {
    const variable = variables.get(braced ?? plain ?? "");
    return variable === undefined ? whole : show(variable);
  });

/** The text with the values of a request. */
export const withVariables = (text: string, exchange: Exchange): string =>
  text.includes("$") ? replaced(text, ({ read }) => read(exchange)) : text;

/** The text with values with which a URL can be checked. */
export const withSamples = (text: string): string => replaced(text, ({ sample }) => sample);

/** Scheme and authority of a URL. */
const ORIGIN = /^(?:https?|\$scheme|\$\{scheme\}):\/\/([^/?#]*)/i;

const authorityOf = (url: string): string => ORIGIN.exec(url)?.[1] ?? "";

/** Whether the client's Host selects the server to which the URL leads. */
export const isHostDependent = (url: string): boolean => authorityOf(url).includes("$");

/** Whether a text is the name or address of a host, so that it cannot end the authority of a URL. */
export const isHost = (text: string): boolean => /^(?:[\w.-]+|\[[\da-f:.]+\])$/i.test(text);

/** Variables that do not exist. */
export function variableViolations(path: Violation["path"], text: string): readonly Violation[] {
  const unknown = namesIn(text).find((name) => !variables.has(name));
  if (unknown === undefined) return [];
  const known = [...variables.keys()].map((name) => `$${name}`).join(", ");
  return [{ path, message: `unknown variable $${unknown}: the variables are ${known}` }];
}

/** Variables in the authority of the address, where only $host is safe: the client chooses the values. */
export function authorityViolations(path: Violation["path"], address: string): readonly Violation[] {
  if (!address.includes("$")) return [];
  if (!ORIGIN.test(address)) return [{ path, message: "must begin with http://, https:// or $scheme://" }];
  const unsafe = namesIn(authorityOf(address)).find((name) => name !== "host");
  if (unsafe === undefined) return [];
  return [{ path, message: `only $host may select the server, and not $${unsafe}, because the client chooses it` }];
}
