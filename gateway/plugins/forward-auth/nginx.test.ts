/** forward-auth with `request_style: nginx` in the real proxy. The tables are what nginx' auth_request does. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { fakeContext, fakeExchange, fakeRoute } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { type CollectorAnswer, refusingPort, startLogCollector } from "../../../test/plugins/log-servers.ts";
import { startProxyWith } from "../../../test/plugins/proxy.ts";
import { getTarget } from "../../../test/plugins/raw-http.ts";
import { forwardAuth } from "./index.ts";

/** Answers with the status at the end of the path in X-Original-URL, as the server of the recorded rows did. */
const byPath: CollectorAnswer = (response) => {
  const { pathname } = new URL(String(response.req.headers["x-original-url"]));
  const status = Number(/\d+$/.exec(pathname)?.[0] ?? 200);
  const headers: Record<string, string | string[]> = { "Set-Cookie": ["s=1; Path=/", "t=2"], "X-Secret": "1" };
  if (status === 200) headers["X-User"] = "alice";
  if (status === 401) headers["WWW-Authenticate"] = 'Bearer realm="x"';
  if (status === 302) headers.Location = "/login";
  response.writeHead(status, headers).end(status === 204 ? "" : "a body of the authorization server");
};

interface Options extends Pick<NonNullable<Parameters<typeof startProxyWith>[2]>, "plugins" | "upstream"> {
  readonly answer?: CollectorAnswer;
  /** Appended to the origin of the server. */
  readonly path?: string;
}

async function start(
  test: TestContext,
  config: object = {},
  { answer = byPath, path = "/verify", ...rest }: Options = {},
) {
  const { received: asked, origin } = await startLogCollector(test, answer);
  const members = { request_style: "nginx", address: `http://${origin}${path}`, ...config };
  const gateway = await startProxyWith(test, { name: "forward-auth", config: members }, rest);
  return { asked, gateway, origin, host: new URL(gateway.url).host };
}

async function echoed(response: Response): Promise<Readonly<Record<string, string>>> {
  assert.equal(response.status, 200);
  return ((await response.json()) as { headers: Readonly<Record<string, string>> }).headers;
}

test("the authorization server gets a GET request without a body, and the headers of ingress-nginx instead of forged ones", async (test) => {
  const { asked, gateway, host, origin } = await start(
    test,
    { auth_response_headers: ["X-User"] },
    { path: "/verify?a=b" },
  );
  const forged = {
    "X-Original-URL": "http://a.test/public",
    "X-Original-Method": "GET",
    "X-Auth-Request-Redirect": "/public",
    x_auth_request_redirect: "/public",
    "X-Sent-From": "me",
    "X-Real-IP": "10.0.0.1",
    "X-Forwarded-For": "10.0.0.1",
    "X-Forwarded-Proto": "https",
  };
  const own = { Cookie: "c=1", Authorization: "Bearer t", "Content-Type": "text/plain", "X-User": "forged" };
  const response = await gateway.fetch("/x/200?q=1", { method: "POST", body: "12345", headers: { ...forged, ...own } });
  assert.equal((await echoed(response))["x-user"], "alice");
  const [{ method, url, body, headers } = assert.fail()] = asked;
  assert.deepEqual([method, url, body], ["GET", "/verify?a=b", ""]);
  const { "x-request-id": id, ...others } = headers;
  assert.match(String(id), /^[\da-f-]{16,36}$/);
  for (const [name, value] of Object.entries({
    host: origin,
    "x-original-url": `http://${host}/x/200?q=1`,
    "x-original-method": "POST",
    "x-sent-from": "nginx-ingress-controller",
    "x-real-ip": "127.0.0.1",
    "x-forwarded-for": "127.0.0.1",
    "x-auth-request-redirect": "/x/200?q=1",
    "x-forwarded-proto": undefined,
    x_auth_request_redirect: undefined,
    cookie: "c=1",
    authorization: "Bearer t",
    "content-type": "text/plain",
    "x-user": "forged",
  })) {
    assert.equal(others[name], value, name);
  }
});

test("the authorization server gets the client's X-Request-ID, and the path on which routes match", async (test) => {
  const { asked, gateway, host } = await start(test);
  await getTarget(gateway.url, "/public/..//%61dmin/200?a=/../");
  await gateway.fetch("/200", { headers: { "X-Request-ID": "from-client" } });
  const { "x-original-url": url, "x-auth-request-redirect": redirect } = asked[0]?.headers ?? {};
  assert.deepEqual([url, redirect], [`http://${host}/admin/200?a=/../`, "/admin/200?a=/../"]);
  assert.equal(asked[1]?.headers["x-request-id"], "from-client");
});

test("exempt clients are admitted without asking the authorization server, and cannot send its headers", async (test) => {
  const config = { auth_response_headers: ["X-User"], exempt: ["127.0.0.0/8"] };
  const { asked, gateway } = await start(test, config, { path: "/401" });
  const headers = await echoed(await fetch(`${gateway.url}/401`, { headers: { "X-User": "forged" } }));
  assert.equal(headers["x-user"], undefined);
  assert.equal(asked.length, 0);
});

test("auth_response_headers are removed from the request if the authorization server does not send them", async (test) => {
  const { gateway } = await start(test, { auth_response_headers: ["X-User"] });
  const forged = { "X-User": "admin", x_user: "admin" };
  const of = async (path: string) => {
    const { "x-user": user, x_user: other } = await echoed(await gateway.fetch(path, { headers: forged }));
    return [user, other];
  };
  assert.deepEqual(await of("/200"), ["alice", undefined]);
  assert.deepEqual(await of("/201"), [undefined, undefined]);
});

for (const [status, expected, challenge, cookies] of [
  [200, 200, null, ["s=1; Path=/", "t=2"]],
  [204, 200, null, ["s=1; Path=/", "t=2"]],
  [401, 401, 'Bearer realm="x"', []],
  [403, 403, null, []],
  [302, 500, null, []],
  [304, 500, null, []],
  [404, 500, null, []],
  [429, 500, null, []],
  [500, 500, null, []],
] as const) {
  test(`the client gets ${expected} if the authorization server answers ${status}`, async (test) => {
    const { gateway } = await start(test);
    const response = await gateway.fetch(`/${status}`, { redirect: "manual" });
    assert.equal(response.status, expected);
    assert.equal(response.headers.get("www-authenticate"), challenge);
    assert.deepEqual(response.headers.getSetCookie(), cookies);
    assert.equal(response.headers.get("location"), null);
    assert.equal(response.headers.get("x-secret"), null);
    assert.doesNotMatch(await response.text(), /authorization server/);
    if (expected === 500) assert.match(JSON.stringify(gateway.log), new RegExp(`answered ${status}, and not 2xx`));
  });
}

test("the client gets 500 if the authorization server cannot be reached", async (test) => {
  const { gateway } = await start(test, { address: `http://127.0.0.1:${await refusingPort()}/` });
  assert.equal((await gateway.fetch("/200")).status, 500);
  assert.match(JSON.stringify(gateway.log), /ECONNREFUSED/);
});

for (const [always, path, cookies] of [
  [false, "/200", ["own=1"]],
  [true, "/200", ["own=1", "s=1; Path=/", "t=2"]],
  [true, "/401", ["s=1; Path=/", "t=2"]],
  [true, "/500", ["s=1; Path=/", "t=2"]],
] as const) {
  const what = always ? "all cookies of the authorization server" : "only the upstream's cookies";
  test(`with always_set_cookies: ${always}, the client gets ${what} with an error (${path})`, async (test) => {
    const upstream: NonNullable<Options["upstream"]> = (_, response) =>
      void response.writeHead(404, { "Set-Cookie": "own=1" }).end();
    const { gateway } = await start(test, { always_set_cookies: always }, { upstream });
    const response = await gateway.fetch(path);
    assert.ok(response.status >= 400);
    assert.deepEqual(response.headers.getSetCookie(), cookies);
  });
}

describe("with signin_url", () => {
  const page = "https://login.test/start";
  const plain = `${page}?rd=$scheme://$http_host$request_uri`;
  const escaped = (host: string, uri: string) => `rd=http://${host}${encodeURIComponent(uri)}`;

  for (const [signin_url, config, path, expected] of [
    [plain, {}, "/401", (host: string) => `${page}?rd=http://${host}/401`],
    [plain, {}, "/x/401?a=b", (host: string) => `${page}?rd=http://${host}/x/401?a=b`],
    [page, {}, "/x/401?a=b", (host: string) => `${page}?${escaped(host, "/x/401?a=b")}`],
    [`${page}?a=1`, {}, "/401", (host: string) => `${page}?a=1&${escaped(host, "/401")}`],
    [`${page}?rd=`, {}, "/401", (host: string) => `${page}?rd=&${escaped(host, "/401")}`],
    [
      page,
      { signin_redirect_param: "next" },
      "/401",
      (host: string) => `${page}?${escaped(host, "/401").replace("rd", "next")}`,
    ],
    [`https://$host/start?rd=\${escaped_request_uri}`, {}, "/401", () => "https://127.0.0.1/start?rd=%2F401"],
    ["/start?rd=/", {}, "/401", () => "/start?rd=/"],
  ] as const) {
    test(`${signin_url}${JSON.stringify(config)} is the page to which ${path} is redirected`, async (test) => {
      const { gateway, host } = await start(test, { signin_url, ...config });
      for (const method of ["GET", "HEAD", "POST"]) {
        const response = await gateway.fetch(path, { method, redirect: "manual" });
        assert.equal(response.status, 302, method);
        assert.equal(response.headers.get("location"), expected(host), method);
        assert.equal(response.headers.get("www-authenticate"), 'Bearer realm="x"', method);
        assert.deepEqual(response.headers.getSetCookie(), ["s=1; Path=/", "t=2"], method);
      }
    });
  }

  for (const [what, path, status] of [
    ["403 of the authorization server", "/403", 403],
    ["a failure of the authorization server", "/404", 500],
    ["401 of the upstream", "/200", 401],
  ] as const) {
    test(`${what} is not redirected`, async (test) => {
      const upstream: NonNullable<Options["upstream"]> = (_, response) =>
        void response.writeHead(401, { "WWW-Authenticate": 'Basic realm="app"' }).end("app");
      const { gateway } = await start(test, { signin_url: page }, { upstream });
      const response = await gateway.fetch(path, { redirect: "manual" });
      assert.equal(response.status, status);
      assert.equal(response.headers.get("location"), null);
    });
  }

  test("401 of another plugin is redirected, and the authorization server is not asked", async (test) => {
    const password = { name: "basic-auth", config: { realm: "r", htpasswd: "bob:{SHA}TVPvKJvRcX/xg7qERAF53EdNJbs=" } };
    const { asked, gateway } = await start(test, { signin_url: "https://login.test/?rd=/" }, { plugins: [password] });
    const response = await gateway.fetch("/200", { redirect: "manual" });
    assert.equal(response.status, 302);
    assert.equal(response.headers.get("location"), "https://login.test/?rd=/");
    assert.equal(response.headers.get("www-authenticate"), 'Basic realm="r"');
    assert.equal(asked.length, 0);
  });

  test("gRPC clients get 401", async (test) => {
    const { gateway } = await start(test, { signin_url: page });
    const response = await gateway.fetch("/401", {
      headers: { "content-type": "application/grpc" },
      redirect: "manual",
    });
    assert.equal(response.headers.get("grpc-status"), "16");
  });
});

test("request_method is the method of the request to the authorization server", async (test) => {
  const { asked, gateway } = await start(test, { request_method: "POST" });
  await echoed(await gateway.fetch("/200"));
  assert.deepEqual([asked[0]?.method, asked[0]?.headers["content-length"], asked[0]?.body], ["POST", "0", ""]);
});

test("extra_request_headers are sent to the authorization server instead of headers of the client and of the plugin", async (test) => {
  const extra_request_headers = {
    "X-Auth-Request-Redirect": "/start",
    "x-tenant": "a-$request_method",
    "X-Sent-From": "é",
  };
  const { asked, gateway } = await start(test, { extra_request_headers });
  await echoed(await gateway.fetch("/200", { headers: { X_Tenant: "b", "X-Auth-Request-Redirect": "/forged" } }));
  const {
    "x-auth-request-redirect": redirect,
    "x-tenant": tenant,
    x_tenant: other,
    "x-sent-from": from,
  } = asked[0]?.headers ?? {};
  assert.deepEqual([redirect, tenant, other, from], ["/start", "a-GET", undefined, "Ã©"]);
});

test("without request_style: nginx, extra_request_headers have no variables", async (test) => {
  const config = { request_style: "traefik", extra_request_headers: { "X-Tenant": "$host" } };
  const { asked, gateway } = await start(test, config, { answer: (response) => response.end() });
  await echoed(await gateway.fetch("/200"));
  assert.equal(asked[0]?.headers["x-tenant"], "$host");
  assert.equal(asked[0]?.headers["x-forwarded-method"], "GET");
  assert.equal(asked[0]?.headers["x-original-url"], undefined);
});

test("address may contain variables", async (test) => {
  const { asked, gateway, host } = await start(
    test,
    {},
    {
      path: `/$scheme\${uri}?host=$http_host&uri=$escaped_request_uri&by=$request_method-$remote_addr`,
    },
  );
  await echoed(await gateway.fetch("/a%20b/200?q=%231&r=2"));
  const uri = encodeURIComponent("/a%20b/200?q=%231&r=2");
  assert.equal(asked[0]?.url, `/http/a%20b/200?host=${host}&uri=${uri}&by=GET-127.0.0.1`);
});

describe("an address that the client's Host selects", () => {
  async function send(hosts: string[] | null, address = "http://$host:1/verify") {
    const config = withConfigDefaults("forward-auth", { request_style: "nginx", address });
    const { access } = forwardAuth.phases(config, fakeContext());
    const answer = await access?.(fakeExchange({ route: fakeRoute({ hosts }) }));
    return [
      answer?.status,
      answer?.reason?.replace("forward-auth: the request to the authorization server failed: ", ""),
    ];
  }
  const refused = "address contains $host, so the route needs hosts, without a wildcard at the end";
  for (const [what, hosts, reason] of [
    ["is refused on a route without hosts", null, refused],
    ["is refused on a route with an empty list of hosts", [], refused],
    ["is refused on a route with a host that ends in a wildcard", ["a.test", "b.*"], refused],
    ["is used on a route with hosts", ["localhost"], /ECONNREFUSED/],
    ["is used on a route with a wildcard at the beginning", ["*.a.test"], /ECONNREFUSED/],
  ] as const) {
    test(what, async () => {
      const [status, given = ""] = await send(hosts === null ? null : [...hosts]);
      assert.equal(status, 500);
      if (typeof reason === "string") assert.equal(given, reason);
      else assert.match(String(given), reason);
    });
  }
});

describe("the config of forward-auth with request_style: nginx", () => {
  const known =
    "$escaped_request_uri, $host, $http_host, $pass_access_scheme, $remote_addr, $request_method, $request_uri, $scheme, $uri";
  const unknown = (member: string, name: string) => `${member}: unknown variable $${name}: the variables are ${known}`;
  const nginx = { request_style: "nginx" };
  for (const [config, ...violations] of [
    [{ ...nginx, address: "https://$host/oauth2/auth" }],
    [{ ...nginx, address: "$scheme://auth.$host:8443/a?b=$request_uri" }],
    [
      { ...nginx, address: "http://$http_host/" },
      "address: only $host may select the server, and not $http_host, because the client chooses it",
    ],
    [
      { ...nginx, address: "http://a.test$request_uri" },
      "address: only $host may select the server, and not $request_uri, because the client chooses it",
    ],
    [{ ...nginx, address: "http:/$host/" }, "address: must begin with http://, https:// or $scheme://"],
    [{ ...nginx, address: "http://a.test/$arg_x" }, unknown("address", "arg_x")],
    [{ ...nginx, address: "http://a.test/$" }, unknown("address", "")],
    [{ ...nginx, address: "a.test" }, "address: missing scheme in url"],
    [{ ...nginx, address: "http://u:p@a.test" }, "address: must not contain a user name or a password"],
    [{ ...nginx, signin_url: "https://$host/oauth2/start?rd=$escaped_request_uri" }],
    [{ ...nginx, signin_url: "$request_uri" }, "signin_url: missing scheme in url"],
    [{ ...nginx, signin_url: "javascript:alert(1)" }, "signin_url: missing scheme in url"],
    [{ ...nginx, signin_url: "//evil.test" }, "signin_url: missing scheme in url"],
    [{ ...nginx, signin_url: "https://a.test/$x" }, unknown("signin_url", "x")],
    [{ ...nginx, signin_redirect_param: "a&b" }, "signin_redirect_param: may contain only letters, digits and -._~"],
    [{ ...nginx, extra_request_headers: { "X-A": "$b" } }, unknown("extra_request_headers.X-A", "b")],
    [{ extra_request_headers: { Host: "a" } }, "extra_request_headers.Host: the gateway itself sets 'Host': remove it"],
    [
      { ...nginx, add_auth_cookies_to_response: ["a"] },
      "add_auth_cookies_to_response: must be empty: request_style nginx passes on all cookies",
    ],
    [
      { ...nginx, auth_request_headers: ["X-Original-URL"] },
      "auth_request_headers.0: the gateway itself sets 'X-Original-URL': remove it",
    ],
    [
      { request_method: "POST", preserve_request_method: true },
      "request_method: must be unset with preserve_request_method",
    ],
    [{ request_method: "CONNECT" }, "request_method: invalid value: CONNECT"],
    [{ signin_url: "https://a.test" }, "signin_url: needs request_style nginx"],
    [{ always_set_cookies: true }, "always_set_cookies: needs request_style nginx"],
    [{ address: "http://a.test/$b" }],
  ] as const) {
    test(`${violations.length === 0 ? "accepts" : "refuses"} ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("forward-auth", { address: "http://a.test", ...config }), violations);
    });
  }
});
