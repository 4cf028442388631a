/** Annotations for cross-origin resource sharing, with the defaults of ingress-nginx. */
import { escapeRegex } from "@sluice/model";
import type { Annotations } from "../annotations.ts";
import type { PluginEffect } from "../effects.ts";

const DEFAULT_METHODS = ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"];
const DEFAULT_HEADERS = [
  ...["DNT", "Keep-Alive", "User-Agent", "X-Requested-With", "If-Modified-Since", "Cache-Control", "Content-Type"],
  ...["Range", "Authorization"],
];
const DEFAULT_MAX_AGE = 1_728_000;

const ORIGIN = /^([a-z][a-z0-9+.-]*:\/\/)(\*\.)?([a-z0-9.-]+(?::\d+)?)$/i;

export function corsEffects(annotations: Annotations): readonly PluginEffect[] {
  const name = "cors-allow-origin";
  const methods = annotations.list("cors-allow-methods") ?? DEFAULT_METHODS;
  const headers = annotations.list("cors-allow-headers") ?? DEFAULT_HEADERS;
  const exposed = annotations.list("cors-expose-headers");
  const credentials = annotations.flag("cors-allow-credentials") ?? true;
  const maxAge = annotations.integer("cors-max-age", { minimum: 0, maximum: 2 ** 31 - 1 }) ?? DEFAULT_MAX_AGE;
  const given = annotations.list(name) ?? ["*"];
  if (annotations.flag("enable-cors") !== true) return [];
  const origins = given.includes("*") ? ["*"] : given.flatMap(originOf);
  for (const bad of given)
    if (bad !== "*" && originOf(bad).length === 0) annotations.reject(name, `'${bad}' is not an origin`);
  if (origins.length === 0) return [];
  const config = {
    origins,
    methods: methods.map((method) => method.toUpperCase()),
    headers,
    ...(exposed && { exposed_headers: exposed }),
    // Browsers refuse "*" together with credentials, which ingress-nginx sends. Naming the origin of the request instead
    // would allow every site to send requests with the user's cookies.
    credentials: credentials && !origins.includes("*"),
    max_age: maxAge,
  };
  return [{ plugin: "cors", config, annotation: "enable-cors" }];
}

/** An origin of the plugin's config: `https://*.example.com` allows one label in place of the wildcard. */
function originOf(text: string): readonly string[] {
  if (text === "null") return [text];
  const [, scheme, wildcard, host = ""] = ORIGIN.exec(text) ?? [];
  if (scheme === undefined) return [];
  if (wildcard === undefined) return [text.toLowerCase()];
  return [`^${scheme}[A-Za-z0-9-]+\\.${escapeRegex(host)}$`];
}
