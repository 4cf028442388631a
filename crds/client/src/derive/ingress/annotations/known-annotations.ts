/** What an annotation without effect in Sluice means for its Ingress. */

/** Accepted without effect: bodies are always streamed, and the other annotations only tune nginx. */
const harmless: ReadonlySet<string> = new Set([
  ...["proxy-buffering", "proxy-buffer-size", "proxy-buffers-number", "proxy-busy-buffers-size"],
  ...["proxy-request-buffering", "proxy-max-temp-file-size", "client-body-buffer-size", "proxy-http-version"],
  ...["connection-proxy-header", "http2-push-preload", "enable-access-log", "enable-rewrite-log"],
  ...["proxy-next-upstream-timeout", "preserve-trailing-slash", "use-port-in-redirects", "relative-redirects"],
  ...["ssl-ciphers", "ssl-prefer-server-ciphers", "disable-proxy-intercept-errors", "enable-opentelemetry"],
  ...["opentelemetry-trust-incoming-span", "opentelemetry-operation-name", "enable-owasp-core-rules"],
  ...["modsecurity-transaction-id", "auth-keepalive", "auth-keepalive-requests", "auth-keepalive-timeout"],
  ...["auth-keepalive-share-vars", "proxy-ssl-ciphers", "proxy-ssl-protocols"],
]);

/** The first words of the names of annotations that protect, whether or not ingress-nginx knows the whole name. */
const PROTECTING =
  /^(auth|limit|whitelist|allowlist|denylist|global-rate-limit|satisfy|enable-modsecurity|modsecurity|custom-headers|proxy-ssl|ssl-passthrough|proxy-body-size|force-ssl-redirect|ssl-redirect)(-|$)/;

const SNIPPET = /-snippet$/;

/** The annotations that protect. A snippet may protect. */
export const annotationMayProtect = (name: string): boolean => PROTECTING.test(name) || SNIPPET.test(name);

export const isHarmless = (name: string): boolean => harmless.has(name);

/** Why an annotation is not supported, and what to use instead. */
export function unsupportedMessage(name: string): string {
  if (SNIPPET.test(name))
    return (
      "configuration of nginx is not supported: use a Plugin instead, such as request-transformer or " +
      "response-transformer for headers, redirect, ip-restriction, request-termination or a plugin of your own"
    );
  return "this annotation is not supported";
}
