/** Responses to the client with `request_style: nginx`, as those of nginx' auth_request and of ingress-nginx. */
import {
  type DirectResponse,
  type Exchange,
  ExchangeValues,
  type HttpResponse,
  headerValue,
  unexpectedError,
} from "@sluice/plugin-sdk";
import { authHeaderValues, isGrpcClient } from "./auth-response.ts";
import type { ForwardAuthConfig } from "./schema.ts";
import { withVariables } from "./variables.ts";

const challenges = (values: readonly string[]): Readonly<Record<string, readonly string[]>> =>
  values.length === 0 ? {} : { "WWW-Authenticate": values };

/** The response for one of the authorization server that does not admit the request. */
export function nginxRefusalOf(response: HttpResponse): DirectResponse {
  const { status } = response;
  if (status === 401) {
    return { status, message: "Unauthorized", headers: challenges(authHeaderValues(response, "www-authenticate")) };
  }
  if (status === 403) return { status, message: "Forbidden" };
  return unexpectedError(`forward-auth: the authorization server answered ${status}, and not 2xx, 401 or 403`);
}

/** The statuses to which nginx' add_header applies without `always`. */
const cookieStatuses: ReadonlySet<number> = new Set([200, 201, 204, 206, 301, 302, 303, 304, 307, 308]);

/** The cookies of the authorization server that await the response to the client. */
export class AuthCookies {
  readonly #cookies = new ExchangeValues<readonly string[]>();
  readonly #always: boolean;

  constructor({ always_set_cookies: always }: Pick<ForwardAuthConfig, "always_set_cookies">) {
    this.#always = always;
  }

  keepCookies(exchange: Exchange, response: HttpResponse): void {
    const cookies = authHeaderValues(response, "set-cookie");
    if (cookies.length > 0) this.#cookies.set(exchange, cookies);
  }

  apply(exchange: Exchange): void {
    const cookies = this.#cookies.get(exchange);
    if (cookies === undefined || !(this.#always || cookieStatuses.has(exchange.status))) return;
    for (const cookie of cookies) exchange.responseHeaders.append("Set-Cookie", cookie);
  }
}

/** The URL with the parameter that leads back to the requested page, unless it has the parameter already. */
function signinTemplate({ signin_url: url, signin_redirect_param: name }: ForwardAuthConfig): string {
  if (url === null) return "";
  const [base = "", ...queries] = url.split("?");
  const query = queries.join("?");
  const has = query.split("&").some((pair) => pair.startsWith(`${name}=`) && pair.length > name.length + 1);
  if (has) return url;
  return `${base}?${query === "" ? "" : `${query}&`}${name}=$scheme://$http_host$escaped_request_uri`;
}

/**
 * Returns a function that redirects to the login page if the response to the client is a 401 of the gateway, even one
 * of another plugin. gRPC clients do not follow redirects.
 */
export function signinRedirect(config: ForwardAuthConfig): (exchange: Exchange) => DirectResponse | null {
  const template = signinTemplate(config);
  return (exchange) => {
    if (exchange.status !== 401 || exchange.source !== "gateway" || isGrpcClient(exchange)) return null;
    const location = headerValue(withVariables(template, exchange));
    const headers = { Location: location, ...challenges(exchange.responseHeaderValues("www-authenticate")) };
    return { status: 302, headers, body: "" };
  };
}
