/** rewrite-target and x-forwarded-prefix. nginx replaces the whole path by the target, and encodes the result again. */
import { headers } from "../nginx.ts";
import type { IngressRow } from "../row.ts";

const rest = 'location ~* "^/" { return 404; }';

export const rewriteRows: readonly IngressRow[] = [
  {
    title: "rewrite-target replaces the path by captured groups, and keeps the query",
    ingresses: [{ annotations: { "rewrite-target": "/$2" }, paths: ["ImplementationSpecific /something(/|$)(.*) up"] }],
    nginx: `
      location ~* "^/something(/|$)(.*)" {
        rewrite "(?i)/something(/|$)(.*)" /$2 break; proxy_pass http://up;
      }
      ${rest}`,
    exchanges: [
      { send: "GET /something", is: "200 up /" },
      { send: "GET /something/", is: "200 up /" },
      { send: "GET /something/new?q=1&q=2", is: "200 up /new?q=1&q=2" },
      { send: "GET /Something/New", is: "200 up /New" },
      { send: "GET /somethingelse", is: "404" },
      { send: "GET /something//a//b", is: "200 up /a/b" },
      { send: "GET /something/a+b;c=d", is: "200 up /a+b;c=d" },
      { send: "GET /something/a%20b%3Fd%25", is: "200 up /a%20b%3Fd%25" },
      {
        send: "GET /something/b%2Fc",
        is: "200 up /b/c",
        sluice: { is: "200 up /b%2Fc", because: "`%2F` stays encoded" },
      },
    ],
  },
  {
    title: "rewrite-target without groups replaces the whole path, not only the matched part",
    ingresses: [{ annotations: { "rewrite-target": "/" }, paths: ["Prefix /foo up"] }],
    nginx: `
      location ~* "^/foo/" { rewrite "(?i)/foo/" / break; proxy_pass http://up; }
      location ~* "^/foo" { rewrite "(?i)/foo" / break; proxy_pass http://up; }
      ${rest}`,
    exchanges: [
      { send: "GET /foo", is: "200 up /" },
      { send: "GET /foo/bar/baz?x=1", is: "200 up /?x=1" },
    ],
  },
  {
    title:
      "a rewrite-target that is equal to the path changes nothing, and does not make the path a regular expression",
    ingresses: [{ annotations: { "rewrite-target": "/app" }, paths: ["Prefix /app up"] }],
    nginx: `
      location "/" { return 404; }
      location "/app/" { proxy_pass http://up; } location = "/app" { proxy_pass http://up; }`,
    exchanges: [
      { send: "GET /app/x", is: "200 up /app/x" },
      { send: "GET /apple", is: "404" },
    ],
  },
  {
    title: "x-forwarded-prefix replaces the client's header, with captured groups",
    ingresses: [
      {
        annotations: { "rewrite-target": "/$2", "x-forwarded-prefix": "/$1/api" },
        paths: ["ImplementationSpecific /(v[0-9])/api/(.*) up"],
      },
    ],
    nginx: `
      location ~* "^/(v[0-9])/api/(.*)" {
        rewrite "(?i)/(v[0-9])/api/(.*)" /$2 break;
        ${headers} proxy_set_header X-Forwarded-Prefix "/$1/api";
        proxy_pass http://up;
      }
      ${rest}`,
    exchanges: [
      {
        send: "GET /V2/api/users",
        with: { "X-Forwarded-Prefix": "/forged" },
        is: "200 up /users",
        received: { up: { "x-forwarded-prefix": "/V2/api" } },
      },
    ],
  },
];
