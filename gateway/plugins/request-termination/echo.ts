/** The request as JSON, for `echo` in the config. */
import type { Exchange } from "@sluice/plugin-sdk";

/** Maximum bytes of a body that is echoed, because the whole body is kept in memory. Kong echoes at most 8 KiB. */
export const MAX_ECHOED_BODY = 64 * 1024;

type Values = string | true | (string | true)[];

/** An object of the pairs; a repeated name gets a list. It has no prototype, because clients choose the names. */
function membersOf(pairs: Iterable<readonly [name: string, value: string | true]>): Record<string, Values> {
  const members: Record<string, Values> = Object.create(null);
  for (const [name, value] of pairs) {
    const before = members[name];
    members[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return members;
}

/** Names and values of a query (with its `?`); true for a name without `=`. */
export function* queryPairs(query: string): Generator<readonly [name: string, value: string | true]> {
  for (const pair of query.slice(1).split("&")) {
    for (const [name, value] of new URLSearchParams(pair)) yield [name, pair.includes("=") ? value : true];
  }
}

function* headerPairs(raw: readonly string[]): Generator<readonly [name: string, value: string]> {
  for (let at = 0; at < raw.length; at += 2) {
    yield [(raw[at] ?? "").toLowerCase(), Buffer.from(raw[at + 1] ?? "", "latin1").toString("utf8")];
  }
}

/**
 * The request as JSON. Of the route and the service, it contains only ids and names: other members may be secret, such
 * as headers for the upstream.
 */
export async function echoOf(exchange: Exchange, message: string | undefined): Promise<string> {
  const { request, route, service } = exchange;
  const body = await request.body(MAX_ECHOED_BODY);
  const [, host = "", port] = /^(.*?)(?::(\d*))?$/.exec(request.host) ?? [];
  return JSON.stringify({
    message,
    request: {
      scheme: request.scheme,
      host,
      port: Number(port) || (request.scheme === "https" ? 443 : 80),
      headers: membersOf(headerPairs(request.rawHeaders)),
      query: membersOf(queryPairs(request.query)),
      raw_body: body?.toString("utf8"),
      method: request.method,
      path: request.path,
      uri_captures: { named: namedOnly(exchange.pathCaptures ?? {}) },
    },
    matched_route: { id: route.id, name: route.name },
    matched_service: service === null ? undefined : { id: service.id, name: service.name },
  });
}

const namedOnly = (captures: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(captures).filter(([name]) => !/^\d+$/.test(name)));
