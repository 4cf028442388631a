import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { test } from "node:test";
import { compileRegex } from "@sluice/plugin-sdk";
import fc from "fast-check";
import { ellipticPair, firstKeyPair, secondKeyPair } from "../../../../tools/programs/pairs.ts";
import { textRules } from "./rules.ts";

const UUID = "fd02801f-0957-4a15-a55a-c8d9606f30b5";
const CERTIFICATE = "invalid certificate: expected certificates in PEM";
const publicKey = createPublicKey(firstKeyPair.key).export({ type: "spki", format: "pem" }).toString();
const KEY = "invalid key: expected a private key in PEM, not encrypted";
const targetName = (value: string) => `Invalid target ('${value}'); not a valid hostname or ip address`;
const upstreamName = (value: string) => `Invalid name ('${value}'); must be a valid hostname`;
const listenerHost = (value: string) =>
  `invalid hostname: ${value} (expected a DNS name in lower case, which may begin with '*.')`;
const host = (value: string) => `invalid value: ${value}`;
const hostname = (value: string) => `invalid hostname: ${value}`;
const name = (value: string) =>
  `invalid value '${value}': the only accepted ascii characters are alphanumerics or ., -, _, and ~`;
const tag = (value: string) =>
  `invalid tag '${value}': expected printable ascii (except \`,\` and \`/\`) or valid utf-8 sequences`;
const header = (value: string) => `bad header name '${value}', allowed characters are A-Z, a-z, 0-9, '_', and '-'`;
const framing = (value: string) => `cannot be '${value}': the gateway itself sets headers for routing and framing`;
const identity = (value: string) =>
  `cannot be '${value}': the gateway itself sets headers with the consumer's identity`;
const CONTROLS = "must not contain line breaks or other control characters";
const SPACES = "must not start or end with whitespace";
const characters = (value: string) =>
  `invalid path: '${value}' (characters outside of the reserved list of RFC 3986 found)`;
const POSITION = "invalid wildcard: must be placed at leftmost or rightmost label";
const addressOrBlock = (value: string) => `invalid ip or cidr range: '${value}'`;
const available =
  "Sluice has acl, basic-auth, bot-detection, compression, concurrency-limiting, correlation-id, cors, datadog, file-log, forward-auth, graphql, grpc-web, hmac-auth, http-log, ip-restriction, jwt, key-auth, ldap-auth, loggly, mtls-auth, openid-connect, opentelemetry, prometheus, proxy-cache, rate-limiting, redirect, request-mirror, request-redirect, request-size-limiting, request-termination, request-transformer, request-validator, response-ratelimiting, response-transformer, session, standard-webhooks, statsd, syslog, tcp-log, udp-log, zipkin";
const quantity = (value: string) => `not a quantity: ${value}; write 500m or 2 for CPU, 256Mi for memory`;
const SHOULD_START = "should start with: / (fixed path) or ~/ (regex path)";

/** The message of each rule for each value; undefined: valid. */
const cases: Readonly<Record<string, readonly (readonly [value: string, sentence: string | undefined])[]>> = {
  quantity: [
    ...["0", "2", "1.5", ".5", "+1", "500m", "256Mi", "1e3", "1E-3", "12k"].map((value) => [value, undefined] as const),
    ...["", "-1", "1 Gi", "1GB", "much", "1e", "0x1"].map((value) => [value, quantity(value)] as const),
  ],
  "qualified-name": [
    ...["a", "A_b.c-1", "example.com/pool", `a.${"b".repeat(62)}/c`].map((value) => [value, undefined] as const),
    ...["", "-a", "a.", "a b", "/a", "a/", "a/b/c", "A.com/b", "a".repeat(64)].map(
      (value) => [value, `not the key of a label: ${value}; write NAME or PREFIX/NAME`] as const,
    ),
  ],
  "label-value": [
    ...["", "a", "A_b.c-1", "a".repeat(63)].map((value) => [value, undefined] as const),
    ...["-a", "a/b", "a".repeat(64)].map((value) => [value, `not the value of a label: ${value}`] as const),
  ],
  percentage: [
    ...["0%", "25%", "100%"].map((value) => [value, undefined] as const),
    ...["1", "101%", "01%", "%"].map(
      (value) => [value, `expected an integer, or a percentage such as 25%, not ${value}`] as const,
    ),
  ],
  "graphql-manifest": [
    ['{"users":"{ users }"}', undefined],
    ["{}", undefined],
    ['{"users":"{ users"}', "the document users is invalid: Syntax Error: Expected Name, found <EOF>."],
  ],
  "vault-prefix": [
    ["my-env", undefined],
    ["a1", undefined],
    ["a--b", undefined],
    ["hcv", undefined],
    ["env", "must not be one of: env"],
    ...["a", "1a", "a-", "-a", "My-env", "a_b", "a.b"].map((value) => [value, host(value)] as const),
  ],
  "vault-kind": [
    ["env", undefined],
    [
      "hcv",
      "vault 'hcv' is not installed: put the secret into an environment variable of the nodes and use a vault of the " +
        "kind env, or use a Plugin resource with configFrom, which reads it from a Secret",
    ],
    ["ENV", "vault 'ENV' is not installed: use env, whose values are environment variables of the nodes"],
  ],
  "vault-variables": [
    ["APP_", undefined],
    ["app-1-", undefined],
    ["-", undefined],
    ...["1", "a.b", "é", "a b"].map((value) => [value, host(value)] as const),
  ],
  path: [
    ["/", undefined],
    ["/a/b.c-d_e~f", undefined],
    ["/a%20b/:@!$&'()*+,;=", undefined],
    ["a", "should start with: /"],
    [" ", "should start with: /"],
    ["/a//b", "must not have empty segments"],
    ["/a b", characters("/a b")],
    ["/a?b", characters("/a?b")],
    ["/é", characters("/é")],
    ["/a%2", "invalid url-encoded value: '%2'"],
    ["/a%zz/b", "invalid url-encoded value: '%zz'"],
  ],
  "route-path": [
    ["/", undefined],
    ["/users", undefined],
    ["/users/", undefined],
    ["/é b", undefined],
    [String.raw`~/users/(?<id>\d+)$`, undefined],
    ["users", SHOULD_START],
    ["~users", SHOULD_START],
    ["~", SHOULD_START],
    ["/a//b", "must not have empty segments"],
    ["~/a//b", "must not have empty segments"],
    ["/a/../b", "non-normalized path, consider use '/b' instead"],
    ["/a/./b", "non-normalized path, consider use '/a/b' instead"],
    ["/%61", "non-normalized path, consider use '/a' instead"],
    ["/a%2fb", "non-normalized path, consider use '/a%2Fb' instead"],
    ["/a%2Fb", undefined],
    ["/a%2", "invalid url-encoded value: '%2'"],
    ["~/(a", "not a valid regex: /(a (missing closing ): `/(a`)"],
    ["~/a(?=b)", "not a valid regex: /a(?=b) (invalid or unsupported Perl syntax: `(?=`)"],
  ],
  host: [
    ["example.com", undefined],
    ["example.com.", undefined],
    ["my_host", undefined],
    ["xn--e1afmkfd.xn--p1ai", undefined],
    ["127.0.0.1", undefined],
    ["::1", undefined],
    ["[::1]", undefined],
    ["example.com:80", "must not have a port"],
    ["127.0.0.1:80", "must not have a port"],
    ["[::1]:80", "must not have a port"],
    ["a b", host("a b")],
    ["*.example.com", host("*.example.com")],
    ["example-.com", host("example-.com")],
    ["a..b", host("a..b")],
    [".a", host(".a")],
    ["256.1.1.1", host("256.1.1.1")],
    ["1.2.3", host("1.2.3")],
    ["a:b", host("a:b")],
    ["1::2::3", host("1::2::3")],
    ["[example.com]", host("[example.com]")],
    ["http://a", host("http://a")],
  ],
  "acme-domain": [["a b", host("a b")]],
  "https-url": [["http://a", "expected a URL that begins with https://"]],
  sni: [
    ["example.com", undefined],
    ["127.0.0.1", "must not be an IP"],
    ["::1", "must not be an IP"],
    ["example.com:80", "must not have a port"],
    ["*.example.com", host("*.example.com")],
  ],
  "wildcard-sni": [
    ["example.com", undefined],
    ["*.example.com", undefined],
    ["example.*", undefined],
    ["*.*", "only one wildcard must be specified"],
    ["*", "wildcard must be leftmost or rightmost character"],
    ["a.*.com", "wildcard must be leftmost or rightmost character"],
    ["*a.com", "wildcard must be leftmost or rightmost character"],
    ["127.0.0.1", "must not be an IP"],
    ["*.example.com:80", "must not have a port"],
    ["a b", host("a b")],
  ],
  "upstream-name": [
    ["users.v1.service", undefined],
    ["my_host", undefined],
    ["127.0.0.1", "Invalid name; no ip addresses allowed"],
    ["[::1]:80", "Invalid name; no ip addresses allowed"],
    ["users:80", "Invalid name; no port allowed"],
    ["users/v1", upstreamName("users/v1")],
    ["*.example.com", upstreamName("*.example.com")],
  ],
  target: [
    ["users", undefined],
    ["users:8080", undefined],
    ["10.0.0.1", undefined],
    ["10.0.0.1:8080", undefined],
    ["::1", undefined],
    ["[::1]:8080", undefined],
    ["users:65536", targetName("users:65536")],
    ["users:", targetName("users:")],
    ["http://users", targetName("http://users")],
    ["10.0.0.256", targetName("10.0.0.256")],
    ["a b", targetName("a b")],
  ],
  "host-port": [
    ["example.com", undefined],
    ["example.com:8443", undefined],
    ["[::1]:8443", undefined],
    ["example.com:65536", "invalid port number"],
    ["a b", host("a b")],
  ],
  "certificate-chain": [
    [firstKeyPair.cert, undefined],
    [`${firstKeyPair.cert}\n${ellipticPair.cert}`, undefined],
    [firstKeyPair.key, CERTIFICATE],
    ["", CERTIFICATE],
    [firstKeyPair.cert.replace("MII", "MIJ"), CERTIFICATE],
    [`${firstKeyPair.cert}${secondKeyPair.cert.replace("MII", "MIJ")}`, CERTIFICATE],
    ["-----BEGIN CERTIFICATE-----\n".repeat(10_000), CERTIFICATE],
  ],
  "private-key": [
    [firstKeyPair.key, undefined],
    [ellipticPair.key, undefined],
    [firstKeyPair.cert, KEY],
    ["secret", KEY],
  ],
  "public-key": [
    [publicKey, undefined],
    [firstKeyPair.cert, undefined],
    ["-----BEGIN PUBLIC KEY-----\nno key\n-----END PUBLIC KEY-----", "invalid key"],
    [firstKeyPair.key, "invalid key"],
    ["secret", "invalid key"],
  ],
  "route-host": [
    ["example.com", undefined],
    ["example.com:8000", undefined],
    ["127.0.0.1:8000", undefined],
    ["[::1]:8000", undefined],
    ["*.example.com", undefined],
    ["*.example.com:80", undefined],
    ["example.*", undefined],
    ["*.*", "invalid wildcard: must have at most one wildcard"],
    ["*", POSITION],
    ["a.*.com", POSITION],
    ["*a.com", POSITION],
    ["a*.com", POSITION],
    ["a b", hostname("a b")],
    ["example.com:x", hostname("example.com:x")],
    ["example.com:65536", "invalid port number"],
    ["example.com/x", hostname("example.com/x")],
  ],
  "ip-or-cidr": [
    ["127.0.0.1", undefined],
    ["127.0.0.1/8", undefined],
    ["0.0.0.0/0", undefined],
    ["2001:DB8::1", undefined],
    ["::/0", undefined],
    ["::ffff:192.0.2.1/128", undefined],
    ...["", "hello", "0.0.0.0/a", "0.0.0.0/-1", "0.0.0.0/33", "0.0.0.0/08", "0.0.0.0/", "1.2.3", "127.0.0.1:80"].map(
      (value) => [value, addressOrBlock(value)] as const,
    ),
    ...["::/a", "::1/-1", "::1/129", "[::1]", "fe80::1%eth0", " ::1", "::1/64/64"].map(
      (value) => [value, addressOrBlock(value)] as const,
    ),
  ],
  uuid: [
    [UUID, undefined],
    [UUID.toUpperCase(), undefined],
    ["x", "expected a valid UUID"],
    [`${UUID}0`, "expected a valid UUID"],
    [UUID.replaceAll("-", ""), "expected a valid UUID"],
  ],
  sha256: [
    ["a".repeat(64), undefined],
    ["A".repeat(64), "expected a SHA-256 in lower-case hex"],
    ["a".repeat(63), "expected a SHA-256 in lower-case hex"],
  ],
  name: [
    ["users-v1.0_~", undefined],
    ["größe-😀", undefined],
    ["a b", name("a b")],
    ["a/b", name("a/b")],
    ["a\n", name("a\n")],
    ["ab\ud800", "invalid utf-8 character sequence detected at position 3"],
  ],
  tag: [
    ["team a: x+y", undefined],
    ["größe", undefined],
    ["a,b", tag("a,b")],
    ["a/b", tag("a/b")],
    ["a\tb", tag("a\tb")],
    ["\udc00", "invalid utf-8 character sequence detected at position 1"],
  ],
  method: [
    ["GET", undefined],
    ["PURGE", undefined],
    ["get", "invalid value: get"],
    ["M-SEARCH", "invalid value: M-SEARCH"],
  ],
  "header-name": [
    ["X-Api_Key-1", undefined],
    ["a b", header("a b")],
    ["a:b", header("a:b")],
    ["ä", header("ä")],
    ["__proto__", header("__proto__")],
  ],
  "header-token": [
    ["x-version", undefined],
    ["!#$%&'*+-.^_`|~09Az", undefined],
    ...["", "a b", "a:b", "ä", "(a)"].map((value) => [value, `invalid name of a header: '${value}'`] as const),
  ],
  "listener-host": [
    ["a.example.com", undefined],
    ["*.example.com", undefined],
    ["localhost", undefined],
    ...["", "*", "*.*.com", "a.*.com", "A.example.com", "-a.com", "a..com", "127.0.0.1", "a.com:80"].map(
      (value) => [value, listenerHost(value)] as const,
    ),
  ],
  "upstream-header": [
    ["X-Gateway-Secret", undefined],
    ["Authorization", undefined],
    ["x_api_key", undefined],
    ["Transfer-Encoding", framing("Transfer-Encoding")],
    ["transfer_encoding", framing("transfer_encoding")],
    ["CONNECTION", framing("CONNECTION")],
    ["Content_Length", framing("Content_Length")],
    ["host", framing("host")],
    ["TE", framing("TE")],
    ["Upgrade", framing("Upgrade")],
    ["Via", framing("Via")],
    ["X-Consumer-ID", identity("X-Consumer-ID")],
    ["x_consumer_anything", identity("x_consumer_anything")],
    ["X-Credential-Identifier", identity("X-Credential-Identifier")],
    ["X-Anonymous-Consumer", identity("X-Anonymous-Consumer")],
    ["X Y", header("X Y")],
    ["X:Y", header("X:Y")],
    ["X\r\nY", header("X\r\nY")],
    ["", header("")],
  ],
  "header-value": [
    ["a-secret", undefined],
    ["Basic dXNlcjpwYXNz", undefined],
    ["with a\ttab and é", undefined],
    ["a\r\nX-Evil: 1", CONTROLS],
    ["a\nb", CONTROLS],
    ["a\u0000b", CONTROLS],
    ["a\u007fb", CONTROLS],
    [" a", SPACES],
    ["a ", SPACES],
    ["\t", SPACES],
    ["a\ud800", "invalid utf-8 character sequence"],
  ],
  "key-name": [
    ["apikey", undefined],
    ["api.key", header("api.key")],
  ],
  "route-header": [
    ["x-version", undefined],
    ["HOST", "cannot contain 'host' header, which must be specified in the 'hosts' attribute"],
    ["a b", header("a b")],
  ],
  origin: [
    ["*", undefined],
    ["https://example.com", undefined],
    [String.raw`.*\.example\.com`, undefined],
    ["*.example.com", "'*.example.com' is not a valid regex (missing argument to repetition operator: `*`)"],
  ],
  regex: [
    ["^bot|spider", undefined],
    [String.raw`/v1\.0\-a\$/%41_~$`, undefined],
    [String.raw`/a\1$`, "not a valid regex: /a\\1$ (invalid escape sequence: `\\1`)"],
    ["/a$b+)", "not a valid regex: /a$b+) (unexpected ): `/a$b+)`)"],
    ["*", "not a valid regex: * (missing argument to repetition operator: `*`)"],
  ],
  "plugin-name": [
    ["key-auth", undefined],
    [
      "oauth2",
      "plugin 'oauth2' not enabled: let an authorization server issue tokens, and verify them with the plugin openid-connect",
    ],
    [
      "rate-limiting-advanced",
      "plugin 'rate-limiting-advanced' not enabled: it belongs to Kong's paid editions; use rate-limiting",
    ],
    [
      "toString",
      `plugin 'toString' not enabled: ${available}; use one of these, or load a plugin of your own with SLUICE_PLUGINS`,
    ],
    ["key-atuh", `plugin 'key-atuh' not enabled, did you mean key-auth? ${available}`],
    ["rate_limiting", `plugin 'rate_limiting' not enabled, did you mean rate-limiting? ${available}`],
  ],
};

for (const [rule, rows] of Object.entries(cases)) {
  for (const [value, sentence] of rows) {
    test(`${rule} ${sentence === undefined ? "accepts" : "refuses"} ${JSON.stringify(value).slice(0, 100)}`, () => {
      assert.equal(textRules[rule]?.(value), sentence);
    });
  }
}

test("every expression that is accepted without being compiled can be compiled", () => {
  const part = fc.oneof(fc.constantFrom("\\", "$", "{", "(", "-", "|"), fc.string({ maxLength: 3 }));
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
      const source = parts.join("");
      assert.equal(textRules.regex?.(source) === undefined, compileRegex(source).violations === undefined, source);
    }),
  );
});

test("every text rule has test cases", () => {
  assert.deepEqual(Object.keys(cases).sort(), Object.keys(textRules).sort());
});
