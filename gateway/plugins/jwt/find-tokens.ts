/** Finds the tokens of a request, in the places that Kong searches. */
import { type Exchange, type ExchangeRequest, headerValuesOf, pairValues } from "@sluice/plugin-sdk";
import type { JwtConfig } from "./schema.ts";

/** The distinct tokens in the configured query parameters, cookies and headers. */
export function findTokens({ request }: Exchange, config: JwtConfig): ReadonlySet<string> {
  const tokens = new Set<string>();
  const query = request.query.slice(1);
  for (const name of query === "" ? [] : config.uri_param_names) {
    for (const token of pairValues(query, name)) tokens.add(token);
  }
  for (const name of config.cookie_names) tokens.add(cookieOf(request, name));
  for (const name of config.header_names) {
    const [value = ""] = headerValuesOf(request, name);
    tokens.add(/[Bb]earer\s+(.+)/.exec(value)?.[1] ?? "");
  }
  tokens.delete("");
  return tokens;
}

function cookieOf(request: ExchangeRequest, name: string): string {
  for (const pair of request.header("cookie")?.split(";") ?? []) {
    const [key = "", ...value] = pair.split("=");
    if (key.trim().toLowerCase() === name.toLowerCase()) return value.join("=").trim();
  }
  return "";
}
