/** Limits of requests, and of requests in progress, for the address of a client. */
import { basic, type IngressRow } from "../row.ts";

const logins = { "auth-type": "basic", "auth-secret": "users" };
const login = 'auth_basic "r"; auth_basic_user_file FOLDER/users;';

/** @param zone The name of the zone and of its variables. */
const zoneOf = (zone: string, exempt: string, directive: string): string => `
  geo $remote_addr $exempt_${zone} { default 0; ${exempt} 1; }
  map $exempt_${zone} $key_${zone} { 0 $binary_remote_addr; 1 ""; }
  ${directive}`;

export const limitRows: readonly IngressRow[] = [
  {
    title: "limit-rpm: at first 1 + burst requests for all paths are admitted, and failed logins count",
    ingresses: [
      {
        annotations: { ...logins, "limit-rpm": "1", "limit-burst-multiplier": "3" },
        paths: ["Prefix /a up", "Prefix /b up"],
      },
    ],
    http: zoneOf("rpm", "10.0.0.0/8", "limit_req_zone $key_rpm zone=rpm:1m rate=1r/m;"),
    nginx: `
      location "/a" { limit_req zone=rpm burst=3 nodelay; ${login} proxy_pass http://up; }
      location "/b" { limit_req zone=rpm burst=3 nodelay; ${login} proxy_pass http://up; }`,
    exchanges: [
      { send: "GET /a", is: "401" },
      { send: "GET /b", with: basic("alice", "secret"), is: "200 up /b" },
      { send: "GET /a", with: basic("alice", "wrong"), times: 2, is: "401" },
      { send: "GET /a", with: basic("alice", "wrong"), is: "503" },
      { send: "GET /b", with: basic("alice", "secret"), is: "503" },
    ],
  },
  {
    title: "limit-rps: refused requests come before addresses, which are checked before passwords",
    ingresses: [
      {
        annotations: {
          ...logins,
          "limit-rps": "1",
          "limit-rpm": "1",
          "limit-burst-multiplier": "1",
          "denylist-source-range": "127.0.0.1",
        },
        paths: ["Prefix / up"],
      },
    ],
    http: zoneOf(
      "rps",
      "10.0.0.0/8",
      "limit_req_zone $key_rps zone=rps:1m rate=1r/s; limit_req_zone $key_rps zone=both:1m rate=1r/m;",
    ),
    nginx: `location "/" {
      limit_req zone=rps burst=1 nodelay; limit_req zone=both burst=1 nodelay;
      deny 127.0.0.1; ${login} proxy_pass http://up;
    }`,
    exchanges: [
      { send: "GET /", times: 2, is: "403" },
      { send: "GET /", times: 2, is: "503" },
    ],
  },
  {
    title: "limit-allowlist, or limit-whitelist: these addresses are not limited",
    ingresses: [
      {
        annotations: { "limit-rpm": "1", "limit-burst-multiplier": "1", "limit-whitelist": "127.0.0.0/8" },
        paths: ["Prefix / up"],
      },
    ],
    http: zoneOf("exempt", "127.0.0.0/8", "limit_req_zone $key_exempt zone=exempt:1m rate=1r/m;"),
    nginx: 'location "/" { limit_req zone=exempt burst=1 nodelay; proxy_pass http://up; }',
    exchanges: [{ send: "GET /", times: 4, is: "200 up /" }],
  },
  {
    title: "limit-connections: a request beyond the number of requests in progress is refused, before its password",
    ingresses: [
      {
        annotations: { "limit-connections": "1" },
        paths: ["Prefix /slow slow", "Prefix /up up"],
      },
      {
        annotations: { ...logins, "limit-connections": "1" },
        paths: ["Prefix /other other"],
      },
    ],
    http: zoneOf("connections", "10.0.0.0/8", "limit_conn_zone $key_connections zone=connections:1m;"),
    nginx: `
      location "/slow" { limit_conn connections 1; proxy_pass http://slow; }
      location "/up" { limit_conn connections 1; proxy_pass http://up; }
      location "/other" { ${login} proxy_pass http://other; }`,
    exchanges: [
      { send: "GET /up", during: "GET /slow", is: "503" },
      { send: "GET /other", during: "GET /slow", is: "401" },
    ],
  },
];
