import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { jwt } from "./index.ts";
import {
  base64url,
  type Credential,
  HMAC_SECRET,
  jwtCredential,
  jwtCredentials,
  keyPairs,
  pemOf,
  publicPem,
  signedWithEd448,
  TOKEN_TIME,
  testedAlgorithms,
  tokenConsumer,
  tokenOf,
} from "./testing.ts";

const guest = fakeConsumer({ id: "c-0", username: "guest" });

const bearer = (token: string, scheme = "Bearer") => ({ authorization: `${scheme} ${token}` });

async function send(request: FakeExchangeOptions, config: object = {}) {
  const exchange = fakeExchange({
    consumers: [tokenConsumer, guest],
    credentials: { jwt_secrets: jwtCredentials },
    ...request,
  });
  const context = fakeContext({ now: () => TOKEN_TIME * 1000 });
  return { exchange, answer: await jwt.phases(withConfigDefaults("jwt", config), context).access?.(exchange) };
}

const token = tokenOf();
const [, , signature = ""] = token.split(".");

describe("a token of jwt", () => {
  for (const algorithm of testedAlgorithms) {
    it(`is accepted with ${algorithm}, and refused if one byte of its signature differs`, async () => {
      const good = tokenOf({ algorithm });
      const { exchange, answer } = await send({ headers: bearer(good) });
      assert.equal(answer, undefined);
      assert.equal(exchange.consumer, tokenConsumer);
      assert.equal(exchange.upstreamHeaders.get("X-Credential-Identifier"), algorithm);
      assert.equal(exchange.shared.get("authenticated_jwt_token"), good);
      const bytes = Buffer.from(good.split(".")[2] ?? "", "base64url");
      bytes[5] = (bytes[5] ?? 0) ^ 1;
      const bad = `${good.slice(0, good.lastIndexOf("."))}.${bytes.toString("base64url")}`;
      assert.equal((await send({ headers: bearer(bad) })).answer?.message, "Invalid signature");
    });
  }

  for (const [what, request, config] of [
    ["in the header Authorization", { headers: bearer(token) }],
    ["after the scheme in lower case", { headers: bearer(token, "bearer") }],
    ["in the query parameter jwt", { query: `?a=1&jwt=${token}` }],
    ["in a configured query parameter", { query: `?token=${token}` }, { uri_param_names: ["token", "t"] }],
    ["in a configured cookie", { headers: { cookie: `a=1; silly=${token}; b=2` } }, { cookie_names: ["silly"] }],
    ["in a configured header", { headers: { "x-token": `Bearer ${token}` } }, { header_names: ["X-Token"] }],
    ["in two places, if it is the same token", { headers: bearer(token), query: `?jwt=${token}` }],
    [
      "if the claim that names the key is in its header",
      { headers: bearer(tokenOf({ header: { iss: "HS256" }, claims: {} })) },
    ],
    [
      "if another claim is configured to name the key",
      { headers: bearer(tokenOf({ claims: { kid: "HS256" } })) },
      { key_claim_name: "kid" },
    ],
    [
      "if the configured claim is in its header",
      { headers: bearer(tokenOf({ header: { kid: "HS256" }, claims: { iss: "x" } })) },
      { key_claim_name: "kid" },
    ],
    [
      "in the first of two values of a configured header",
      { headers: { "x-token": [`Bearer ${token}`, "Bearer other"] } },
      { header_names: ["x-token"] },
    ],
    [
      "in the header Authorization beside a cookie without a token",
      { headers: { ...bearer(token), cookie: "other=1" } },
      { cookie_names: ["silly"] },
    ],
    [
      "in a cookie beside a broken one",
      { headers: { cookie: `=; %; b="; silly=${token}` } },
      { cookie_names: ["silly"] },
    ],
    [
      "if it is signed with RS256, although secrets are Base64",
      { headers: bearer(tokenOf({ algorithm: "RS256" })) },
      { secret_is_base64: true },
    ],
    [
      "if it is signed with Ed448",
      {
        headers: bearer(signedWithEd448()),
        credentials: {
          jwt_secrets: { ed448: jwtCredential("ed448", "EdDSA", { pem: pemOf(keyPairs.ed448.publicKey) }) },
        },
      },
    ],
    [
      "if the claim that names the key is null, and the header of the token has a member of that name",
      { headers: bearer(tokenOf({ header: { iss: "HS256" }, claims: { iss: null } })) },
    ],
    ["with padding", { headers: bearer(`${token}=`) }],
    ["without an expiry, if no claims are verified", { headers: bearer(token) }, { claims_to_verify: [] }],
    [
      "if it is valid already and has not expired",
      { headers: bearer(tokenOf({ claims: { iss: "HS256", exp: TOKEN_TIME + 1, nbf: TOKEN_TIME } })) },
      { claims_to_verify: ["exp", "nbf"] },
    ],
    [
      "if it has expired, but no claims are verified",
      { headers: bearer(tokenOf({ claims: { iss: "HS256", exp: 1 } })) },
    ],
    [
      "if it expires within maximum_expiration",
      { headers: bearer(tokenOf({ claims: { iss: "HS256", exp: TOKEN_TIME + 300 } })) },
      { claims_to_verify: ["exp"], maximum_expiration: 300 },
    ],
    [
      "if it is signed with a Base64 secret",
      {
        headers: bearer(tokenOf({ secret: Buffer.from(HMAC_SECRET) })),
        credentials: { jwt_secrets: { HS256: jwtCredential("HS256", "HS256", { secret: btoa(HMAC_SECRET) }) } },
      },
      { secret_is_base64: true },
    ],
  ] as const satisfies readonly (readonly [string, FakeExchangeOptions, object?])[] as readonly (readonly [
    string,
    FakeExchangeOptions,
    object?,
  ])[]) {
    it(`is accepted ${what}`, async () => {
      const { exchange, answer } = await send(request, config);
      assert.deepEqual(answer, undefined);
      assert.equal(exchange.consumer, tokenConsumer);
    });
  }

  const refused: readonly (readonly [what: string, request: FakeExchangeOptions, message: string, config?: object])[] =
    [
      ["that is one of several", { headers: bearer(token), query: "?jwt=other" }, "Multiple tokens provided"],
      [
        "in a header beside another in a cookie",
        { headers: { ...bearer(token), cookie: "silly=other" } },
        "Multiple tokens provided",
        { cookie_names: ["silly"] },
      ],
      [
        "that is not a JSON Web Token, in a cookie",
        { headers: { cookie: "silly=abc" } },
        "Bad token; invalid JSON",
        { cookie_names: ["silly"] },
      ],
      ["that is not a JSON Web Token", { headers: bearer("nonsense") }, "Bad token; invalid JSON"],
      [
        "whose header is not JSON",
        { headers: bearer(`bm8.${token.split(".")[1]}.${signature}`) },
        "Bad token; invalid JSON",
      ],
      ["whose claims are a list", { headers: bearer(tokenOf({ claims: [1] })) }, "Bad token; invalid JSON"],
      ["whose claims are null", { headers: bearer(tokenOf({ claims: null })) }, "Bad token; invalid JSON"],
      ["without an algorithm", { headers: bearer(tokenOf({ header: { alg: undefined } })) }, "Bad token; invalid alg"],
      [
        "with the algorithm none",
        { headers: bearer(`${base64url({ alg: "none" })}.${base64url({ iss: "HS256" })}.`) },
        "Bad token; invalid alg",
      ],
      [
        "whose algorithm is the name of a property that every object inherits",
        { headers: bearer(tokenOf({ header: { alg: "constructor" } })) },
        "Bad token; invalid alg",
      ],
      [
        "with critical headers",
        { headers: bearer(tokenOf({ header: { crit: ["b64"], b64: false } })) },
        "Bad token; critical headers are not supported",
      ],
      [
        "with an empty list of critical headers",
        { headers: bearer(tokenOf({ header: { crit: [] } })) },
        "Bad token; critical headers are not supported",
      ],
      ["whose signature is not Base64url", { headers: bearer(`${token}!`) }, "Bad token; invalid signature"],
      ["without a signature", { headers: bearer(token.slice(0, token.lastIndexOf("."))) }, "Bad token; invalid JSON"],
      [
        "that is very long",
        { headers: bearer(tokenOf({ claims: { iss: "HS256", a: "x".repeat(20_000) } })) },
        "Bad token; invalid JSON",
      ],
      [
        "whose claim iss is a deeply nested list",
        {
          headers: bearer(
            `${base64url({ alg: "HS256" })}.${Buffer.from(`{"iss":${"[".repeat(5000)}${"]".repeat(5000)}}`).toString("base64url")}.`,
          ),
        },
        "Invalid 'iss' in claims",
      ],
      [
        "without the claim that names the key",
        { headers: bearer(tokenOf({ claims: {} })) },
        "No mandatory 'iss' in claims",
      ],
      ["whose claim iss is empty", { headers: bearer(tokenOf({ claims: { iss: "" } })) }, "Invalid 'iss' in claims"],
      [
        "whose claim iss is false, and whose header has a member iss",
        { headers: bearer(tokenOf({ header: { iss: "HS256" }, claims: { iss: false } })) },
        "Invalid 'iss' in claims",
      ],
      ["whose claim iss is a number", { headers: bearer(tokenOf({ claims: { iss: 7 } })) }, "Invalid 'iss' in claims"],
      [
        "without the configured claim, whose name is that of a property that every object inherits",
        { headers: bearer(tokenOf({ claims: {} })) },
        "No mandatory 'constructor' in claims",
        { key_claim_name: "constructor" },
      ],
      [
        "of an unknown key",
        { headers: bearer(tokenOf({ claims: { iss: "other" } })) },
        "No credentials found for given 'iss'",
      ],
      [
        "of a key with another algorithm",
        { headers: bearer(tokenOf({ algorithm: "HS512", claims: { iss: "HS256" } })) },
        "Invalid algorithm",
      ],
      [
        "that is signed with the public key as a secret",
        { headers: bearer(tokenOf({ secret: publicPem("RS256"), claims: { iss: "RS256" } })) },
        "Invalid algorithm",
      ],
      [
        "of a key whose curve is not that of the algorithm",
        {
          headers: bearer(tokenOf({ algorithm: "ES256", claims: { iss: "wrong" } })),
          credentials: { jwt_secrets: { wrong: jwtCredential("wrong", "ES256", { pem: publicPem("ES384") }) } },
        },
        "Invalid key/secret",
      ],
      [
        "of an RSA-PSS key that is for another digest",
        {
          headers: bearer(tokenOf({ algorithm: "PS512", claims: { iss: "pss" } })),
          credentials: {
            jwt_secrets: { pss: jwtCredential("pss", "PS512", { pem: pemOf(keyPairs.pss256.publicKey) }) },
          },
        },
        "Invalid key/secret",
      ],
      [
        "of a key without a secret",
        {
          headers: bearer(tokenOf({ claims: { iss: "none" } })),
          credentials: { jwt_secrets: { none: jwtCredential("none", "HS256", {}) } },
        },
        "Invalid key/secret",
      ],
      ["signed with another secret", { headers: bearer(tokenOf({ secret: "x" })) }, "Invalid signature"],
      [
        "whose consumer does not exist",
        { headers: bearer(token), consumers: [] },
        "Could not find consumer for 'iss=HS256'",
      ],
    ];
  for (const [what, request, message, config] of refused) {
    it(`${what} is refused: ${message}`, async () => {
      const { exchange, answer } = await send(request, config);
      assert.deepEqual(
        [answer?.status, answer?.message, answer?.headers],
        [401, message, { "WWW-Authenticate": 'Bearer error="invalid_token"' }],
      );
      assert.equal(exchange.consumer, null);
    });
  }

  const wrongClaims: readonly (readonly [claims: object, config: object, body: object])[] = [
    [{ exp: TOKEN_TIME }, { claims_to_verify: ["exp"] }, { exp: "token expired" }],
    [{ nbf: TOKEN_TIME + 1 }, { claims_to_verify: ["nbf"] }, { nbf: "token not valid yet" }],
    [{}, { claims_to_verify: ["exp"] }, { exp: "must be a number" }],
    [{ exp: "soon" }, { claims_to_verify: ["exp", "nbf"] }, { exp: "must be a number", nbf: "must be a number" }],
    [
      { exp: TOKEN_TIME + 301 },
      { claims_to_verify: ["exp"], maximum_expiration: 300 },
      { exp: "exceeds maximum allowed expiration" },
    ],
  ];
  for (const [claims, config, body] of wrongClaims) {
    it(`with the claims ${JSON.stringify(claims)} is refused: ${JSON.stringify(body)}`, async () => {
      const made = tokenOf({ claims: { iss: "HS256", ...claims } });
      const { answer } = await send({ headers: bearer(made) }, config);
      assert.equal(answer?.status, 401);
      assert.deepEqual(answer?.json, body);
      assert.equal(answer?.headers?.["WWW-Authenticate"], 'Bearer error="invalid_token"');
    });
  }

  it("that was verified is refused once it has expired, or its credential was changed or removed", async () => {
    let clock = TOKEN_TIME;
    const { access } = jwt.phases(
      withConfigDefaults("jwt", { claims_to_verify: ["exp"] }),
      fakeContext({ now: () => clock * 1000 }),
    );
    const made = tokenOf({ claims: { iss: "HS256", exp: TOKEN_TIME + 10 } });
    const ask = (jwt_secrets: Readonly<Record<string, Credential>>) =>
      access?.(fakeExchange({ headers: bearer(made), consumers: [tokenConsumer], credentials: { jwt_secrets } }));
    assert.equal(await ask(jwtCredentials), undefined);
    assert.equal(await ask(jwtCredentials), undefined);
    const changed = jwtCredential("HS256", "HS256", { secret: "another" });
    assert.partialDeepStrictEqual(await ask({ HS256: changed }), { message: "Invalid signature" });
    assert.partialDeepStrictEqual(await ask({}), { message: "No credentials found for given 'iss'" });
    clock = TOKEN_TIME + 10;
    assert.partialDeepStrictEqual(await ask(jwtCredentials), { json: { exp: "token expired" } });
  });
});

describe("a request without a valid token", () => {
  it("is refused with the configured realm", async () => {
    const { answer } = await send({}, { realm: "test" });
    assert.deepEqual(answer, {
      status: 401,
      message: "Unauthorized",
      headers: { "WWW-Authenticate": 'Bearer realm="test"' },
    });
  });

  it("is refused with a query parameter without a value", async () => {
    for (const query of ["?jwt", "?jwt="]) assert.equal((await send({ query })).answer?.message, "Unauthorized");
  });

  it("is attributed to the anonymous consumer", async () => {
    const { exchange, answer } = await send({ headers: bearer("x") }, { anonymous: "guest" });
    assert.deepEqual([answer, exchange.consumer, exchange.anonymous], [undefined, guest, true]);
  });

  it("is accepted for OPTIONS if run_on_preflight is false, and refused by default", async () => {
    assert.equal((await send({ method: "OPTIONS" }, { run_on_preflight: false })).answer, undefined);
    assert.equal((await send({ method: "OPTIONS" })).answer?.status, 401);
  });
});

it("the config of jwt refuses a negative maximum expiration", () => {
  assert.deepEqual(configViolations("jwt", { maximum_expiration: -1, claims_to_verify: ["exp"] }), [
    "maximum_expiration: value should be between 0 and 31536000",
  ]);
});

it("the config of jwt needs exp among the claims for a maximum expiration", () => {
  assert.deepEqual(configViolations("jwt", { maximum_expiration: 300, claims_to_verify: ["nbf"] }), [
    "claims_to_verify: expected to contain: exp",
    "@entity: failed conditional validation given value of field 'config.maximum_expiration'",
  ]);
  assert.deepEqual(configViolations("jwt", { maximum_expiration: 300, claims_to_verify: ["exp"] }), []);
});
