/** enable-cors. ingress-nginx sets the headers with Lua, which nginx replaces here by add_header. */
import { basic, type IngressRow } from "../row.ts";

const secret = { "auth-type": "basic", "auth-secret": "users" };

const preflights = "answers only preflight requests, with 200, also those of other origins";

const header = (name: string, value: string): string => `add_header ${name} ${value} always;`;
const set = [
  header("Access-Control-Allow-Origin", "$http_origin"),
  header("Access-Control-Allow-Credentials", "true"),
  header("Access-Control-Max-Age", "1728000"),
].join(" ");

const defaultHeaders =
  "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization";

/** @param condition Sets $cors to true for an allowed origin. */
const location = (condition: string): string => `location "/" {
  ${condition}
  if ($request_method = 'OPTIONS') { set $cors \${cors}options; }
  if ($cors = "true") { ${set} }
  if ($cors = "trueoptions") { ${set} return 204; }
  auth_basic "r"; auth_basic_user_file FOLDER/users; proxy_pass http://up;
}`;

const preflight = (origin: string) => ({ Origin: origin, "Access-Control-Request-Method": "PUT" });
const allowed = (origin: string) => ({ "access-control-allow-origin": origin });

export const corsRows: readonly IngressRow[] = [
  {
    title: "enable-cors: preflights are answered before passwords, and all responses have the headers",
    ingresses: [{ annotations: { ...secret, "enable-cors": "true" }, paths: ["Prefix / up"] }],
    nginx: location("set $http_origin *; set $cors 'true';"),
    exchanges: [
      {
        send: "OPTIONS /",
        with: preflight("https://shop.example"),
        is: "204",
        headers: { ...allowed("*"), "access-control-max-age": "1728000" },
        sluice: { is: "200", because: preflights },
      },
      { send: "GET /", with: { Origin: "https://shop.example" }, is: "401", headers: allowed("*") },
      {
        send: "GET /",
        with: { Origin: "https://shop.example", ...basic("alice", "secret") },
        is: "200 up /",
        headers: allowed("*"),
      },
      {
        send: "GET /",
        with: { Origin: "https://shop.example" },
        is: "401",
        headers: { "access-control-allow-credentials": "true" },
        sluice: {
          headers: { "access-control-allow-credentials": null },
          because: "They are never allowed together with the origin `*`",
        },
      },
      { send: "OPTIONS /", is: "204", sluice: { is: "401", because: preflights } },
    ],
  },
  {
    title: "the CORS headers have the values of the annotations, or the defaults of ingress-nginx",
    ingresses: [
      { annotations: { "enable-cors": "true" }, paths: ["Prefix /default up"] },
      {
        annotations: {
          "enable-cors": "true",
          "cors-allow-origin": "https://a.example",
          "cors-allow-methods": "GET, PUT",
          "cors-allow-headers": "X-One, X-Two",
          "cors-expose-headers": "X-App",
          "cors-max-age": "60",
        },
        paths: ["Prefix /own up"],
      },
    ],
    nginx: `
      location "/default" {
        ${header("Access-Control-Allow-Methods", '"GET, PUT, POST, DELETE, PATCH, OPTIONS"')}
        ${header("Access-Control-Allow-Headers", `"${defaultHeaders}"`)}
        ${header("Access-Control-Max-Age", "1728000")}
        if ($request_method = OPTIONS) { return 204; }
        proxy_pass http://up;
      }
      location "/own" {
        ${header("Access-Control-Allow-Origin", "$http_origin")}
        ${header("Access-Control-Allow-Methods", '"GET, PUT"')}
        ${header("Access-Control-Allow-Headers", '"X-One, X-Two"')}
        ${header("Access-Control-Expose-Headers", '"X-App"')}
        ${header("Access-Control-Max-Age", "60")}
        if ($request_method = OPTIONS) { return 204; }
        proxy_pass http://up;
      }`,
    exchanges: [
      {
        send: "OPTIONS /default",
        with: preflight("https://x.example"),
        is: "204",
        headers: {
          "access-control-allow-methods": /^GET, ?PUT, ?POST, ?DELETE, ?PATCH, ?OPTIONS$/,
          "access-control-allow-headers": defaultHeaders,
          "access-control-max-age": "1728000",
        },
        sluice: { is: "200", because: preflights },
      },
      {
        send: "OPTIONS /own",
        with: preflight("https://a.example"),
        is: "204",
        headers: {
          "access-control-allow-origin": "https://a.example",
          "access-control-allow-methods": /^GET, ?PUT$/,
          "access-control-allow-headers": /^X-One, ?X-Two$/,
          "access-control-max-age": "60",
        },
        sluice: { is: "200", because: preflights },
      },
      {
        send: "GET /own",
        with: { Origin: "https://a.example" },
        is: "200 up /own",
        headers: { "access-control-allow-origin": "https://a.example", "access-control-expose-headers": "X-App" },
      },
    ],
  },
  {
    title: "preflights are answered before redirects, which have the CORS headers too",
    ingresses: [
      {
        annotations: { "enable-cors": "true", "permanent-redirect": "https://new.example/" },
        paths: ["Prefix / up"],
      },
    ],
    nginx: `location "/" {
      set $http_origin *; set $cors 'true';
      if ($request_method = 'OPTIONS') { set $cors \${cors}options; }
      if ($cors = "true") { ${set} }
      if ($cors = "trueoptions") { ${set} return 204; }
      if ($cors) { ${set} return 301 https://new.example/; }
    }`,
    exchanges: [
      {
        send: "OPTIONS /",
        with: preflight("https://x.example"),
        is: "204",
        headers: allowed("*"),
        sluice: { is: "200", because: preflights },
      },
      {
        send: "GET /",
        with: { Origin: "https://x.example" },
        is: "301",
        headers: { ...allowed("*"), location: "https://new.example/" },
      },
    ],
  },
  {
    title: "cors-allow-origin: a wildcard stands for one label, and other origins get no headers",
    ingresses: [
      {
        annotations: {
          ...secret,
          "enable-cors": "true",
          "cors-allow-origin": "https://*.shop.example, https://b.example",
        },
        paths: ["Prefix / up"],
      },
    ],
    nginx: location(
      `if ($http_origin ~* ((https://[A-Za-z0-9\\-]+\\.shop\\.example)|(https://b\\.example))$ ) { set $cors 'true'; }`,
    ),
    exchanges: [
      {
        send: "OPTIONS /",
        with: preflight("https://a.shop.example"),
        is: "204",
        headers: { ...allowed("https://a.shop.example"), "access-control-allow-credentials": "true" },
        sluice: { is: "200", because: preflights },
      },
      {
        send: "OPTIONS /",
        with: preflight("https://b.example"),
        is: "204",
        headers: allowed("https://b.example"),
        sluice: { is: "200", because: preflights },
      },
      {
        send: "OPTIONS /",
        with: preflight("HTTPS://B.EXAMPLE"),
        is: "204",
        headers: allowed("HTTPS://B.EXAMPLE"),
        sluice: {
          is: "200",
          headers: { "access-control-allow-origin": null },
          because: "Origins are compared in lower case, in which browsers send them",
        },
      },
      ...["https://a.b.shop.example", "https://shop.example", "https://b.example.evil", "https://evil.example"].map(
        (origin) => ({
          send: "OPTIONS /",
          with: preflight(origin),
          is: "401",
          headers: { "access-control-allow-origin": null },
          sluice: { is: "200", because: preflights },
        }),
      ),
      {
        send: "GET /",
        with: { Origin: "https://evil.example", ...basic("alice", "secret") },
        is: "200 up /",
        headers: { "access-control-allow-origin": null },
      },
    ],
  },
];
