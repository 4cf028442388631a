/** jwt, acl and three plugins behind them among 10,000 routes, compared with equivalent filters of Envoy. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { Document } from "@sluice/model";
import type { BenchReport } from "../report.ts";
import type { CaseContestants } from "./field.ts";
import { type EnvoyFilters, envoyWith } from "./peers.ts";
import { referTo, startSluice } from "./sluice.ts";

const SECRET = "a secret of thirty-two characters";
const USER = "consumer-5";
const GROUP = "staff";
const ISSUERS = { HS256: "hs", ES256: "es" } as const;
type Algorithm = keyof typeof ISSUERS;

/** More than any cache of verified tokens keeps, so that each token is new when its turn comes again. */
const NEW_TOKENS = 20_000;

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function tokenOf(algorithm: Algorithm, id: number, key: KeyObject): string {
  const claims = { iss: ISSUERS[algorithm], group: GROUP, exp: 4_102_444_800, jti: `${id}` };
  const text = `${base64({ alg: algorithm, typ: "JWT", kid: ISSUERS[algorithm] })}.${base64(claims)}`;
  const signature =
    algorithm === "HS256"
      ? createHmac("sha256", SECRET).update(text).digest()
      : sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}

const plugins = [
  { name: "jwt", config: { claims_to_verify: ["exp"] } },
  { name: "acl", config: { allow: [GROUP] } },
  { name: "rate-limiting", config: { minute: 1_000_000_000 } },
  { name: "request-transformer", config: { add: { headers: ["x-tier:gold"] }, remove: { headers: ["x-internal"] } } },
  { name: "correlation-id", config: { header_name: "X-Correlation-ID", generator: "uuid", echo_downstream: true } },
];

const entities = (publicKey: KeyObject): Partial<Document> => {
  const consumer = referTo("consumers", USER);
  return {
    jwt_secrets: [
      { ...referTo("jwt_secrets", "hs"), key: ISSUERS.HS256, algorithm: "HS256", secret: SECRET, consumer },
      {
        ...referTo("jwt_secrets", "es"),
        key: ISSUERS.ES256,
        algorithm: "ES256",
        rsa_public_key: publicKey.export({ type: "spki", format: "pem" }).toString(),
        consumer,
      },
    ],
    acls: [{ ...referTo("acls", GROUP), group: GROUP, consumer }],
  };
};

/**
 * The filters of Envoy that are equivalent to `plugins`.
 *
 * @param caches Whether Envoy caches verified tokens, as Sluice's jwt always does.
 */
function filters(publicKey: KeyObject, caches: boolean): EnvoyFilters {
  const keys = {
    HS256: { kty: "oct", k: Buffer.from(SECRET).toString("base64url") },
    ES256: publicKey.export({ format: "jwk" }),
  };
  const provider = (algorithm: Algorithm) => ({
    issuer: ISSUERS[algorithm],
    forward: true,
    payload_in_metadata: "claims",
    local_jwks: {
      inline_string: JSON.stringify({ keys: [{ ...keys[algorithm], alg: algorithm, kid: ISSUERS[algorithm] }] }),
    },
    ...(caches && { jwt_cache_config: { jwt_cache_size: 2048 } }),
  });
  const limit = { max_tokens: 1_000_000_000, tokens_per_fill: 1_000_000_000, fill_interval: "60s" };
  const all = { default_value: { numerator: 100, denominator: "HUNDRED" } };
  const isMember = {
    metadata: {
      filter: "envoy.filters.http.jwt_authn",
      path: [{ key: "claims" }, { key: "group" }],
      value: { string_match: { exact: GROUP } },
    },
  };
  return [
    [
      "jwt_authn.v3.JwtAuthentication",
      {
        providers: { HS256: provider("HS256"), ES256: provider("ES256") },
        rules: [
          {
            match: { prefix: "/" },
            requires: { requires_any: { requirements: [{ provider_name: "HS256" }, { provider_name: "ES256" }] } },
          },
        ],
      },
    ],
    [
      "rbac.v3.RBAC",
      { rules: { action: "ALLOW", policies: { members: { permissions: [{ any: true }], principals: [isMember] } } } },
    ],
    [
      "local_ratelimit.v3.LocalRateLimit",
      { stat_prefix: "limit", token_bucket: limit, filter_enabled: all, filter_enforced: all },
    ],
    [
      "header_mutation.v3.HeaderMutation",
      {
        mutations: {
          request_mutations: [
            { append: { header: { key: "x-tier", value: "gold" } } },
            { remove: "x-internal" },
            { append: { header: { key: "x-correlation-id", value: "%REQ(x-request-id)%" } } },
          ],
          response_mutations: [{ append: { header: { key: "x-correlation-id", value: "%REQ(x-request-id)%" } } }],
        },
      },
    ],
  ];
}

export async function measureTokens(field: CaseContestants): Promise<BenchReport> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const content = { routes: 10_000, consumers: 1000, plugins, others: entities(publicKey) };
  const contestants = {
    Envoy: await field.start("Envoy", envoyWith({ filters: filters(publicKey, false) })),
    "Envoy with a cache": await field.start("Envoy with a cache", envoyWith({ filters: filters(publicKey, true) })),
    sluice: await field.start("sluice", (stage) => startSluice(stage, content)),
  };
  const ratios = [];
  for (const algorithm of ["HS256", "ES256"] as const) {
    const all = Array.from({ length: NEW_TOKENS }, (_, id) => tokenOf(algorithm, id, privateKey));
    for (const [what, chosen] of Object.entries({ "same token": all.slice(0, 1), "new tokens": all })) {
      const nameOf = (contestant: string) => `${contestant}, ${algorithm}, ${what}`;
      for (const [name, started] of Object.entries(contestants)) field.enter(nameOf(name), started, { tokens: chosen });
      for (const peer of ["Envoy", "Envoy with a cache"])
        ratios.push({
          name: `${algorithm}, ${what}: sluice / ${peer}`,
          of: nameOf("sluice"),
          to: nameOf(peer),
          ...(peer === "Envoy" && { bound: 0.8 }),
        });
    }
  }
  return field.report({
    title: "Tokens, groups and three more plugins among 10,000 routes",
    method:
      "GET of a 100-byte JSON response; Sluice with jwt, acl, rate-limiting (local), request-transformer and " +
      "correlation-id at 10,000 routes and 1,000 consumers; Envoy with one route and jwt_authn, rbac, local_ratelimit and " +
      `header_mutation. New tokens: ${NEW_TOKENS} tokens in turn, more than a cache holds (2,048 tokens).`,
    samples: await field.run(),
    ratios,
  });
}
