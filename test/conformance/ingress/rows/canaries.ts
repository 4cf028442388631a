/** Canaries. ingress-nginx chooses them with Lua, which nginx replaces here by conditions. */
import type { IngressRow } from "../row.ts";

const anyCase = "case is ignored";

/** @param rules Sets $backend to `other` for requests that the canary receives. */
const choosing = (rules: string): string => `location "/" { set $backend up; ${rules} proxy_pass http://$backend; }`;

const canary = (annotations: Readonly<Record<string, string>>): IngressRow["ingresses"] => [
  { annotations: { "denylist-source-range": "10.0.0.0/8" }, paths: ["Prefix / up"] },
  { annotations: { canary: "true", ...annotations }, paths: ["Prefix / other"] },
];

export const canaryRows: readonly IngressRow[] = [
  {
    title: "canary-by-header and canary-by-cookie: always and never, the header first",
    ingresses: canary({ "canary-by-header": "X-Canary", "canary-by-cookie": "canary" }),
    nginx: choosing(`
      if ($cookie_canary = always) { set $backend other; }
      if ($http_x_canary = always) { set $backend other; }
      if ($http_x_canary = never) { set $backend up; }`),
    exchanges: [
      { send: "GET /", is: "200 up /" },
      { send: "GET /", with: { "X-Canary": "always" }, is: "200 other /" },
      { send: "GET /", with: { "X-Canary": "yes" }, is: "200 up /" },
      { send: "GET /", with: { Cookie: "canary=always" }, is: "200 other /" },
      { send: "GET /", with: { Cookie: "a=b; canary=always; c=d" }, is: "200 other /" },
      { send: "GET /", with: { Cookie: "canary=alwaysx" }, is: "200 up /" },
      { send: "GET /", with: { Cookie: "x-canary=always" }, is: "200 up /" },
      { send: "GET /", with: { Cookie: "canary=never" }, is: "200 up /" },
      { send: "GET /", with: { "X-Canary": "never", Cookie: "canary=always" }, is: "200 up /" },
      { send: "GET /", with: { "X-Canary": "always", Cookie: "canary=never" }, is: "200 other /" },
      { send: "GET /", with: { "X-Canary": "yes", Cookie: "canary=always" }, is: "200 other /" },
    ],
  },
  {
    title: "canary-by-header-value: this value of the header, and not always",
    ingresses: canary({ "canary-by-header": "X-Region", "canary-by-header-value": "DE.1" }),
    nginx: choosing("if ($http_x_region = DE.1) { set $backend other; }"),
    exchanges: [
      { send: "GET /", with: { "X-Region": "DE.1" }, is: "200 other /" },
      { send: "GET /", with: { "X-Region": "DE11" }, is: "200 up /" },
      { send: "GET /", with: { "X-Region": "always" }, is: "200 up /" },
      {
        send: "GET /",
        with: { "X-Region": "de.1" },
        is: "200 up /",
        sluice: { is: "200 other /", because: anyCase },
      },
    ],
  },
  {
    title: "canary-by-header-pattern: a part of the header's value matches the expression",
    ingresses: canary({ "canary-by-header": "X-Region", "canary-by-header-pattern": "D[EK]" }),
    nginx: choosing('if ($http_x_region ~ "D[EK]") { set $backend other; }'),
    exchanges: [
      { send: "GET /", with: { "X-Region": "DE" }, is: "200 other /" },
      { send: "GET /", with: { "X-Region": "north-DK-2" }, is: "200 other /" },
      { send: "GET /", with: { "X-Region": "DF" }, is: "200 up /" },
      {
        send: "GET /",
        with: { "X-Region": "dk" },
        is: "200 up /",
        sluice: { is: "200 other /", because: anyCase },
      },
    ],
  },
  {
    title: "canary-weight and canary-weight-total: all requests, except those with never",
    ingresses: canary({ "canary-weight": "200", "canary-weight-total": "200", "canary-by-header": "X-Canary" }),
    nginx: choosing("set $backend other; if ($http_x_canary = never) { set $backend up; }"),
    exchanges: [
      { send: "GET /", times: 4, is: "200 other /" },
      { send: "GET /", with: { "X-Canary": "never" }, is: "200 up /" },
    ],
  },
  {
    title: "a canary is served with the protection of the other Ingress",
    ingresses: [
      { annotations: { "denylist-source-range": "127.0.0.1" }, paths: ["Prefix / up"] },
      { annotations: { canary: "true", "canary-weight": "100" }, paths: ["Prefix / other"] },
    ],
    nginx: 'location "/" { deny 127.0.0.1; proxy_pass http://other; }',
    exchanges: [{ send: "GET /", times: 2, is: "403" }],
  },
];
