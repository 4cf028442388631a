/** The input of consistent hashing: the request's value for `hash_on`, else for `hash_fallback`. */
import { randomUUID } from "node:crypto";
import type { SnapshotUpstream, UpstreamCookie } from "@sluice/model";
import { type Exchange, lowerCase } from "@sluice/plugin-sdk";

/** The parts of an exchange that balancing uses. */
export interface BalancingRequest extends Pick<Exchange, "consumer" | "credential" | "responseHeaders"> {
  readonly request: Pick<Exchange["request"], "clientAddress" | "scheme" | "path" | "query" | "header">;
  readonly match: { readonly captures: Readonly<Record<string, string>> | null };
}

/** Null when there is nothing to hash. A client without the cookie to hash on gets a new cookie with the response. */
export function hashInputOf(upstream: SnapshotUpstream, view: BalancingRequest): string | null {
  const found = valueFrom("hash_on", upstream, view);
  return found !== null || upstream.hash_on === "none" ? found : valueFrom("hash_fallback", upstream, view);
}

function valueFrom(
  member: "hash_on" | "hash_fallback",
  upstream: SnapshotUpstream,
  view: BalancingRequest,
): string | null {
  const { request, match, consumer, credential } = view;
  switch (upstream[member]) {
    case "none":
      return null;
    case "consumer":
      return consumer?.id ?? credential?.id ?? null;
    case "ip":
      return request.clientAddress;
    case "header":
      return request.header(lowerCase(upstream[`${member}_header`] ?? "")) ?? null;
    case "cookie":
      return cookieOf(upstream, view);
    case "path":
      return request.path;
    case "query_arg":
      return argumentsNamed(upstream[`${member}_query_arg`] ?? "", request.query);
    case "uri_capture":
      return match.captures?.[upstream[`${member}_uri_capture`] ?? ""] ?? null;
  }
}

function cookieOf(
  { hash_on_cookie: name, hash_on_cookie_path: path, _sluice: extras }: SnapshotUpstream,
  { request, responseHeaders }: BalancingRequest,
): string | null {
  if (name === null) return null;
  for (const pair of request.header("cookie")?.split(";") ?? []) {
    const [sent = "", ...rest] = pair.split("=");
    const value = rest.join("=").trim();
    if (sent.trim() === name && value !== "") return value;
  }
  const given = randomUUID();
  const attributes = attributesOf(extras?.cookie, request.scheme === "https");
  responseHeaders.append("Set-Cookie", `${name}=${given}; Path=${path}; HttpOnly${attributes}`);
  return given;
}

function attributesOf(cookie: UpstreamCookie | undefined, isHttps: boolean): string {
  if (cookie === undefined) return "; SameSite=Lax";
  const { same_site = "Lax", secure = isHttps, domain, max_age, expires } = cookie;
  const expiry = expires === undefined ? "" : `; Expires=${new Date(Date.now() + expires * 1000).toUTCString()}`;
  const age = max_age === undefined ? "" : `; Max-Age=${max_age}`;
  const scope = domain === undefined ? "" : `; Domain=${domain}`;
  return `; SameSite=${same_site}${secure ? "; Secure" : ""}${scope}${age}${expiry}`;
}

/** All values of a query argument, sorted, so that their order in the query does not matter; null: there is none. */
function argumentsNamed(name: string, query: string): string | null {
  const values = new URLSearchParams(query).getAll(name);
  return values.length === 0 ? null : values.sort().join(",");
}
