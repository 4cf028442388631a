/** The response of the authorization server, and the parts of it that the upstream and the client receive. */
import {
  connectionHeaders,
  type DirectResponse,
  type Exchange,
  type HttpResponse,
  overrideHeaderEdit,
  purgeHeaderEdit,
} from "@sluice/plugin-sdk";
import type { ForwardAuthConfig } from "./schema.ts";

export const isGrpcClient = ({ request }: Exchange): boolean =>
  request.header("content-type")?.startsWith("application/grpc") === true;

export const isAdmission = ({ status }: HttpResponse): boolean => status >= 200 && status < 300;

export const authHeaderValues = (response: HttpResponse, name: string): readonly string[] =>
  [response.headers[name.toLowerCase()] ?? []].flat();

/** Removes from the client's request the headers that only the authorization server may set. */
export function removeAuthHeaders(exchange: Exchange, { auth_response_headers: names }: ForwardAuthConfig): void {
  for (const name of names) exchange.upstreamHeaders.apply(purgeHeaderEdit(name));
}

/**
 * Sets headers for the upstream and cookies for the client, after an admission. The headers also become part of the key
 * of proxy-cache: they may identify a user, who must not get a response that was cached for another user.
 */
export function applyAdmission(exchange: Exchange, response: HttpResponse, config: ForwardAuthConfig): void {
  const headers = config.auth_response_headers.map((name) => [name, authHeaderValues(response, name)] as const);
  for (const [name, values] of headers) {
    if (values.length > 0) exchange.upstreamHeaders.apply(overrideHeaderEdit(name, values.join(", ")));
  }
  exchange.shared.set("forward_auth_headers", JSON.stringify(headers));
  for (const cookie of authHeaderValues(response, "set-cookie")) {
    const name = cookie.split("=", 1)[0]?.trim() ?? "";
    if (config.add_auth_cookies_to_response.includes(name)) exchange.responseHeaders.append("Set-Cookie", cookie);
  }
}

/** The username or custom_id in the response header that names the consumer; undefined: the server names none. */
export function consumerNameOf(response: HttpResponse, header: string): string | undefined {
  const [value = ""] = authHeaderValues(response, header);
  // Header values have one character per byte (Latin-1); the bytes of the name are UTF-8.
  return value === "" ? undefined : Buffer.from(value, "latin1").toString("utf8");
}

/** The authorization server's response, as it is sent to the client. A gRPC client receives only the status. */
export function traefikRefusalOf(
  exchange: Exchange,
  response: HttpResponse,
  config: ForwardAuthConfig,
): DirectResponse {
  const { status, headers, body } = response;
  if (isGrpcClient(exchange)) {
    return { status, message: "the authorization server refused the request" };
  }
  const ofConnection = authHeaderValues(response, "connection").join().toLowerCase().split(",");
  const kept: string[] = [];
  for (const name of Object.keys(headers)) {
    if (connectionHeaders.has(name) || ofConnection.some((listed) => listed.trim() === name)) continue;
    for (const value of authHeaderValues(response, name)) {
      kept.push(name, name === "location" && !config.preserve_location_header ? resolved(value, config) : value);
    }
  }
  return { status, keptHeaders: kept, body };
}

const resolved = (location: string, { address }: ForwardAuthConfig): string =>
  URL.parse(location, address)?.href ?? location;
