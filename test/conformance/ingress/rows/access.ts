/** Addresses of clients. */
import type { IngressRow } from "../row.ts";

export const accessRows: readonly IngressRow[] = [
  {
    title: "allowlist-source-range and denylist-source-range refuse other clients with 403; the denylist comes first",
    ingresses: [
      { annotations: { "allowlist-source-range": "127.0.0.1" }, paths: ["Prefix /in up"] },
      { annotations: { "whitelist-source-range": "10.0.0.0/8, 192.168.0.1" }, paths: ["Prefix /out up"] },
      {
        annotations: { "denylist-source-range": "127.0.0.1", "whitelist-source-range": "127.0.0.0/8" },
        paths: ["Prefix /both up"],
      },
      { annotations: { "denylist-source-range": "10.0.0.0/8" }, paths: ["Prefix /denylist up"] },
    ],
    nginx: `
      location "/in" { allow 127.0.0.1; deny all; proxy_pass http://up; }
      location "/out" { allow 10.0.0.0/8; allow 192.168.0.1; deny all; proxy_pass http://up; }
      location "/both" { deny 127.0.0.1; allow 127.0.0.0/8; deny all; proxy_pass http://up; }
      location "/denylist" { deny 10.0.0.0/8; proxy_pass http://up; }`,
    exchanges: [
      { send: "GET /in", is: "200 up /in" },
      { send: "GET /out", is: "403" },
      { send: "GET /out", with: { "X-Forwarded-For": "10.0.0.1", "X-Real-IP": "10.0.0.1" }, is: "403" },
      { send: "GET /both", is: "403" },
      { send: "GET /denylist", is: "200 up /denylist" },
    ],
  },
];
