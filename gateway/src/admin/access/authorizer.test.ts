import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ClusterAuthorizer, ResourceAttributes, UserInfo } from "@sluice/crds";
import { HttpError } from "../http/errors.ts";
import { type AuthorizationRequest, type AuthorizerOptions, createAuthorizer } from "./authorizer.ts";

const none: AuthorizerOptions = { token: null, certificates: false, cluster: null, homeNamespace: "home" };
const asked: AuthorizationRequest = { method: "GET", url: "/services", headers: {}, certificate: null };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function statusOf(options: Partial<AuthorizerOptions>, entering: Partial<AuthorizationRequest>): Promise<number> {
  try {
    await createAuthorizer({ ...none, ...options })({ ...asked, ...entering });
    return 200;
  } catch (error) {
    assert.ok(error instanceof HttpError, String(error));
    if (error.status === 401) assert.equal(error.headers["WWW-Authenticate"], 'Bearer realm="sluice-admin"');
    return error.status;
  }
}

describe("the authorizer", () => {
  const token = "right";
  const table: readonly (readonly [string, Partial<AuthorizerOptions>, Partial<AuthorizationRequest>, number])[] = [
    ["admits every request without authentication settings", {}, {}, 200],
    ["refuses a request without the token", { token }, {}, 401],
    ["refuses a request with a different token", { token }, { headers: bearer("wrong") }, 401],
    ["refuses a request with a part of the token", { token }, { headers: bearer("righ") }, 401],
    ["refuses a request with an empty token", { token }, { headers: { authorization: "Bearer " } }, 401],
    ["admits the token as a bearer token", { token }, { headers: bearer("right") }, 200],
    ["admits the token with the scheme in any case", { token }, { headers: { authorization: "bearer right" } }, 200],
    ["admits the token in Kong's header", { token }, { headers: { "kong-admin-token": "right" } }, 200],
    ["refuses the token with another scheme", { token }, { headers: { authorization: "Basic right" } }, 401],
    ["admits GET /status without a token", { token }, { url: "/status" }, 200],
    ...["/healthz", "/livez", "/readyz"].map(
      (url) => [`admits GET ${url} without a token`, { token }, { url }, 200] as const,
    ),
    ["refuses a write to /readyz without a token", { token }, { url: "/readyz", method: "POST" }, 401],
    ["admits GET of the console's files without a token", { token }, { url: "/console/*" }, 200],
    [
      "refuses other methods on the console's files without a token",
      { token },
      { url: "/console/*", method: "PUT" },
      401,
    ],
    ["refuses a write to /status without a token", { token }, { url: "/status", method: "POST" }, 401],
    ["refuses GET / without a token, because it shows settings", { token }, { url: "/" }, 401],
    ["refuses an unknown URL without a token", { token }, { url: undefined }, 401],
    ["admits OPTIONS without a token, because preflights carry none", { token }, { method: "OPTIONS" }, 200],
    ["admits a valid certificate", { certificates: true }, { certificate: "CN=deck" }, 200],
    ["refuses a request without a certificate", { certificates: true }, {}, 401],
    ["refuses a certificate if certificates are not configured", { token }, { certificate: "CN=deck" }, 401],
    ["admits the token instead of a certificate", { token, certificates: true }, { headers: bearer("right") }, 200],
  ];
  for (const [does, options, entering, status] of table) {
    test(does, async () => assert.equal(await statusOf(options, entering), status));
  }
});

test("the authorizer admits GET /status without authentication, and returns the name of the caller if the caller is authenticated or no authentication is configured", async () => {
  const away: ClusterAuthorizer = {
    authenticate: () => Promise.reject(new Error("ECONNREFUSED")),
    isAllowed: async () => true,
    async close() {},
  };
  const table: readonly (readonly [Partial<AuthorizerOptions>, Partial<AuthorizationRequest>, string | null])[] = [
    [{}, {}, "anonymous"],
    [{ anonymous: "anonymous (loopback)" }, {}, "anonymous (loopback)"],
    [{ token: "right" }, {}, null],
    [{ token: "right" }, { headers: bearer("wrong") }, null],
    [{ token: "right" }, { headers: bearer("right") }, "admin token"],
    [{ certificates: true }, {}, null],
    [{ certificates: true }, { certificate: "CN=deck" }, "certificate CN=deck"],
    [{ cluster: away }, { headers: bearer("ann's") }, null],
  ];
  for (const [options, entering, proved] of table) {
    const gate = createAuthorizer({ ...none, ...options });
    assert.equal(await gate({ ...asked, url: "/status", ...entering }), proved);
  }
});

describe("the authorizer of a cluster", () => {
  const wanted: ResourceAttributes[] = [];
  const clusterOf = (caller: UserInfo | null, allowed: (right: ResourceAttributes) => boolean): ClusterAuthorizer => ({
    authenticate: async (token) => (token === "ann's" ? caller : null),
    async isAllowed(_caller, right) {
      wanted.push(right);
      return allowed(right);
    },
    async close() {},
  });
  const ann = { username: "ann" };

  test("admits only bearer tokens of users whom RBAC allows the same operation on the custom resources", async () => {
    const cluster = clusterOf(ann, () => true);
    assert.equal(await statusOf({ cluster }, { headers: bearer("ann's") }), 200);
    assert.equal(await statusOf({ cluster }, { headers: bearer("bob's") }), 401);
    assert.equal(await statusOf({ cluster }, { headers: { "kong-admin-token": "ann's" } }), 401);
    assert.equal(await statusOf({ cluster }, {}), 401);
  });

  test("names the missing permission", async () => {
    const cluster = clusterOf(ann, ({ verb }) => verb === "list");
    const gate = createAuthorizer({ ...none, cluster });
    await gate({ ...asked, headers: bearer("ann's") });
    await assert.rejects(gate({ ...asked, method: "POST", headers: bearer("ann's") }), {
      status: 403,
      message: "ann may not create services.sluice.dev in all namespaces: RBAC of the cluster does not allow it",
    });
    await assert.rejects(gate({ ...asked, method: "DELETE", url: "/services/:entity", headers: bearer("ann's") }), {
      message: /^ann may not delete services\.sluice\.dev in all namespaces:/,
    });
  });

  test("refuses every request while the cluster cannot be reached, except with the static token", async () => {
    const cluster: ClusterAuthorizer = {
      authenticate: () => Promise.reject(new Error("ECONNREFUSED")),
      isAllowed: async () => true,
      async close() {},
    };
    const gate = createAuthorizer({ ...none, cluster, token: "right" });
    await assert.rejects(gate({ ...asked, headers: bearer("ann's") }), { name: "Unavailable" });
    await gate({ ...asked, headers: bearer("right") });
  });
});
