/** Redirects, and their place among the other annotations. */
import { authLocation } from "../nginx.ts";
import type { IngressRow } from "../row.ts";

const relative = "sends the path as `Location`, which is relative to the requested URL";

const slash = "keeps a slash at the end of the path";

/** The Lua of ingress-nginx that redirects to https. */
const toHttps = `
  if ($request_uri ~ "^(.*)/$") { return 308 https://$host$1; }
  return 308 https://$host$request_uri;`;

const protectedBy = {
  "denylist-source-range": "127.0.0.1",
  "auth-type": "basic",
  "auth-secret": "users",
  "auth-url": "http://auth/verify",
};
const protection = `
  deny 127.0.0.1; auth_basic "r"; auth_basic_user_file FOLDER/users; auth_request /_auth;`;

export const redirectRows: readonly IngressRow[] = [
  {
    title: "permanent-redirect and temporal-redirect come before addresses, passwords and the auth server",
    ingresses: [
      {
        annotations: { ...protectedBy, "permanent-redirect": "https://new.example/page" },
        paths: ["Prefix /permanent up"],
      },
      {
        annotations: { ...protectedBy, "temporal-redirect": "https://new.example/page" },
        paths: ["Prefix /temporal up"],
      },
      {
        annotations: {
          "permanent-redirect": "https://new.example/page",
          "permanent-redirect-code": "308",
        },
        paths: ["Prefix /code up"],
      },
      {
        annotations: { "permanent-redirect": "https://new.example/p", "temporal-redirect": "https://new.example/t" },
        paths: ["Prefix /both up"],
      },
    ],
    nginx: `
      ${authLocation('"http://auth/verify"')}
      location "/permanent" { ${protection} return 301 https://new.example/page; }
      location "/temporal" { ${protection} return 302 https://new.example/page; }
      location "/code" { return 308 https://new.example/page; }
      location "/both" { return 302 https://new.example/t; }`,
    exchanges: [
      { send: "GET /permanent/thing?x=1", is: "301", headers: { location: "https://new.example/page" } },
      { send: "GET /temporal", is: "302", headers: { location: "https://new.example/page" } },
      { send: "GET /both", is: "302", headers: { location: "https://new.example/t" } },
      { send: "POST /code", body: 1, is: "308", headers: { location: "https://new.example/page" } },
    ],
  },
  {
    title: "a redirect to a path leads to the host of the request, without the port",
    ingresses: [
      { annotations: { "permanent-redirect": "/x" }, paths: ["Prefix /absolute up"] },
      { annotations: { "permanent-redirect": "/x", "relative-redirects": "true" }, paths: ["Prefix /relative up"] },
    ],
    nginx: `
      location "/absolute" { return 301 /x; }
      location "/relative" { absolute_redirect off; return 301 /x; }`,
    exchanges: [
      {
        send: "GET /absolute",
        is: "301",
        headers: { location: "http://HOST/x" },
        sluice: { headers: { location: "/x" }, because: relative },
      },
      {
        send: "GET /absolute",
        host: "HOST:8080",
        is: "301",
        headers: { location: "http://HOST/x" },
        sluice: { headers: { location: "/x" }, because: relative },
      },
      { send: "GET /relative", is: "301", headers: { location: "/x" } },
    ],
  },
  {
    title: "a redirect to $request_uri of another host keeps the path and query",
    ingresses: [
      { annotations: { "permanent-redirect": "https://new.example$request_uri" }, paths: ["Prefix /permanent up"] },
      { annotations: { "temporal-redirect": "https://new.example:8443$request_uri" }, paths: ["Prefix /temporal up"] },
    ],
    nginx: `
      location "/permanent" { return 301 https://new.example$request_uri; }
      location "/temporal" { return 302 https://new.example:8443$request_uri; }`,
    exchanges: [
      {
        send: "GET /permanent/a?x=/y",
        is: "301",
        headers: { location: "https://new.example/permanent/a?x=/y" },
      },
      { send: "GET /temporal", is: "302", headers: { location: "https://new.example:8443/temporal" } },
    ],
  },
  {
    title: "force-ssl-redirect redirects http before all checks, whatever the client says about its connection",
    ingresses: [{ annotations: { ...protectedBy, "force-ssl-redirect": "true" }, paths: ["Prefix / up"] }],
    nginx: `location "/" { ${toHttps} }`,
    exchanges: [
      { send: "GET /a?x=1", is: "308", headers: { location: "https://HOST/a?x=1" } },
      { send: "POST /a", body: 1, host: "HOST:8080", is: "308", headers: { location: "https://HOST/a" } },
      {
        send: "GET /a",
        with: { "X-Forwarded-Proto": "https" },
        is: "308",
        headers: { location: "https://HOST/a" },
      },
      {
        send: "GET /a/",
        is: "308",
        headers: { location: "https://HOST/a" },
        sluice: { headers: { location: "https://HOST/a/" }, because: slash },
      },
    ],
  },
  {
    title: "http requests for a host with TLS are redirected, except with ssl-redirect false",
    ingresses: [
      { paths: ["Prefix /a up"], tls: true },
      { annotations: { "ssl-redirect": "false" }, paths: ["Prefix /b up"], tls: true },
      { annotations: { "ssl-redirect": "false", "force-ssl-redirect": "true" }, paths: ["Prefix /c up"] },
    ],
    nginx: `
      location "/a" { ${toHttps} }
      location "/b" { proxy_pass http://up; }
      location "/c" { ${toHttps} }`,
    exchanges: [
      { send: "GET /a", is: "308", headers: { location: "https://HOST/a" } },
      { send: "GET /b", is: "200 up /b" },
      { send: "GET /c", is: "308", headers: { location: "https://HOST/c" } },
    ],
  },
  {
    title: "from-to-www-redirect redirects the host with or without www. to the host of the rule",
    ingresses: [{ annotations: { "from-to-www-redirect": "true" }, paths: ["Prefix / up"] }],
    nginx: {
      HOST: 'location "/" { proxy_pass http://up; }',
      "www.HOST": "return 308 $scheme://HOST$request_uri;",
    },
    exchanges: [
      { send: "GET /a", is: "200 up /a" },
      { send: "GET /a?x=1", host: "www.HOST", is: "308", headers: { location: "http://HOST/a?x=1" } },
    ],
  },
  {
    title: "app-root redirects the path / before all other annotations, without the query",
    ingresses: [{ annotations: { ...protectedBy, "app-root": "/app1" }, paths: ["Prefix / up"] }],
    nginx: `
      ${authLocation('"http://auth/verify"')}
      if ($uri = /) { return 302 $scheme://$http_host/app1; }
      location "/" { ${protection} proxy_pass http://up; }`,
    exchanges: [
      {
        send: "GET /",
        is: "302",
        headers: { location: "http://HOST/app1" },
        sluice: { headers: { location: "/app1" }, because: relative },
      },
      {
        send: "GET /?x=1",
        host: "HOST:8080",
        is: "302",
        headers: { location: "http://HOST:8080/app1" },
        sluice: { headers: { location: "/app1" }, because: relative },
      },
      {
        send: "GET //",
        is: "302",
        headers: { location: "http://HOST/app1" },
        sluice: { headers: { location: "/app1" }, because: relative },
      },
      { send: "GET /index", is: "403" },
    ],
  },
  {
    title: "an Ingress whose authentication cannot be set up answers 503, before preflights and redirects",
    ingresses: [
      {
        annotations: { "auth-type": "basic", "auth-secret": "no-such-secret", "enable-cors": "true" },
        paths: ["Prefix / up"],
      },
      {
        annotations: {
          "auth-type": "basic",
          "auth-secret": "no-such-secret",
          "permanent-redirect": "https://new.example/",
        },
        paths: ["Prefix /redirect up"],
      },
    ],
    events: ["the Secret no-such-secret of the namespace conformance does not exist"],
    nginx: 'location "/" { return 503; }',
    exchanges: [
      { send: "GET /", is: "503" },
      {
        send: "OPTIONS /",
        with: { Origin: "https://x.example", "Access-Control-Request-Method": "GET" },
        is: "503",
      },
      { send: "GET /redirect", is: "503" },
    ],
  },
];
