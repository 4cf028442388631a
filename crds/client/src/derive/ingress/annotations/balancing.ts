/** Annotations that choose how requests are distributed among the endpoints of a core Service. */
import type { Annotations } from "./annotations.ts";
import type { IngressEffects } from "./effects.ts";

const DEFAULT_COOKIE = "INGRESSCOOKIE";

/** A cookie of affinity takes precedence over a hash, and a hash over the algorithm, as in ingress-nginx. */
export function balancingEffects(annotations: Annotations): Pick<IngressEffects, "upstream"> {
  const algorithm = annotations.word("load-balance", ["round_robin", "ewma"]);
  const hash = hashOf(annotations);
  return { upstream: affinityOf(annotations) ?? hash ?? (algorithm === "ewma" ? { algorithm: "latency" } : null) };
}

const hashing = { algorithm: "consistent-hashing" } as const;

function affinityOf(annotations: Annotations): IngressEffects["upstream"] {
  const affinity = annotations.word("affinity", ["cookie"]);
  const name = annotations.text("session-cookie-name") ?? DEFAULT_COOKIE;
  const path = annotations.text("session-cookie-path") ?? "/";
  return affinity === undefined ? null : { ...hashing, hashOn: "cookie", hashOnCookie: name, hashOnCookiePath: path };
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
