import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { configViolations, secretPathsOf, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { openidConnectFacts } from "./schema.ts";

const bearer = { issuer: "https://login.test", auth_methods: ["bearer"] };
const full = {
  issuer: "https://login.test",
  client_id: ["gateway"],
  client_secret: ["a secret of the client"],
  redirect_uri: ["https://app.test/callback"],
  session_secret: "a secret for the cookies",
};

const local = { path: "/logout", policy: "local" };

describe("the config of openid-connect", () => {
  it("needs only an issuer if tokens are verified with the provider's keys", () => {
    assert.deepEqual(configViolations("openid-connect", bearer), []);
  });

  it("accepts a string in place of a list of one value, because a Secret contains only strings", () => {
    const one = { ...full, client_id: "gateway", client_secret: "a secret of the client" };
    assert.deepEqual(withConfigDefaults("openid-connect", one), withConfigDefaults("openid-connect", full));
  });

  it("accepts a secret of 32 bytes as the key of signatures, and a reference to one", () => {
    for (const client_secret of ["x".repeat(32), "{vault://env/SECRET}"])
      assert.deepEqual(
        configViolations("openid-connect", { ...bearer, enable_hs_signatures: true, client_secret }),
        [],
      );
  });

  it("marks its secrets, so that they are kept in Secrets and redacted", () => {
    assert.deepEqual(secretPathsOf("openid-connect"), [
      ["client_secret"],
      ["session_secret"],
      ["backchannel_logout", "redis", "password"],
    ]);
  });

  it("names the parameters, headers and cookies that the logs must not show", () => {
    assert.deepEqual(openidConnectFacts.secretParameters?.(withConfigDefaults("openid-connect", full)), [
      ...["access_token", "access-token", "x-access-token", "code", "id_token_hint"],
      ...["session", "session2", "session3", "authorization", "authorization2", "authorization3"],
    ]);
  });

  const refused: readonly (readonly [config: object, violation: string])[] = [
    [{ auth_methods: ["bearer"] }, "issuer: required field missing"],
    [
      { ...bearer, issuer: "login.test" },
      "issuer: expected a URL with http or https, without user information and fragment",
    ],
    [
      { ...bearer, issuer: "file:///keys" },
      "issuer: expected a URL with http or https, without user information and fragment",
    ],
    [
      { ...bearer, introspection_endpoint: "https://user:password@login.test" },
      "introspection_endpoint: expected a URL with http or https, without user information and fragment",
    ],
    [
      { ...bearer, auth_methods: ["password"] },
      "auth_methods.0: expected one of: authorization_code, bearer, introspection, session",
    ],
    [
      { ...full, session_secret: null },
      "session_secret: required by authorization_code and session: set it, or leave authorization_code and session out of auth_methods",
    ],
    [
      { ...full, redirect_uri: null },
      "redirect_uri: required by authorization_code: set it, or leave authorization_code out of auth_methods",
    ],
    [
      { ...bearer, auth_methods: ["introspection"] },
      "client_id: required by introspection: set it, or leave introspection out of auth_methods",
    ],
    [{ ...full, session_secret: "short" }, "session_secret: length must be at least 16"],
    [{ ...full, client_id: ["one", "two"] }, "client_id: length must be at most 1"],
    [{ ...bearer, client_auth: ["client_secret_post"] }, "client_secret: required by client_secret_post"],
    [{ ...bearer, enable_hs_signatures: true }, "client_secret: required by enable_hs_signatures"],
    [
      { ...bearer, enable_hs_signatures: true, client_secret: "x".repeat(31) },
      "client_secret.0: enable_hs_signatures needs at least 32 bytes",
    ],
    [
      { ...full, client_auth: ["private_key_jwt"] },
      "client_auth.0: expected one of: client_secret_basic, client_secret_post, client_secret_jwt, none",
    ],
    [
      { ...bearer, upstream_headers_claims: ["email"] },
      "upstream_headers_names: expected as many names as claims in upstream_headers_claims: 1, not 0",
    ],
    [
      { ...bearer, upstream_access_token_header: "x token" },
      "upstream_access_token_header: expected the name of a header, with or without :bearer at its end",
    ],
    [
      { ...bearer, bearer_token_param_type: ["cookie"] },
      "bearer_token_cookie_name: required by cookie in bearer_token_param_type",
    ],
    [{ ...full, login_tokens: ["id_token"] }, "login_tokens: tokens are not put into URLs: use an empty list"],
    [
      { ...full, session_cookie_name: "a; b" },
      "session_cookie_name: expected the name of a cookie: letters, digits, dashes and underscores",
    ],
    [
      { ...full, session_cookie_path: "/; Domain=other.test" },
      "session_cookie_path: should start with: / and contain neither spaces nor semicolons",
    ],
    [
      { ...full, session_cookie_domain: "a.test; Path=/" },
      "session_cookie_domain: must contain neither spaces nor semicolons",
    ],
    [
      { ...full, session_cookie_same_site: "None", session_cookie_secure: false },
      "session_cookie_secure: must not be false with SameSite None: browsers would refuse the cookie",
    ],
    [
      { ...full, authorization_cookie_name: "session2" },
      "authorization_cookie_name: must differ from session_cookie_name and its numbered pieces",
    ],
    [
      { ...bearer, session_storage: "redis" },
      "session_storage: not supported: remove it. Sessions are kept in encrypted cookies, without a store",
    ],
    [
      { ...bearer, verify_signature: false },
      "verify_signature: not supported: remove it. Signatures, times and the nonce are always verified",
    ],
    [{ ...bearer, proof_of_possession_dpop: "strict" }, "proof_of_possession_dpop: not supported: remove it"],
    [
      { ...bearer, backchannel_logout: { path: "/logout", policy: "local" }, client_id: "gateway" },
      "backchannel_logout: needs authorization_code or session in auth_methods: it ends only sessions",
    ],
    [
      { ...full, auth_methods: ["session"], client_id: null, client_secret: null, backchannel_logout: local },
      "client_id: required by backchannel_logout: logouts are addressed to the client",
    ],
    [{ ...full, backchannel_logout: { path: "/logout" } }, "backchannel_logout.policy: required field missing"],
    [{ ...full, backchannel_logout: { policy: "local" } }, "backchannel_logout.path: required field missing"],
    [
      { ...full, backchannel_logout: { ...local, policy: "cluster" } },
      "backchannel_logout.policy: expected one of: local, redis",
    ],
    [{ ...full, backchannel_logout: { ...local, path: "logout" } }, "backchannel_logout.path: should start with: /"],
    [
      { ...full, backchannel_logout: { ...local, path: "/callback" } },
      "backchannel_logout.path: must differ from the path of redirect_uri",
    ],
    [
      { ...full, backchannel_logout: { ...local, policy: "redis" } },
      "backchannel_logout.redis.host: required by the policy redis",
    ],
    [
      { ...full, backchannel_logout: local, session_absolute_timeout: 0 },
      "session_absolute_timeout: with backchannel_logout, expected a value between 1 and 2678400: logouts are kept for that long",
    ],
    [
      { ...full, backchannel_logout: local, session_absolute_timeout: 2_678_401 },
      "session_absolute_timeout: with backchannel_logout, expected a value between 1 and 2678400: logouts are kept for that long",
    ],
    [{ ...bearer, constructor: 1 }, "constructor: unknown field"],
    [{ ...bearer, isuer: "x" }, "isuer: unknown field"],
  ];
  for (const [config, violation] of refused) {
    it(`is refused: ${violation}`, () => assert.deepEqual(configViolations("openid-connect", config), [violation]));
  }
});
