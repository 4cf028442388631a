/**
 * What authentication plugins have in common: preflight requests, anonymous consumers, several plugins on a route,
 * challenges.
 */
import type { DirectResponse, Exchange } from "../exchange/exchange.ts";
import { headerValue } from "../exchange/header-value.ts";
import { unexpectedError } from "../exchange/unexpected-error.ts";
import type { PluginPhases } from "../plugin.ts";
import { type AuthenticatedIdentity, applyIdentity } from "./identify.ts";

/**
 * `identity`: the identity of a request with valid credentials. `refusal`: the response to a request without them,
 * unless there is an anonymous consumer. `response`: a response that is sent even if there is an anonymous consumer,
 * because it redirects to a login, refuses valid credentials, or reports that credentials cannot be checked.
 */
export type AuthenticationResult =
  | { readonly identity: AuthenticatedIdentity; readonly refusal?: undefined; readonly response?: undefined }
  | { readonly refusal: DirectResponse; readonly identity?: undefined; readonly response?: undefined }
  | { readonly response: DirectResponse; readonly identity?: undefined; readonly refusal?: undefined };

export interface AuthenticationOptions {
  /** The plugin's name, for the log. */
  readonly plugin: string;
  /** Id or username of the consumer to which requests without valid credentials are attributed; null: refuse them. */
  readonly anonymous: string | null;
  /** Whether OPTIONS requests need credentials too. Default: true. */
  readonly runOnPreflight?: boolean;
  authenticate(exchange: Exchange): AuthenticationResult | Promise<AuthenticationResult>;
}

/**
 * The access phase of an authentication plugin. If a route has several authentication plugins, each of them must accept
 * the request. However, a plugin with an anonymous consumer does not look for credentials once an earlier plugin has
 * accepted some.
 */
export function authenticationPhase(options: AuthenticationOptions): NonNullable<PluginPhases["access"]> {
  const { plugin, anonymous, runOnPreflight = true, authenticate } = options;

  function apply(exchange: Exchange, result: AuthenticationResult): DirectResponse | undefined {
    const { identity, refusal, response } = result;
    if (response !== undefined) return response;
    if (identity !== undefined) {
      applyIdentity(exchange, identity);
      return undefined;
    }
    if (anonymous === null) return refusal;
    const consumer = exchange.identities.consumer(anonymous);
    if (consumer === undefined) {
      return unexpectedError(`${plugin}: the consumer ${anonymous} of \`anonymous\` does not exist`);
    }
    applyIdentity(exchange, { consumer, credential: null });
    return undefined;
  }

  return (exchange) => {
    if (!runOnPreflight && exchange.request.method === "OPTIONS") return undefined;
    if (anonymous !== null && exchange.credential !== null) return undefined;
    const result = authenticate(exchange);
    return result instanceof Promise ? result.then((settled) => apply(exchange, settled)) : apply(exchange, result);
  };
}

/**
 * A challenge of WWW-Authenticate (RFC 9110 section 11.6.1), with the realm as a quoted string. Without a realm (null)
 * it is only the scheme.
 */
export const challengeOf = (scheme: string, realm: string | null): string =>
  realm === null ? scheme : `${scheme} realm="${headerValue(realm).replace(/["\\]/g, "\\$&")}"`;
