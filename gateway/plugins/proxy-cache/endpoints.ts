/** The endpoints of a plugin instance in the admin API: `caches` and `caches/{key}`. */
import { isUtf8 } from "node:buffer";
import type { EndpointRequest, EndpointResponse, PluginCache } from "@sluice/plugin-sdk";
import type { CacheEntry } from "./stored-response.ts";

export async function answerEndpoint(
  { method, path: [collection, key, ...more] }: EndpointRequest,
  { cache, isShared }: { readonly cache: PluginCache<CacheEntry>; readonly isShared: boolean },
): Promise<EndpointResponse | undefined> {
  if (collection !== "caches" || more.length > 0) return undefined;
  if (key === undefined) {
    if (method !== "DELETE") return { status: 405 };
    await cache.clear();
    return { status: 204, isShared };
  }
  if (method === "DELETE") return { status: (await cache.delete(key)) ? 204 : 404, isShared };
  if (method !== "GET") return { status: 405 };
  const entry = await cache.get(key);
  return entry === undefined ? { status: 404, isShared } : { status: 200, body: shown(entry), isShared };
}

/**
 * A stored response with the members that Kong shows, except the body of the request. The response's body is shown in
 * Base64 if it is not UTF-8. Of `Variants`, the names of the headers are shown.
 */
function shown(entry: CacheEntry): object {
  if ("vary" in entry) return { vary: entry.vary };
  const { status, headers, body, timestamp, ttl } = entry;
  return {
    status,
    headers: headersByName(headers),
    ...(isUtf8(body) ? { body: body.toString() } : { body_base64: body.toString("base64") }),
    body_len: body.length,
    timestamp: Math.floor(timestamp / 1000),
    ttl,
    version: 1,
  };
}

function headersByName(flat: readonly string[]): Readonly<Record<string, string | readonly string[]>> {
  const byName = new Map<string, string[]>();
  for (let at = 0; at < flat.length; at += 2) {
    const name = (flat[at] ?? "").toLowerCase();
    byName.set(name, [...(byName.get(name) ?? []), flat[at + 1] ?? ""]);
  }
  return Object.fromEntries(
    [...byName].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  ) as Record<string, string | string[]>;
}
