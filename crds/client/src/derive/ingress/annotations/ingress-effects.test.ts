import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "../../../resource.ts";
import type { IngressEffects } from "./effects.ts";
import { translateAnnotations } from "./ingress-effects.ts";
import { annotationTable } from "./table.ts";

type Named = Readonly<Record<string, string>>;

const objects: readonly Resource[] = [
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "headers", namespace: "shop" }, data: { "X-A": "1\n" } },
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "lines", namespace: "shop" }, data: { "X-A": "1\nX-B: 2" } },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "users", namespace: "shop" },
    data: { alice: Buffer.from("{SHA}x\n").toString("base64"), bob: Buffer.from("{SHA}y").toString("base64") },
  },
  secretWith("authorities", "ca.crt"),
  secretWith("half", "ca.crt", "tls.crt"),
  secretWith("client", "ca.crt", "tls.crt", "tls.key"),
];

/** A Secret whose entries have their own names as values. */
function secretWith(name: string, ...entries: readonly string[]): Resource {
  const data = Object.fromEntries(entries.map((entry) => [entry, Buffer.from(entry).toString("base64")]));
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "shop" }, data };
}

function translated(annotations: Named) {
  const named = Object.entries(annotations).map(([name, value]) => [`nginx.ingress.kubernetes.io/${name}`, value]);
  const ingress: Resource = {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "web", namespace: "shop", annotations: Object.fromEntries(named) },
  };
  return translateAnnotations(ingress, (kind, name) =>
    objects.find((one) => one.kind === kind && one.metadata.name === name),
  );
}

const plugin = (effects: IngressEffects, name: string) => effects.plugins.find((one) => one.plugin === name)?.config;

const effects: readonly (readonly [annotations: Named, of: (effects: IngressEffects) => unknown, expected: unknown])[] =
  [
    [{}, ({ redirectsToHttps }) => redirectsToHttps, null],
    [{ "ssl-redirect": "F" }, ({ redirectsToHttps }) => redirectsToHttps, false],
    [{ "ssl-redirect": "false", "force-ssl-redirect": "1" }, ({ redirectsToHttps }) => redirectsToHttps, true],
    [{}, ({ service }) => service, { protocol: "http", ...times(5000, 60_000, 60_000), retries: 2 }],
    [
      { "proxy-connect-timeout": "0", "proxy-send-timeout": "7", "proxy-next-upstream-tries": "1" },
      ({ service }) => service,
      { protocol: "http", ...times(1, 7000, 60_000), retries: 0 },
    ],
    [
      { "backend-protocol": "grpcs" },
      ({ grpc, service }) => [grpc, service.protocol, service.tlsVerify],
      [true, "grpcs", false],
    ],
    [
      { "backend-protocol": "HTTPS", "proxy-ssl-name": "Up.test", "proxy-ssl-server-name": "on" },
      ({ service, serviceExtras, upstreamCertificate }) => [service.tlsVerify, serviceExtras, upstreamCertificate],
      [false, { tls: { server_name: "up.test" } }, null],
    ],
    [
      {
        "backend-protocol": "HTTPS",
        "proxy-ssl-name": "up.test",
        "proxy-ssl-secret": "shop/client",
        "proxy-ssl-verify": "on",
        "proxy-ssl-verify-depth": "0",
      },
      ({ service, serviceExtras, upstreamCertificate }) => [service.tlsVerifyDepth, serviceExtras, upstreamCertificate],
      [
        1,
        { tls: { server_name: "up.test", trusted_certificates: "ca.crt" } },
        { certificate: "tls.crt", key: "tls.key" },
      ],
    ],
    [{ "proxy-ssl-name": "up.test", "proxy-ssl-verify": "off" }, ({ serviceExtras }) => serviceExtras, {}],
    [
      { "mirror-target": "https://a.test/$request_uri" },
      ({ mirror }) => mirror,
      { protocol: "https", host: "a.test", port: 443, hostHeader: "a.test" },
    ],
    [
      { "mirror-target": "http://a.test:8080$request_uri", "mirror-host": "b.test" },
      ({ mirror }) => mirror,
      { protocol: "http", host: "a.test", port: 8080, hostHeader: "b.test" },
    ],
    [
      { "proxy-body-size": "8M" },
      (all) => plugin(all, "request-size-limiting"),
      { allowed_payload_size: 2 ** 23, size_unit: "bytes" },
    ],
    [
      { "proxy-body-size": "4g" },
      (all) => plugin(all, "request-size-limiting"),
      { allowed_payload_size: 4096, size_unit: "megabytes" },
    ],
    [{ "proxy-body-size": "0" }, (all) => plugin(all, "request-size-limiting"), undefined],
    [
      { "whitelist-source-range": "10.0.0.0/8", "allowlist-source-range": "192.0.2.1 , 192.0.2.2" },
      (all) => plugin(all, "ip-restriction"),
      { allow: ["192.0.2.1", "192.0.2.2"] },
    ],
    [
      { "permanent-redirect": "https://a.test/x" },
      ({ redirect }) => redirect?.config,
      { status_code: 301, location: "https://a.test/x" },
    ],
    [
      {
        "permanent-redirect": "https://a.test",
        "temporal-redirect": "https://b.test",
        "temporal-redirect-code": "307",
      },
      ({ redirect }) => redirect?.config,
      { status_code: 307, location: "https://b.test" },
    ],
    [
      { "permanent-redirect": "http://a.test:81/$request_uri" },
      ({ redirect }) => redirect?.config,
      { status_code: 301, location: "http://a.test:81/", keep_incoming_path: true },
    ],
    [{ "ssl-passthrough": "false", "enable-modsecurity": "0" }, ({ redirect }) => redirect, null],
    [
      { "enable-cors": "true" },
      (all) => [plugin(all, "cors")?.origins, plugin(all, "cors")?.credentials],
      [["*"], false],
    ],
    [
      { "enable-cors": "true", "cors-allow-origin": "https://a.test, https://*.b.test:8443" },
      (all) => [plugin(all, "cors")?.origins, plugin(all, "cors")?.credentials],
      [["https://a.test", "^https://[A-Za-z0-9-]+\\.b\\.test:8443$"], true],
    ],
    [{ "enable-cors": "true", "cors-allow-origin": "nonsense" }, (all) => plugin(all, "cors"), undefined],
    [
      { "rewrite-target": "/a/$1$2" },
      (all) => Object(plugin(all, "request-transformer")?.replace).uri,
      "/a/$(uri_captures[1])$(uri_captures[2])",
    ],
    [{ "x-forwarded-prefix": "/a" }, (all) => plugin(all, "request-transformer"), undefined],
    [{ "server-alias": "a.test,*.b.test" }, ({ aliases }) => aliases, ["a.test", "*.b.test"]],
    [
      { "custom-headers": "shop/headers" },
      (all) => plugin(all, "response-transformer"),
      { replace: { headers: ["X-A:1"] }, add: { headers: ["X-A:1"] } },
    ],
    [
      { affinity: "cookie" },
      ({ upstream }) => upstream,
      { ...hash("cookie"), hashOnCookie: "INGRESSCOOKIE", hashOnCookiePath: "/" },
    ],
    [
      {
        affinity: "cookie",
        "session-cookie-name": "sid",
        "session-cookie-path": "/shop",
        "session-cookie-samesite": "none",
        "session-cookie-domain": ".shop.test",
        "session-cookie-max-age": "172800",
        "session-cookie-expires": "3600",
      },
      ({ upstream, upstreamExtras }) => [upstream?.hashOnCookie, upstream?.hashOnCookiePath, upstreamExtras.cookie],
      ["sid", "/shop", { same_site: "None", secure: true, domain: "shop.test", max_age: 172_800, expires: 3_600 }],
    ],
    [
      { affinity: "cookie", "session-cookie-secure": "true" },
      ({ upstreamExtras }) => upstreamExtras.cookie,
      { secure: true },
    ],
    [{ "session-cookie-max-age": "60" }, ({ upstreamExtras }) => upstreamExtras, {}],
    [{ "upstream-hash-by": "$binary_remote_addr" }, ({ upstream }) => upstream, hash("ip")],
    [{ "upstream-hash-by": "$http_x_user" }, ({ upstream }) => upstream, { ...hash("header"), hashOnHeader: "x-user" }],
    [
      { "upstream-hash-by": "$arg_id", "load-balance": "ewma" },
      ({ upstream }) => upstream,
      { ...hash("query_arg"), hashOnQueryArg: "id" },
    ],
    [{ "load-balance": "ewma" }, ({ upstream }) => upstream, { algorithm: "latency" }],
    [{ "limit-rps": "0" }, (all) => plugin(all, "rate-limiting"), undefined],
    [{ "limit-rpm": "10" }, (all) => plugin(all, "rate-limiting")?.burst, { minute: 50 }],
    [{ "limit-connections": "3" }, (all) => plugin(all, "concurrency-limiting")?.limit, 3],
    [
      { "auth-type": "basic", "auth-secret": "shop/users", "auth-secret-type": "auth-map", "auth-realm": "off" },
      ({ plugins }) => [plugins[0]?.secret?.value, plugins[0]?.config.realm],
      ["alice:{SHA}x\nbob:{SHA}y", "off"],
    ],
    [{ "auth-url": "http://$http_host/verify" }, (all) => plugin(all, "forward-auth")?.address, "http://$host/verify"],
    [
      { satisfy: "any", "auth-url": "https://auth.test", "whitelist-source-range": "10.0.0.0/8" },
      (all) => [plugin(all, "forward-auth")?.exempt, plugin(all, "ip-restriction")],
      [["10.0.0.0/8"], undefined],
    ],
    [
      { satisfy: "any", "whitelist-source-range": "10.0.0.0/8" },
      (all) => plugin(all, "ip-restriction"),
      { allow: ["10.0.0.0/8"] },
    ],
    [
      { satisfy: "all", "auth-url": "https://auth.test", "whitelist-source-range": "10.0.0.0/8" },
      (all) => [plugin(all, "forward-auth")?.exempt, plugin(all, "ip-restriction")],
      [undefined, { allow: ["10.0.0.0/8"] }],
    ],
    [
      { "auth-url": "https://auth.test", "auth-method": "POST" },
      (all) => plugin(all, "forward-auth")?.request_method,
      "POST",
    ],
  ];

function times(connectTimeout: number, writeTimeout: number, readTimeout: number) {
  return { connectTimeout, writeTimeout, readTimeout };
}

function hash(hashOn: string) {
  return { algorithm: "consistent-hashing", hashOn };
}

for (const [annotations, of, expected] of effects)
  test(`the annotations ${JSON.stringify(annotations)} have the effect ${JSON.stringify(expected)}`, () => {
    const { effects: all, problems, closed } = translated(annotations);
    assert.deepEqual(of(all), expected);
    const isFaulty = annotations["cors-allow-origin"] === "nonsense";
    assert.deepEqual([problems.length, closed], [isFaulty ? 1 : 0, undefined]);
  });

const closing: readonly Named[] = [
  { "proxy-body-size": "8mb" },
  { "whitelist-source-range": "" },
  { "denylist-source-range": "," },
  { "force-ssl-redirect": "yes" },
  { "limit-rps": "1.5" },
  { "limit-rps": "1e3" },
  { "limit-burst-multiplier": "0" },
  { "auth-type": "digest" },
  { "auth-type": "basic" },
  { "auth-secret": "users" },
  { "auth-type": "basic", "auth-secret": "other/users" },
  { "auth-type": "basic", "auth-secret": "users" },
  { "auth-url": "" },
  { "auth-proxy-set-headers": "absent", "auth-url": "https://auth.test" },
  { "auth-tls-secret": "shop/ca" },
  { "custom-headers": "shop/absent" },
  { "custom-headers": "shop/lines" },
  { "permanent-redirect": "https://$host/x" },
  { "temporal-redirect": "https://a.test/x$request_uri" },
  { "ssl-passthrough": "true" },
  { "auth-snippet": "proxy_set_header X 1;", "auth-url": "https://auth.test" },
  { satisfy: "some" },
  { satisfy: "any", "auth-url": "https://auth.test", "denylist-source-range": "10.0.0.0/8" },
  {
    satisfy: "any",
    "auth-url": "https://auth.test",
    "auth-type": "basic",
    "auth-secret": "users",
    "auth-secret-type": "auth-map",
  },
  { "proxy-ssl-secret": "shop/authorities" },
  { "proxy-ssl-secret": "shop/half", "backend-protocol": "HTTPS" },
  { "proxy-ssl-verify": "on", "proxy-ssl-name": "up.test", "backend-protocol": "HTTPS" },
  { "proxy-ssl-verify": "on", "proxy-ssl-secret": "authorities", "backend-protocol": "HTTPS" },
  { "proxy-ssl-name": "$host", "backend-protocol": "HTTPS" },
  { "configuration-snippet": "deny all;" },
  { "enable-modsecurity": "true" },
  { "global-rate-limit": "5" },
  { "whitelist-future": "a" },
];

for (const annotations of closing)
  test(`the annotations ${JSON.stringify(annotations)} close the Ingress`, () => {
    const { closed, problems } = translated(annotations);
    assert.ok(closed, JSON.stringify(problems));
    assert.match(
      closed,
      /^metadata\.annotations\[nginx\.ingress\.kubernetes\.io\/[\w-]+\]: .*; it may protect, so all/,
    );
  });

for (const [annotations, message] of [
  [{ "proxy-read-timeout": "60s" }, /expected an integer from 0 to 2147483, not '60s'; it has no effect/],
  [{ "backend-protocol": "FCGI" }, /expected one of HTTP, HTTPS, GRPC, GRPCS, not 'FCGI'; it has no effect/],
  [{ "app-root": "app" }, /expected a path, not 'app'/],
  [{ "upstream-vhost": "$host" }, /variables of nginx are not supported/],
  [{ "upstream-hash-by": "$host$uri" }, /expected one of/],
  [{ "session-cookie-domain": "a.test; Path=/" }, /expected a host, not 'a.test; Path=\/'; it has no effect/],
  [{ affinity: "cookie", "session-cookie-name": "a; Path=/" }, /expected the name of a cookie, not 'a; Path=\/'/],
  [{ "mirror-target": "https://a.test/copies$request_uri" }, /expected https:\/\/HOST\$request_uri, not/],
  [{ "mirror-target": "http://a.test$request_uri", "mirror-host": "$host" }, /expected a host, not '\$host'/],
  [{ "mirror-request-body": "off" }, /copies always have the body of the request; it has no effect/],
  [{ "custom-http-errors": "404" }, /not supported: errors of the upstream are passed to the client; it has no effect/],
  [{ "server-allias": "a.test" }, /no such annotation/],
] as const)
  test(`the annotations ${JSON.stringify(annotations)} are reported, and the Ingress is served`, () => {
    const { problems, closed } = translated(annotations);
    assert.equal(closed, undefined);
    assert.deepEqual(problems.length, 1);
    assert.match(problems[0]?.message ?? "", message);
  });

test("annotations without an effect cause no problem, and those of other programs are not read", () => {
  const ignored = Object.entries(annotationTable).filter(([, facts]) => facts.ignored);
  assert.ok(ignored.length > 20);
  const { problems } = translated(Object.fromEntries(ignored.map(([name]) => [name, "on"])));
  assert.deepEqual(problems, []);
});

test("every annotation of this test that has an effect is in the table of the reference page", () => {
  const names = effects.flatMap(([annotations]) => Object.keys(annotations));
  assert.deepEqual(
    names.filter((name) => !Object.hasOwn(annotationTable, name)),
    [],
  );
});
