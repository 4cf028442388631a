/** Annotations that choose how requests are distributed among the endpoints of a core Service. */
import { isToken, type UpstreamCookie } from "@sluice/model";
import type { Annotations } from "../annotations.ts";
import type { IngressEffects } from "../effects.ts";

const DEFAULT_COOKIE = "INGRESSCOOKIE";

/** A cookie of affinity takes precedence over a hash, and a hash over the algorithm, as in ingress-nginx. */
export function balancingEffects(annotations: Annotations): Pick<IngressEffects, "upstream" | "upstreamExtras"> {
  const algorithm = annotations.word("load-balance", ["round_robin", "ewma"]);
  const hash = hashOf(annotations);
  const affinity = affinityOf(annotations);
  const cookie = cookieOf(annotations);
  return {
    upstream: affinity ?? hash ?? (algorithm === "ewma" ? { algorithm: "latency" } : null),
    upstreamExtras: affinity === null ? {} : { cookie },
  };
}

const hashing = { algorithm: "consistent-hashing" } as const;

function affinityOf(annotations: Annotations): IngressEffects["upstream"] {
  const affinity = annotations.word("affinity", ["cookie"]);
  const given = annotations.text("session-cookie-name") ?? DEFAULT_COOKIE;
  // The name of a cookie is a token (RFC 6265, section 4.1.1).
  const name = isToken(given) ? given : DEFAULT_COOKIE;
  if (name !== given) annotations.reject("session-cookie-name", `expected the name of a cookie, not '${given}'`);
  const path = annotations.text("session-cookie-path") ?? "/";
  return affinity === undefined ? null : { ...hashing, hashOn: "cookie", hashOnCookie: name, hashOnCookiePath: path };
}

const seconds = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 } as const;

/** Each character of a label, as ingress-nginx allows them. A dot at the start has no meaning (RFC 6265, section 5.2.3). */
const DOMAIN = /^\.?((?:[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?\.)*[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?)$/i;

function cookieOf(annotations: Annotations): UpstreamCookie {
  const sameSite = annotations.word("session-cookie-samesite", ["None", "Lax", "Strict"]);
  const maxAge = annotations.integer("session-cookie-max-age", seconds);
  const expires = annotations.integer("session-cookie-expires", seconds);
  return {
    ...(sameSite !== undefined && { same_site: sameSite }),
    // Without the attribute Secure, browsers refuse a cookie with SameSite=None.
    ...((annotations.flag("session-cookie-secure") || sameSite === "None") && { secure: true }),
    ...domainOf(annotations),
    ...(maxAge !== undefined && { max_age: maxAge }),
    ...(expires !== undefined && { expires }),
  };
}

function domainOf(annotations: Annotations): Pick<UpstreamCookie, "domain"> {
  const name = "session-cookie-domain";
  const value = annotations.text(name);
  const [, domain] = DOMAIN.exec(value ?? "") ?? [];
  if (value !== undefined && domain === undefined) annotations.reject(name, `expected a host, not '${value}'`);
  return domain === undefined ? {} : { domain };
}

const ADDRESSES: ReadonlySet<string> = new Set(["$remote_addr", "$binary_remote_addr"]);
const PATHS: ReadonlySet<string> = new Set(["$uri", "$request_uri"]);

/** A single variable of nginx; combinations are not supported. */
function hashOf(annotations: Annotations): IngressEffects["upstream"] {
  const name = "upstream-hash-by";
  const text = annotations.text(name)?.replace(/^\$\{(\w+)\}$/, "$$$1");
  if (text === undefined) return null;
  if (ADDRESSES.has(text)) return { ...hashing, hashOn: "ip" };
  if (PATHS.has(text)) return { ...hashing, hashOn: "path" };
  const [, kind, of = ""] = /^\$(http|cookie|arg)_(\w+)$/.exec(text) ?? [];
  if (kind === "http") return { ...hashing, hashOn: "header", hashOnHeader: of.replaceAll("_", "-") };
  if (kind === "cookie") return { ...hashing, hashOn: "cookie", hashOnCookie: of };
  if (kind === "arg") return { ...hashing, hashOn: "query_arg", hashOnQueryArg: of };
  annotations.reject(name, `expected one of $remote_addr, $request_uri, $http_x, $cookie_x and $arg_x, not '${text}'`);
  return null;
}
