/**
 * The table of ingress-nginx' annotations: the one list of what Sluice does with each. The reference page derives from
 * it.
 */

export interface AnnotationFacts {
  /** The effect in Sluice, or why there is none, as sentences of the reference page. */
  readonly effect: string;
  /** Whether the annotation is accepted without effect. Default false. */
  readonly ignored?: boolean;
  /** Whether the annotation may protect: if it cannot be honoured, the Ingress is closed. Default false. */
  readonly protects?: boolean;
  /** What to use instead of an annotation that is refused. */
  readonly instead?: string;
  /** Whether the annotation asks for nothing if its value is `false`. Default false. */
  readonly canBeOff?: boolean;
}

const streamed: AnnotationFacts = { effect: "Bodies are always streamed.", ignored: true };
const tuning: AnnotationFacts = { effect: "The annotation only tunes nginx.", ignored: true };
const logging: AnnotationFacts = { effect: "Configure logs and traces for the whole installation.", ignored: true };
const snippet: AnnotationFacts = {
  effect: "Configuration of nginx is refused.",
  protects: true,
  instead:
    "use a Plugin: request-transformer or response-transformer for headers, redirect, ip-restriction, " +
    "request-termination, or a plugin of your own",
};

const unsupported = (what: string, protects = false): AnnotationFacts => ({
  effect: `Not supported: ${what}.`,
  protects,
});
const rewrites = unsupported("responses are not rewritten");
/** What Sluice lacks, which may protect unless it is off. */
const unprotected = (what: string): AnnotationFacts => ({ ...unsupported(what, true), canBeOff: true });
const firewall = unprotected("there is no web application firewall");

export const annotationTable: Readonly<Record<string, AnnotationFacts>> = {
  affinity: {
    effect:
      "`cookie`: a cookie keeps a client at one endpoint (consistent hashing). Cookies of ingress-nginx are replaced.",
  },
  "affinity-canary-behavior": {
    effect: "A cookie always keeps its endpoint, even if the endpoint belongs to the canary.",
    ignored: true,
  },
  "affinity-mode": { effect: "Clients are distributed by consistent hashing.", ignored: true },
  "allowlist-source-range": {
    effect: "Only these addresses may send requests; others are answered with 403 (plugin ip-restriction).",
    protects: true,
  },
  "app-root": { effect: "Requests for exactly `/` are redirected to this path with 302." },
  "auth-always-set-cookie": {
    effect: "Cookies of the auth server are added to responses of every status.",
    protects: true,
  },
  "auth-cache-duration": { effect: "The auth server is asked for each request.", ignored: true },
  "auth-cache-key": { effect: "The auth server is asked for each request.", ignored: true },
  "auth-keepalive": tuning,
  "auth-keepalive-requests": tuning,
  "auth-keepalive-share-vars": tuning,
  "auth-keepalive-timeout": tuning,
  "auth-method": { effect: "The method of the request to the auth server. Default GET.", protects: true },
  "auth-proxy-set-headers": {
    effect: "Headers that the auth server receives. They are read from a ConfigMap in the namespace of the Ingress.",
    protects: true,
  },
  "auth-realm": {
    effect:
      "The realm of the challenge. Default `Authentication Required`. `off` is a realm, and does not switch off the authentication.",
  },
  "auth-request-redirect": {
    effect: "Value of the header X-Auth-Request-Redirect that the auth server receives.",
    protects: true,
  },
  "auth-response-headers": {
    effect:
      "Headers of the auth server's response that are sent to the upstream. Headers of the client with these names " +
      "are removed.",
    protects: true,
  },
  "auth-secret": {
    effect:
      "The Secret with users and hashes of their passwords, in the namespace of the Ingress (plugin basic-auth). It " +
      "needs no label. Users whose hash is not of the form MD5, SHA, bcrypt, SHA-256 or SHA-512 cannot log in.",
    protects: true,
  },
  "auth-secret-type": {
    effect: "`auth-file`: the entry `auth` is an htpasswd file. `auth-map`: each entry is a user with a hash.",
    protects: true,
  },
  "auth-signin": {
    effect: "Clients that the auth server refuses with 401 are redirected to this URL.",
    protects: true,
  },
  "auth-signin-redirect-param": {
    effect: "Name of the query parameter of `auth-signin` that contains the URL of the request. Default `rd`.",
  },
  "auth-snippet": snippet,
  "auth-tls-error-page": {
    effect: "Requests without a valid certificate are redirected to this URL with 302. Variables of nginx are refused.",
    protects: true,
  },
  "auth-tls-match-cn": {
    effect:
      "Regular expression for the subject of the client's certificate, such as `CN=machine`. Requests with another " +
      "subject are answered with 403.",
    protects: true,
  },
  "auth-tls-pass-certificate-to-upstream": {
    effect: "`true`: the upstream receives the client's certificate in the header ssl-client-cert.",
  },
  "auth-tls-secret": {
    effect:
      "All requests for the hosts of the Ingress, including those for other Ingresses with the same host, need a " +
      "client certificate from a CA in the entry `ca.crt` of this Secret (plugin mtls-auth). Requests without such a " +
      "certificate, and plain http requests, are answered with 400. If several Ingresses of a host have the " +
      "annotation, the annotation of the oldest Ingress is used. A Secret with `ca.crl` is refused.",
    protects: true,
  },
  "auth-tls-verify-client": {
    effect: "`on`, `optional`, `optional_no_ca` or `off`. The upstream gets the result in ssl-client-verify.",
    protects: true,
  },
  "auth-tls-verify-depth": {
    effect: "Maximum number of intermediate certificates, up to 8. Default 1.",
    protects: true,
  },
  "auth-type": { effect: "`basic` is accepted, `digest` is refused.", protects: true },
  "auth-url": {
    effect:
      "Requests are served if this server answers with a 2xx status (plugin forward-auth). 401 and 403 are passed to " +
      "the client; other answers become 500.",
    protects: true,
  },
  "backend-protocol": {
    effect: "`HTTP`, `HTTPS`, `GRPC` or `GRPCS`. The upstream's certificate is only verified with `proxy-ssl-verify`.",
  },
  canary: {
    effect:
      "`true`: the Ingress receives a part of the requests for another Ingress of its namespace. Both " +
      "Ingresses have a rule for the same host and path, and `pathType` is `Exact` in both rules or in neither. Other " +
      "annotations of the canary have no effect. Of several canaries, the oldest is used.",
  },
  "canary-by-cookie": {
    effect:
      "Name of a cookie. The canary receives all requests with the value `always`, and none with the value `never`.",
  },
  "canary-by-header": {
    effect:
      "Name of a header. The canary receives all requests with the value `always`, and none with the value `never`. " +
      "The header takes precedence over the cookie, and the cookie over the weight.",
  },
  "canary-by-header-pattern": {
    effect:
      "Regular expression for the value of the header `canary-by-header`, instead of `always` and `never`; case is " +
      "ignored.",
  },
  "canary-by-header-value": {
    effect:
      "Value of the header `canary-by-header` with which the canary receives the request, instead of `always` and " +
      "`never`; case is ignored.",
  },
  "canary-weight": {
    effect: "Part of the requests that the canary receives, out of `canary-weight-total`. Default 0.",
  },
  "canary-weight-total": { effect: "The value of `canary-weight` that stands for all requests. Default 100." },
  "client-body-buffer-size": streamed,
  "configuration-snippet": snippet,
  "connection-proxy-header": tuning,
  "cors-allow-credentials": {
    effect: "Whether cookies are allowed. They are never allowed together with the origin `*`, as in browsers.",
  },
  "cors-allow-headers": { effect: "Allowed request headers." },
  "cors-allow-methods": { effect: "Allowed methods." },
  "cors-allow-origin": {
    effect:
      "Allowed origins. `*.` stands for one label. Origins are compared in lower case, in which browsers send them. An " +
      "invalid list allows no origin, instead of all.",
  },
  "cors-expose-headers": { effect: "Response headers that pages may read." },
  "cors-max-age": { effect: "Seconds for which browsers may cache a preflight response." },
  "custom-headers": {
    effect:
      "Response headers from a ConfigMap in the namespace of the Ingress (plugin response-transformer). Every " +
      "header is allowed.",
    protects: true,
  },
  "custom-http-errors": unsupported("errors of the upstream are passed to the client"),
  "default-backend": unsupported("there is no backend for errors"),
  "denylist-source-range": { effect: "Requests from these addresses are answered with 403.", protects: true },
  "disable-proxy-intercept-errors": tuning,
  "enable-access-log": logging,
  "enable-cors": { effect: "Answers preflight requests and sets CORS headers (plugin cors)." },
  "enable-global-auth": { effect: "An installation has no global auth server.", ignored: true },
  "enable-modsecurity": firewall,
  "enable-opentelemetry": logging,
  "enable-owasp-core-rules": firewall,
  "enable-rewrite-log": logging,
  "fastcgi-index": unsupported("there is no FastCGI"),
  "fastcgi-params-configmap": unsupported("there is no FastCGI"),
  "force-ssl-redirect": {
    effect: "Plain http is redirected with 308, whether or not the host has a certificate.",
    protects: true,
  },
  "from-to-www-redirect": {
    effect: "Requests for the host with or without `www.` are redirected to the host of the rule with 308.",
  },
  "http2-push-preload": tuning,
  "limit-allowlist": { effect: "Addresses that are not limited." },
  "limit-burst-multiplier": {
    effect: "A client may send this multiple of the limit at once. Default 5.",
    protects: true,
  },
  "limit-connections": {
    effect:
      "Number of requests from one address that may be in progress; further requests are answered with 503 (plugin " +
      "concurrency-limiting).",
    protects: true,
  },
  "limit-rate": unsupported("the bandwidth of responses is not limited"),
  "limit-rate-after": unsupported("the bandwidth of responses is not limited"),
  "limit-rpm": { effect: "Requests per minute from one address, otherwise like `limit-rps`.", protects: true },
  "limit-rps": {
    effect:
      "Requests per second from one address on each node, with a burst; further requests are answered with 503 " +
      "(plugin rate-limiting). Requests for all paths of the Ingress are counted together.",
    protects: true,
  },
  "limit-whitelist": { effect: "The former name of `limit-allowlist`." },
  "load-balance": {
    effect: "`round_robin`, or `ewma`, for which Sluice uses the algorithm `latency` of its Upstreams.",
  },
  "mirror-host": { effect: "The header Host of the copies. Default: the host of `mirror-target`, without its port." },
  "mirror-request-body": { effect: "`on` is accepted, `off` is refused: copies always have the body." },
  "mirror-target": {
    effect:
      "Requests are copied to this server (plugin request-mirror): `https://HOST$request_uri`. A port and `/` may " +
      "follow the host. The forwarded request is copied, so its path may have been rewritten. Requests with a body of " +
      "more than 1 MiB are not copied. The certificate of the server is verified.",
  },
  "modsecurity-snippet": snippet,
  "modsecurity-transaction-id": { ...firewall, canBeOff: false },
  "opentelemetry-operation-name": logging,
  "opentelemetry-trust-incoming-span": logging,
  "permanent-redirect": {
    effect:
      "All requests are redirected to this URL (plugin redirect). `https://HOST$request_uri` keeps the path and query; " +
      "other variables of nginx are refused.",
    protects: true,
  },
  "permanent-redirect-code": { effect: "Status of the redirect, 300 to 308. Default 301." },
  "preserve-trailing-slash": { effect: "The redirect to https keeps trailing slashes.", ignored: true },
  "proxy-body-size": {
    effect:
      "Largest request body; a larger one is answered with 413 (plugin request-size-limiting). 0: no limit. Without " +
      "the annotation there is no limit, whereas ingress-nginx has a limit of 1m.",
    protects: true,
  },
  "proxy-buffer-size": streamed,
  "proxy-buffering": streamed,
  "proxy-buffers-number": streamed,
  "proxy-busy-buffers-size": streamed,
  "proxy-connect-timeout": { effect: "Timeout of a connection to the upstream in seconds. Default 5." },
  "proxy-cookie-domain": rewrites,
  "proxy-cookie-path": rewrites,
  "proxy-http-version": tuning,
  "proxy-max-temp-file-size": streamed,
  "proxy-next-upstream": {
    effect: "`off`: no request is sent again. Otherwise requests are sent again after a failed connection.",
  },
  "proxy-next-upstream-timeout": tuning,
  "proxy-next-upstream-tries": { effect: "Number of attempts. Default 3." },
  "proxy-read-timeout": { effect: "Maximum seconds between two reads from the upstream. Default 60." },
  "proxy-redirect-from": rewrites,
  "proxy-redirect-to": rewrites,
  "proxy-request-buffering": streamed,
  "proxy-send-timeout": { effect: "Maximum seconds between two writes to the upstream. Default 60." },
  "proxy-ssl-ciphers": tuning,
  "proxy-ssl-name": {
    effect:
      "The name that the upstream's certificate must have if it is verified. With `proxy-ssl-server-name`, or if the " +
      "certificate is verified, the name is also sent as the server name (SNI).",
    protects: true,
  },
  "proxy-ssl-protocols": tuning,
  "proxy-ssl-secret": {
    effect:
      "The Secret, in the namespace of the Ingress, with CA certificates for the upstream in the entry `ca.crt`, and a " +
      "client certificate in `tls.crt` and `tls.key`. Either may be absent.",
    protects: true,
  },
  "proxy-ssl-server-name": {
    effect: "`on`: `proxy-ssl-name` is sent as the server name (SNI). It needs no `proxy-ssl-secret`.",
    protects: true,
  },
  "proxy-ssl-verify": {
    effect:
      "`on`: the upstream's certificate is verified by the CA certificates of `proxy-ssl-secret`, and must be valid for " +
      "`proxy-ssl-name`. Both are required, and so is `backend-protocol: HTTPS` or `GRPCS`. If the certificate is " +
      "invalid, requests are answered with 502.",
    protects: true,
  },
  "proxy-ssl-verify-depth": {
    effect: "Maximum number of intermediate certificates, up to 64. Default 1.",
    protects: true,
  },
  "relative-redirects": tuning,
  "rewrite-target": {
    effect:
      "Replaces the path. `$1` to `$9` are the captured groups of the path. The path, like all paths of the host, is " +
      "then a regular expression (plugin request-transformer).",
  },
  satisfy: {
    effect:
      "`any`: clients with an address in `allowlist-source-range` need no password, and are not subject to `auth-url`; " +
      "other clients are admitted if their login is accepted. `any` is refused with `denylist-source-range`, and with " +
      "`auth-type` and `auth-url` together. Default `all`.",
    protects: true,
  },
  "server-alias": {
    effect:
      "Further hosts of all rules, as names or wildcards. A host that another Ingress has a rule for is not used.",
  },
  "server-snippet": snippet,
  "service-upstream": { effect: "Requests are sent to the Service's cluster address instead of its endpoints." },
  "session-cookie-change-on-failure": { effect: "A client moves when its endpoint fails.", ignored: true },
  "session-cookie-conditional-samesite-none": unsupported("all browsers get the same attribute SameSite"),
  "session-cookie-domain": { effect: "The attribute Domain of the cookie. Default: only the requested host." },
  "session-cookie-expires": {
    effect: "Seconds until the time in the attribute Expires of the cookie. Browsers use it only without Max-Age.",
  },
  "session-cookie-max-age": {
    effect: "The attribute Max-Age of the cookie. Default: the cookie ends with the session of the browser.",
  },
  "session-cookie-name": { effect: "Name of the cookie. Default INGRESSCOOKIE." },
  "session-cookie-path": { effect: "The attribute Path of the cookie. Default `/`." },
  "session-cookie-samesite": {
    effect: "`None`, `Lax` or `Strict`: the attribute SameSite of the cookie. Default `Lax`. `None` implies Secure.",
  },
  "session-cookie-secure": {
    effect:
      "`true`: the cookie always has the attribute Secure. Otherwise it has this attribute if the request has arrived " +
      "over https.",
  },
  "ssl-ciphers": tuning,
  "ssl-passthrough": unprotected("TLS is not passed through"),
  "ssl-prefer-server-ciphers": tuning,
  "ssl-redirect": {
    effect:
      "`false`: plain http requests are served even for hosts with a certificate. Default: they are redirected with " +
      "308.",
    protects: true,
  },
  "stream-snippet": snippet,
  "temporal-redirect": {
    effect: "Like `permanent-redirect`, but with 302. It takes precedence over `permanent-redirect`.",
    protects: true,
  },
  "temporal-redirect-code": { effect: "Status of the redirect, 300 to 307. Default 302." },
  "upstream-hash-by": {
    effect:
      "Requests with the same value go to the same endpoint. The value is that of one of the variables " +
      "`$remote_addr`, `$request_uri` (without the query), `$uri`, `$http_NAME`, `$cookie_NAME` and `$arg_NAME`.",
  },
  "upstream-hash-by-subset": unsupported("requests with the same value go to one endpoint"),
  "upstream-hash-by-subset-size": unsupported("requests with the same value go to one endpoint"),
  "upstream-vhost": { effect: "Value of the Host header that the upstream receives. Variables of nginx are refused." },
  "use-port-in-redirects": tuning,
  "use-regex": {
    effect:
      "All paths of the host, including those of other Ingresses, are regular expressions. They ignore case and must " +
      "match the beginning of a request's path; the longest expression is tried first. If an expression has " +
      "look-around or back-references, requests for its path are answered with 503.",
  },
  "whitelist-source-range": { effect: "The former name of `allowlist-source-range`.", protects: true },
  "x-forwarded-prefix": {
    effect: "Value of the header X-Forwarded-Prefix that the upstream receives if the path is rewritten.",
  },
};
