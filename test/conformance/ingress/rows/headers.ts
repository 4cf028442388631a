/** Headers for upstreams. */
import { headers } from "../nginx.ts";
import type { IngressRow } from "../row.ts";

const passed = "does not send them, and forwards those of clients unchanged";

const nginx = 'location "/" { proxy_pass http://up; }';

export const headerRows: readonly IngressRow[] = [
  {
    title: "the upstream receives the Host of the client, and where the request came from",
    ingresses: [{ paths: ["Prefix / up"] }],
    nginx,
    exchanges: [
      {
        send: "GET /p?q=1",
        host: "HOST:8080",
        is: "200 up /p?q=1",
        received: {
          up: {
            host: "HOST:8080",
            "x-real-ip": "127.0.0.1",
            "x-forwarded-for": "127.0.0.1",
            "x-forwarded-proto": "http",
            "x-forwarded-port": /^\d+$/,
          },
        },
      },
      {
        send: "GET /",
        is: "200 up /",
        received: { up: { "x-request-id": /^[\da-f]{32}$/, "x-forwarded-scheme": "http", "x-scheme": "http" } },
        sluice: {
          received: { up: { "x-request-id": null, "x-forwarded-scheme": null, "x-scheme": null } },
          because: passed,
        },
      },
      {
        send: "GET /",
        host: "HOST:8080",
        is: "200 up /",
        received: { up: { "x-forwarded-host": "HOST:8080" } },
        sluice: {
          received: { up: { "x-forwarded-host": "HOST" } },
          because: "sends `X-Forwarded-Host` without the port",
        },
      },
    ],
  },
  {
    title: "forged headers of a proxy do not reach the upstream",
    ingresses: [{ paths: ["Prefix / up"] }],
    nginx,
    exchanges: [
      {
        send: "GET /",
        with: {
          "X-Forwarded-Host": "evil",
          "X-Forwarded-Proto": "https",
          "X-Real-IP": "9.9.9.9",
          Proxy: "x",
        },
        is: "200 up /",
        received: {
          up: { "x-forwarded-host": "HOST", "x-forwarded-proto": "http", "x-real-ip": "127.0.0.1", proxy: null },
        },
      },
      {
        send: "GET /",
        with: { "X-Forwarded-For": "1.2.3.4" },
        is: "200 up /",
        received: { up: { "x-forwarded-for": "127.0.0.1" } },
        sluice: {
          received: { up: { "x-forwarded-for": "1.2.3.4, 127.0.0.1" } },
          because: "appends the address; `SLUICE_TRUSTED_IPS` decides whose headers are trusted",
        },
      },
      {
        send: "GET /",
        with: { "X-Scheme": "https", "X-Forwarded-Scheme": "https" },
        is: "200 up /",
        received: { up: { "x-scheme": "http", "x-forwarded-scheme": "http" } },
        sluice: { received: { up: { "x-scheme": "https", "x-forwarded-scheme": "https" } }, because: passed },
      },
      {
        send: "GET /",
        with: { "X-Original-Forwarded-For": "1.2.3.4", "X-Original-Forwarded-Host": "evil" },
        is: "200 up /",
        received: { up: { "x-original-forwarded-for": null, "x-original-forwarded-host": null } },
        sluice: {
          received: { up: { "x-original-forwarded-for": "1.2.3.4", "x-original-forwarded-host": "evil" } },
          because: passed,
        },
      },
      {
        send: "GET /",
        with: { X_Under: "1" },
        is: "200 up /",
        received: { up: { x_under: null } },
        sluice: { received: { up: { x_under: "1" } }, because: "forwards headers with an underscore" },
      },
    ],
  },
  {
    title: "an X-Request-ID of the client is kept, and other headers pass",
    ingresses: [{ paths: ["Prefix / up"] }],
    nginx,
    exchanges: [
      {
        send: "GET /",
        with: { "X-Request-ID": "client-id", "X-Empty": "", "User-Agent": "u" },
        is: "200 up /",
        headers: { "x-app": "1", "x-request-id": null },
        received: { up: { "x-request-id": "client-id", "x-empty": "", "user-agent": "u" } },
      },
      {
        send: "GET /",
        with: { Via: "1.0 x" },
        is: "200 up /",
        received: { up: { via: "1.0 x" } },
        sluice: { received: { up: { via: /^1\.0 x, 1\.1 sluice/ } }, because: "adds itself to `Via`" },
      },
    ],
  },
  {
    title: "Upgrade is forwarded, and otherwise no Connection header",
    ingresses: [{ paths: ["Prefix / login"] }],
    nginx: 'location "/" { proxy_pass http://login; }',
    exchanges: [
      {
        send: "GET /ws",
        with: { Upgrade: "websocket", Connection: "Upgrade" },
        is: "401 login /ws",
        received: { login: { upgrade: "websocket", connection: /^upgrade$/i } },
      },
      { send: "GET /", is: "401 login /", received: { login: { upgrade: null } } },
    ],
  },
  {
    title: "custom-headers replaces the headers of the upstream, and applies to responses of all statuses",
    ingresses: [
      { annotations: { "custom-headers": "response-headers" }, paths: ["Prefix /open up"] },
      {
        annotations: { "custom-headers": "response-headers", "auth-type": "basic", "auth-secret": "users" },
        paths: ["Prefix /closed up"],
      },
    ],
    // ingress-nginx has a module that replaces headers.
    nginx: `
      proxy_hide_header X-App; add_header X-App 2 always;
      add_header Content-Security-Policy "default-src 'self'; img-src a:443" always;
      location "/open" { proxy_pass http://up; }
      location "/closed" { auth_basic "r"; auth_basic_user_file FOLDER/users; proxy_pass http://up; }`,
    exchanges: [
      {
        send: "GET /open",
        is: "200 up /open",
        headers: { "x-app": "2", "content-security-policy": "default-src 'self'; img-src a:443" },
      },
      {
        send: "GET /closed",
        is: "401",
        headers: { "x-app": "2", "content-security-policy": "default-src 'self'; img-src a:443" },
      },
    ],
  },
  {
    title: "upstream-vhost replaces the Host, but not X-Forwarded-Host",
    ingresses: [{ annotations: { "upstream-vhost": "internal.svc" }, paths: ["Prefix / up"] }],
    nginx: `location "/" {
      ${headers.replace("Host $http_host;", 'Host "internal.svc";')}
      proxy_pass http://up;
    }`,
    exchanges: [
      { send: "GET /", is: "200 up /", received: { up: { host: "internal.svc", "x-forwarded-host": "HOST" } } },
    ],
  },
];
