/** Failures of upstreams, timeouts and repeated attempts. */
import type { IngressRow } from "../row.ts";

export const failureRows: readonly IngressRow[] = [
  {
    title: "an upstream that refuses or closes the connection is answered with 502",
    ingresses: [{ paths: ["Prefix /dead dead", "Prefix /cut cut"] }],
    nginx: `
      location "/dead" { proxy_pass http://dead; }
      location "/cut" { proxy_pass http://cut; }`,
    exchanges: [
      { send: "GET /dead", is: "502" },
      { send: "POST /cut", body: 1, is: "502 cut /cut" },
      // Like ingress-nginx, but not nginx, Sluice sends it to the same endpoint again.
      { send: "GET /cut", is: "502 *" },
    ],
  },
  {
    title: "a backend without endpoints, or without a core Service, is answered with 503",
    ingresses: [{ paths: ["Prefix /none none", "Prefix /absent absent"] }],
    events: ["there is no core Service absent"],
    nginx: 'location "/none" { return 503; } location "/absent" { return 503; }',
    exchanges: [
      { send: "GET /none", is: "503" },
      { send: "GET /absent", is: "503" },
    ],
  },
  {
    title: "proxy-read-timeout: an upstream that does not respond in time is answered with 504",
    ingresses: [{ annotations: { "proxy-read-timeout": "1" }, paths: ["Prefix / slow"] }],
    nginx: 'location "/" { proxy_read_timeout 1s; proxy_pass http://slow; }',
    exchanges: [{ send: "GET /", is: "504 slow /" }],
  },
  {
    title: "a request that another endpoint may answer is sent again, unless it is a POST that was sent",
    ingresses: [{ paths: ["Prefix /cut cut-then-up", "Prefix /dead dead-then-up", "Prefix /busy busy-then-up"] }],
    nginx: `
      location "/cut" { proxy_pass http://cut-then-up; }
      location "/dead" { proxy_pass http://dead-then-up; }
      location "/busy" { proxy_pass http://busy-then-up; }`,
    exchanges: [
      { send: "GET /cut", times: 2, is: "200 *" },
      { send: "POST /dead", body: 1, times: 2, is: "200 *" },
      { send: "GET /dead", times: 2, is: "200 *" },
    ],
  },
  {
    title: "a POST that was sent is not sent again",
    ingresses: [{ paths: ["Prefix / cut"] }],
    nginx: 'location "/" { proxy_pass http://cut-then-up; }',
    exchanges: [{ send: "POST /", body: 1, is: "502 cut /" }],
  },
  {
    title: "proxy-next-upstream off: no request is sent again",
    ingresses: [{ annotations: { "proxy-next-upstream": "off" }, paths: ["Prefix / cut"] }],
    nginx: 'location "/" { proxy_next_upstream off; proxy_pass http://cut-then-up; }',
    exchanges: [{ send: "GET /", is: "502 cut /" }],
  },
  {
    title: "proxy-next-upstream http_503: another endpoint may answer",
    ingresses: [{ annotations: { "proxy-next-upstream": "error timeout http_503" }, paths: ["Prefix / busy"] }],
    nginx: 'location "/" { proxy_next_upstream error timeout http_503; proxy_pass http://busy-then-up; }',
    exchanges: [
      {
        send: "GET /",
        is: "200 busy / up /",
        sluice: { is: "503 busy /", because: "Otherwise requests are sent again after a failed connection" },
      },
    ],
  },
  {
    title: "proxy-next-upstream non_idempotent: a POST is sent again",
    ingresses: [{ annotations: { "proxy-next-upstream": "error timeout non_idempotent" }, paths: ["Prefix / cut"] }],
    nginx: 'location "/" { proxy_next_upstream error timeout non_idempotent; proxy_pass http://cut-then-up; }',
    exchanges: [
      {
        send: "POST /",
        body: 1,
        is: "200 cut / up /",
        sluice: { is: "502 cut /", because: "Otherwise requests are sent again after a failed connection" },
      },
    ],
  },
];
