/** auth-url: another server decides about requests. The server `auth` responds with the status that ends the path. */
import { authLocation, headers } from "../nginx.ts";
import { basic, type IngressRow } from "../row.ts";

/** A location that asks the auth server. */
const asking = (path: string, backend: string, more = ""): string => `location "${path}" {
  auth_request /_auth;
  auth_request_set $auth_cookie $upstream_http_set_cookie; add_header Set-Cookie $auth_cookie;
  auth_request_set $auth_user $upstream_http_x_user;
  ${headers} proxy_set_header "X-User" $auth_user;
  ${more} proxy_pass http://${backend};
}`;

const cookies = "adds all of them";

const url = "http://auth/verify";
const annotations = { "auth-url": url, "auth-response-headers": "X-User" };

/** The page to which auth-signin redirects. */
const signin = (query: string): string => `
  location @signin { internal; add_header Set-Cookie $auth_cookie; return 302 https://login.example/start?${query}; }`;

export const authServerRows: readonly IngressRow[] = [
  {
    title: "auth-url: the auth server receives the head of the request as a GET, and the upstream its headers",
    ingresses: [{ annotations: { ...annotations, "auth-url": `${url}?a=b` }, paths: ["Prefix / up"] }],
    nginx: authLocation(`"${url}?a=b"`) + asking("/", "up"),
    exchanges: [
      {
        send: "POST /x/200?q=1",
        body: 5,
        with: { Cookie: "c=1", "X-User": "forged", Authorization: "Bearer t", "Content-Type": "text/plain" },
        is: "200 auth /verify?a=b up /x/200?q=1",
        headers: { "set-cookie": "s=1; Path=/" },
        received: {
          auth: {
            "x-original-url": "http://HOST/x/200?q=1",
            "x-original-method": "POST",
            "x-auth-request-redirect": "/x/200?q=1",
            "x-sent-from": "nginx-ingress-controller",
            "x-real-ip": "127.0.0.1",
            "x-forwarded-for": "127.0.0.1",
            "x-forwarded-proto": null,
            ":method": "GET",
            ":length": "0",
            cookie: "c=1",
            authorization: "Bearer t",
          },
          up: { "x-user": "alice", cookie: "c=1", authorization: "Bearer t", "content-length": "5" },
        },
      },
      {
        send: "GET /201",
        with: { "X-User": "forged" },
        is: "200 auth /verify?a=b up /201",
        received: { up: { "x-user": null } },
      },
    ],
  },
  {
    title: "auth-url: 2xx admits, 401 and 403 are passed to the client, and all other statuses become 500",
    ingresses: [{ annotations, paths: ["Prefix / up"] }],
    nginx: authLocation(`"${url}"`) + asking("/", "up"),
    exchanges: [
      { send: "GET /204", is: "200 auth /verify up /204", headers: { "set-cookie": "s=1; Path=/" } },
      { send: "GET /401", is: "401 auth /verify", headers: { "www-authenticate": 'Bearer realm="x"' } },
      { send: "GET /403", is: "403 auth /verify" },
      { send: "GET /302", is: "500 auth /verify", headers: { location: null } },
      { send: "GET /404", is: "500 auth /verify" },
      { send: "GET /429", is: "500 auth /verify" },
      { send: "GET /500", is: "500 auth /verify" },
    ],
  },
  {
    title: "auth-method, auth-proxy-set-headers and auth-request-redirect change the request to the auth server",
    ingresses: [
      {
        annotations: { ...annotations, "auth-method": "POST", "auth-proxy-set-headers": "conformance/auth-headers" },
        paths: ["Prefix /a up"],
      },
      { annotations: { ...annotations, "auth-request-redirect": "https://x.example/y" }, paths: ["Prefix /b up"] },
    ],
    nginx:
      authLocation(
        `"${url}"`,
        `proxy_method POST; proxy_set_header X-Original-URI $request_uri; proxy_set_header X-Scheme $scheme;
        proxy_set_header X-Tenant "shop"; proxy_set_header X-Why "$request_uri";`,
      ) +
      asking("/a", "up") +
      authLocation(`"${url}"`)
        .replace("/_auth", "/_redirect")
        .replace("Redirect $request_uri", "Redirect https://x.example/y") +
      asking("/b", "up").replace("/_auth", "/_redirect"),
    exchanges: [
      {
        send: "GET /a/200?x=1",
        with: { "X-Tenant": "forged" },
        is: "200 auth /verify up /a/200?x=1",
        received: {
          auth: {
            ":method": "POST",
            "x-tenant": "shop",
            "x-why": "/a/200?x=1",
            "x-original-uri": "/a/200?x=1",
            "x-scheme": "http",
          },
        },
      },
      {
        send: "GET /b/200",
        is: "200 auth /verify up /b/200",
        received: { auth: { ":method": "GET", "x-auth-request-redirect": "https://x.example/y" } },
      },
    ],
  },
  {
    title: "auth-url with variables: the auth server receives the values of the request",
    ingresses: [
      {
        annotations: { "auth-url": "http://auth/verify?host=$host&uri=$request_uri&method=$request_method" },
        paths: ["Prefix / up"],
      },
    ],
    nginx: authLocation('"http://auth/verify?host=$host&uri=$request_uri&method=$request_method"') + asking("/", "up"),
    exchanges: [
      {
        send: "GET /x/200",
        host: "HOST:8080",
        is: "200 auth /verify?host=HOST&uri=/x/200&method=GET up /x/200",
      },
    ],
  },
  {
    title: "auth-url: an auth server that cannot be reached becomes 500",
    ingresses: [{ annotations: { "auth-url": "http://dead/" }, paths: ["Prefix / up"] }],
    nginx: authLocation('"http://dead/"') + asking("/", "up"),
    exchanges: [{ send: "GET /200", is: "500" }],
  },
  {
    title: "auth-url without a path: the auth server receives the path of nginx' internal location",
    ingresses: [{ annotations: { "auth-url": "http://auth" }, paths: ["Prefix / up"] }],
    nginx: authLocation('"http://auth"') + asking("/", "up"),
    exchanges: [
      {
        send: "GET /200",
        is: "200 auth /_auth up /200",
        sluice: { is: "200 auth / up /200", because: "the path `/` to an `auth-url` without a path" },
      },
    ],
  },
  {
    title: "auth-signin redirects a 401 of the auth server, and not one of the upstream",
    ingresses: [
      {
        annotations: {
          ...annotations,
          "auth-signin": "https://login.example/start?rd=$scheme://$http_host$request_uri",
        },
        paths: ["Prefix / login"],
      },
    ],
    nginx:
      authLocation(`"${url}"`) +
      signin("rd=$scheme://$http_host$request_uri") +
      asking("/", "login", "error_page 401 = @signin;"),
    exchanges: [
      {
        send: "GET /401",
        is: "302 auth /verify",
        headers: {
          location: "https://login.example/start?rd=http://HOST/401",
          "set-cookie": "s=1; Path=/",
          "www-authenticate": 'Bearer realm="x"',
        },
      },
      {
        send: "POST /x/401?a=b",
        body: 1,
        is: "302 auth /verify",
        headers: { location: "https://login.example/start?rd=http://HOST/x/401?a=b" },
      },
      { send: "GET /403", is: "403 auth /verify" },
      {
        send: "GET /200",
        is: "401 auth /verify login /200",
        headers: { "www-authenticate": 'Basic realm="app"', location: null },
      },
    ],
  },
  {
    title: "auth-signin redirects a 401 for a wrong password too",
    ingresses: [
      {
        annotations: {
          ...annotations,
          "auth-type": "basic",
          "auth-secret": "users",
          "auth-signin": "https://login.example/start?rd=x",
        },
        paths: ["Prefix / up"],
      },
    ],
    nginx:
      authLocation(`"${url}"`) +
      signin("rd=x") +
      asking("/", "up", 'auth_basic "r"; auth_basic_user_file FOLDER/users; error_page 401 = @signin;'),
    exchanges: [{ send: "GET /200", is: "302", headers: { location: "https://login.example/start?rd=x" } }],
  },
  {
    title: "addresses are checked before passwords, and passwords before the auth server is asked",
    ingresses: [
      {
        annotations: {
          ...annotations,
          "denylist-source-range": "127.0.0.1",
          "auth-type": "basic",
          "auth-secret": "users",
        },
        paths: ["Prefix /denied up"],
      },
      { annotations: { ...annotations, "denylist-source-range": "127.0.0.1" }, paths: ["Prefix /asked up"] },
      { annotations: { ...annotations, "auth-type": "basic", "auth-secret": "users" }, paths: ["Prefix / up"] },
    ],
    nginx:
      authLocation(`"${url}"`) +
      asking("/denied", "up", 'deny 127.0.0.1; auth_basic "r"; auth_basic_user_file FOLDER/users;') +
      asking("/asked", "up", "deny 127.0.0.1;") +
      asking("/", "up", 'auth_basic "r"; auth_basic_user_file FOLDER/users;'),
    exchanges: [
      { send: "GET /denied/401", is: "403" },
      { send: "GET /asked/200", is: "403" },
      { send: "GET /401", is: "401", headers: { "www-authenticate": /^Basic / } },
      { send: "GET /403", with: basic("alice", "wrong"), is: "401", headers: { "www-authenticate": /^Basic / } },
      { send: "GET /403", with: basic("alice", "secret"), is: "403 auth /verify" },
      { send: "GET /200", with: basic("alice", "secret"), is: "200 auth /verify up /200" },
    ],
  },
  {
    title: "the cookies of the auth server are added to successes and redirects, or with auth-always-set-cookie to all",
    ingresses: [
      { annotations: { "auth-url": "http://two-cookies/" }, paths: ["Prefix /found up", "Prefix /missing missing"] },
      {
        annotations: { "auth-url": "http://two-cookies/", "auth-always-set-cookie": "true" },
        paths: ["Prefix /always missing"],
      },
    ],
    nginx:
      authLocation('"http://two-cookies/"') +
      asking("/found", "up") +
      asking("/missing", "missing") +
      asking("/always", "missing").replace(
        "add_header Set-Cookie $auth_cookie;",
        "add_header Set-Cookie $auth_cookie always;",
      ),
    exchanges: [
      {
        send: "GET /found",
        is: "200 two-cookies / up /found",
        headers: { "set-cookie": "a=1" },
        sluice: { headers: { "set-cookie": "a=1; b=2" }, because: cookies },
      },
      { send: "GET /missing", is: "404 two-cookies / missing /missing", headers: { "set-cookie": "own=1" } },
      {
        send: "GET /always",
        is: "404 two-cookies / missing /always",
        headers: { "set-cookie": "own=1; a=1" },
        sluice: { headers: { "set-cookie": "own=1; a=1; b=2" }, because: cookies },
      },
    ],
  },
];
