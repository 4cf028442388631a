/** Finds the access token of a request (RFC 6750 section 2), and removes it from the forwarded request. */
import { type Exchange, type ExchangeRequest, lowerCase, pairValues, withoutPairs } from "@sluice/plugin-sdk";
import type { OpenidConnectConfig } from "./schema.ts";

const PARAMETER = "access_token";
const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
/** Maximum bytes of a form that is read. */
export const MAX_FORM = 65_536;

export interface FoundToken {
  readonly text: string;
  /** Removes the token from the request to the upstream. */
  hide(exchange: Exchange): void;
}

/** The token of a request; undefined: it has none. The result is a promise only if the body is searched. */
export function findToken(
  exchange: Exchange,
  config: OpenidConnectConfig,
): FoundToken | undefined | Promise<FoundToken | undefined> {
  const { bearer_token_param_type: places, bearer_token_cookie_name: cookie } = config;
  const { request } = exchange;
  const found =
    (places.includes("header") ? inHeaders(exchange) : undefined) ??
    (places.includes("query") ? inQuery(exchange) : undefined) ??
    (places.includes("cookie") && cookie !== null ? inCookie(exchange, cookie) : undefined);
  if (found !== undefined || !places.includes("body")) return found;
  return isForm(request) ? inForm(exchange) : undefined;
}

export const isForm = (request: ExchangeRequest): boolean => FORM.test(request.header("content-type") ?? "");

function inHeaders({ request }: Exchange): FoundToken | undefined {
  for (const name of ["authorization", "access-token", "x-access-token"] as const) {
    const [value = ""] = request.headerValues(name);
    const [, text = name === "authorization" ? "" : value] = /^bearer +(\S+) *$/i.exec(value) ?? [];
    if (text !== "") return { text, hide: ({ upstreamHeaders }) => upstreamHeaders.remove(name) };
  }
  return undefined;
}

function inQuery({ request }: Exchange): FoundToken | undefined {
  const [text = ""] = pairValues(request.query.slice(1), PARAMETER);
  return text === "" ? undefined : { text, hide: (exchange) => exchange.removeQuery([PARAMETER]) };
}

function inCookie({ request }: Exchange, name: string): FoundToken | undefined {
  const isNamed = (pair: string) => pair.split("=", 1)[0]?.trim() === name;
  const pairs = (request.header("cookie") ?? "").split(";");
  const text = pairs.find(isNamed)?.split("=").slice(1).join("=").trim() ?? "";
  if (text === "") return undefined;
  const kept = pairs
    .filter((pair) => !isNamed(pair))
    .map((pair) => pair.trim())
    .join("; ");
  return {
    text,
    hide: ({ upstreamHeaders }) =>
      kept === "" ? upstreamHeaders.remove("Cookie") : upstreamHeaders.set("Cookie", kept),
  };
}

async function inForm({ request }: Exchange): Promise<FoundToken | undefined> {
  const body = await request.body(MAX_FORM);
  const form = body?.toString("latin1") ?? "";
  const [text = ""] = pairValues(form, PARAMETER);
  if (text === "") return undefined;
  return { text, hide: (exchange) => exchange.replaceBody(Buffer.from(withoutPairs(form, [PARAMETER]), "latin1")) };
}

/** The header in which the upstream gets the access token; null: the plugin sets no header for the token. */
export function tokenHeader(config: OpenidConnectConfig): { readonly name: string; readonly prefix: string } | null {
  const { upstream_access_token_header: text } = config;
  if (text === null) return null;
  const name = text.replace(/:bearer$/i, "");
  return { name: lowerCase(name), prefix: name === text ? "" : "Bearer " };
}
