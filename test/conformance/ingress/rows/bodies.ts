/** Sizes of request bodies. */
import type { IngressRow } from "../row.ts";

const MEBIBYTE = 2 ** 20;

const limited = (size: string) => `location "/" { client_max_body_size ${size}; proxy_pass http://up; }`;

export const bodyRows: readonly IngressRow[] = [
  {
    title: "proxy-body-size: a longer body is answered with 413, even without Content-Length",
    ingresses: [{ annotations: { "proxy-body-size": "1m" }, paths: ["Prefix / up"] }],
    nginx: limited("1m"),
    exchanges: [
      { send: "POST /", body: MEBIBYTE, is: "200 up /" },
      { send: "POST /", body: MEBIBYTE + 1, is: "413" },
      { send: "POST /", body: MEBIBYTE + 1, chunked: true, is: "413" },
      {
        send: "POST /",
        body: MEBIBYTE + 1,
        with: { Expect: "100-continue" },
        is: "413",
        sluice: { is: "417", because: "with 417 if the client sends `Expect: 100-continue`" },
      },
    ],
  },
  {
    title: "proxy-body-size 0: bodies are not limited",
    ingresses: [{ annotations: { "proxy-body-size": "0" }, paths: ["Prefix / up"] }],
    nginx: limited("0"),
    exchanges: [{ send: "POST /", body: MEBIBYTE + 1, is: "200 up /" }],
  },
  {
    title: "without proxy-body-size, bodies are limited to 1 MiB",
    ingresses: [{ paths: ["Prefix / up"] }],
    nginx: limited("1m"),
    exchanges: [
      {
        send: "POST /",
        body: MEBIBYTE + 1,
        is: "413",
        sluice: { is: "200 up /", because: "has no limit without `proxy-body-size`" },
      },
    ],
  },
  {
    title: "a body that is too long is refused before redirects, addresses and passwords",
    ingresses: [
      {
        annotations: { "proxy-body-size": "1k", "permanent-redirect": "https://x.example" },
        paths: ["Prefix /redirect up"],
      },
      {
        annotations: {
          "proxy-body-size": "1k",
          "denylist-source-range": "127.0.0.1",
          "auth-type": "basic",
          "auth-secret": "users",
        },
        paths: ["Prefix /denied up"],
      },
    ],
    nginx: `
      location "/redirect" { client_max_body_size 1k; return 301 https://x.example; }
      location "/denied" {
        client_max_body_size 1k; deny 127.0.0.1;
        auth_basic "r"; auth_basic_user_file FOLDER/users; proxy_pass http://up;
      }`,
    exchanges: [
      { send: "POST /redirect", body: 1025, is: "413" },
      { send: "POST /redirect", body: 1025, chunked: true, is: "301" },
      { send: "POST /denied", body: 1025, is: "413" },
    ],
  },
];
