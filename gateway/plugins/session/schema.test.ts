import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { configViolations, secretPathsOf, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { sessionFacts } from "./schema.ts";

const secret = "a secret for the cookies of this test";

describe("the config of session", () => {
  test("has Kong's defaults", () => {
    assert.deepEqual(withConfigDefaults("session", { secret }), {
      secret,
      storage: "cookie",
      audience: "default",
      idling_timeout: 900,
      rolling_timeout: 3600,
      absolute_timeout: 86_400,
      stale_ttl: 10,
      cookie_name: "session",
      cookie_path: "/",
      cookie_domain: null,
      cookie_same_site: "Strict",
      cookie_http_only: true,
      cookie_secure: true,
      remember: false,
      remember_cookie_name: "remember",
      remember_rolling_timeout: 604_800,
      remember_absolute_timeout: 2_592_000,
      response_headers: null,
      request_headers: null,
      read_body_for_logout: false,
      logout_methods: ["POST", "DELETE"],
      logout_query_arg: "session_logout",
      logout_post_arg: "session_logout",
    });
  });

  test("accepts the former names of members", () => {
    const former = {
      cookie_lifetime: 60,
      cookie_idletime: null,
      cookie_renew: 10,
      cookie_discard: 20,
      cookie_samesite: "off",
      cookie_httponly: false,
      cookie_persistent: true,
    };
    const { rolling_timeout, idling_timeout, stale_ttl, cookie_same_site, cookie_http_only, remember } =
      withConfigDefaults("session", { secret, rolling_timeout: 5, ...former });
    assert.deepEqual(
      [rolling_timeout, idling_timeout, stale_ttl, cookie_same_site, cookie_http_only, remember],
      [60, 0, 20, "Lax", false, true],
    );
  });

  test("marks its secret and its cookies as secret", () => {
    assert.deepEqual(secretPathsOf("session"), [["secret"]]);
    const names = sessionFacts.secretParameters?.(withConfigDefaults("session", { secret }));
    assert.deepEqual(names, ["session", "session2", "session3", "remember", "remember2", "remember3"]);
  });

  for (const [config, violation] of [
    [{ secret: null }, "secret: required: set the same secret on all nodes (openssl rand -base64 32)"],
    [{ secret: "short" }, "secret: length must be at least 16"],
    [{ storage: "kong" }, "storage: kong is not supported: use cookie, which needs no store"],
    [{ storage: "redis" }, "storage: expected one of: cookie, kong"],
    [{ cookie_same_site: "strict" }, "cookie_same_site: expected one of: Strict, Lax, None, Default"],
    [
      { cookie_same_site: "None", cookie_secure: false },
      "cookie_secure: must not be false with SameSite None: browsers would refuse the cookie",
    ],
    [{ cookie_domain: "a.test; Path=/" }, "cookie_domain: must contain neither spaces nor semicolons"],
    [
      { remember_cookie_name: "session2" },
      "remember_cookie_name: must differ from cookie_name and its numbered pieces",
    ],
    [{ store_metadata: true }, "store_metadata: unknown field"],
    [{ logout_methods: ["PUT"] }, "logout_methods.0: expected one of: GET, POST, DELETE"],
  ] as const) {
    test(`is refused with ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("session", { secret, ...config }), [violation]);
    });
  }
});
