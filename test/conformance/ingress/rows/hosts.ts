/** Hosts of rules. */
import type { IngressRow } from "../row.ts";

const rest = 'location "/" { return 404; }';
const unknownPath = "a rule for a matching wildcard, or without a host, serves it";

const to = (path: string, backend: string): string =>
  `location "${path}/" { proxy_pass http://${backend}; } location = "${path}" { proxy_pass http://${backend}; }`;

export const hostRows: readonly IngressRow[] = [
  {
    title: "a host is compared without regard to case, its port, and a dot at its end",
    ingresses: [{ host: "names.example", paths: ["Prefix /a up"] }],
    nginx: { "names.example": `${rest} ${to("/a", "up")}` },
    exchanges: [
      { send: "GET /a", host: "names.example", is: "200 up /a" },
      { send: "GET /a", host: "NAMES.Example", is: "200 up /a" },
      { send: "GET /a", host: "names.example:81", is: "200 up /a" },
      {
        send: "GET /a",
        host: "names.example.",
        is: "200 up /a",
        sluice: { is: "404", because: "a Host with a dot at its end is another host" },
      },
    ],
  },
  {
    title: "a wildcard stands for one label, and an exact host comes before it",
    ingresses: [
      { host: "*.w.example", paths: ["Prefix / other"] },
      { host: "exact.w.example", paths: ["Prefix / up"] },
    ],
    nginx: {
      "~^(?<subdomain>[\\w-]+)\\.w\\.example$": 'location "/" { proxy_pass http://other; }',
      "exact.w.example": 'location "/" { proxy_pass http://up; }',
    },
    exchanges: [
      { send: "GET /", host: "x.w.example", is: "200 other /" },
      { send: "GET /", host: "exact.w.example", is: "200 up /" },
      { send: "GET /", host: "w.example", is: "404" },
      {
        send: "GET /",
        host: "x.y.w.example",
        is: "404",
        sluice: { is: "200 other /", because: "a wildcard stands for one or more labels" },
      },
    ],
  },
  {
    title: "an unknown path of an exact host is not served by the rules of a wildcard",
    ingresses: [
      { host: "*.HOST", paths: ["Prefix / other"] },
      { host: "in.HOST", paths: ["Prefix /a up"] },
    ],
    nginx: {
      "~^(?<subdomain>[\\w-]+)\\.HOST$": 'location "/" { proxy_pass http://other; }',
      "in.HOST": `${rest} ${to("/a", "up")}`,
    },
    exchanges: [
      { send: "GET /a", host: "in.HOST", is: "200 up /a" },
      { send: "GET /b", host: "in.HOST", is: "404", sluice: { is: "200 other /b", because: unknownPath } },
    ],
  },
  {
    title: "a rule without a host serves hosts without rules of their own",
    ingresses: [{ host: null, paths: ["Prefix /any-host up"] }, { paths: ["Prefix /known up"] }],
    nginx: { _: `${rest} ${to("/any-host", "up")}`, HOST: `${rest} ${to("/known", "up")}` },
    exchanges: [
      { send: "GET /any-host", host: "unknown.example", is: "200 up /any-host" },
      { send: "GET /", host: "unknown.example", is: "404" },
      { send: "GET /known", is: "200 up /known" },
      {
        send: "GET /any-host",
        is: "404",
        sluice: { is: "200 up /any-host", because: unknownPath },
      },
      { send: "GET /any-host", host: null, is: "400" },
    ],
  },
  {
    title: "an alias for which another Ingress has rules is not used",
    ingresses: [
      { annotations: { "server-alias": "taken.HOST" }, paths: ["Prefix /a up", "Prefix /b/c up"] },
      { host: "taken.HOST", paths: ["Prefix /b other"] },
    ],
    nginx: { HOST: `${rest} ${to("/a", "up")} ${to("/b/c", "up")}`, "taken.HOST": `${rest} ${to("/b", "other")}` },
    exchanges: [
      { send: "GET /a", is: "200 up /a" },
      { send: "GET /a", host: "taken.HOST", is: "404" },
      { send: "GET /b/c", host: "taken.HOST", is: "200 other /b/c" },
    ],
  },
  {
    title: "the default backend serves the other paths of a host and of its aliases",
    ingresses: [{ annotations: { "server-alias": "alias.HOST" }, paths: ["Prefix /a up"], defaultBackend: "other" }],
    nginx: { 'HOST" "alias.HOST': `location "/" { proxy_pass http://other; } ${to("/a", "up")}` },
    exchanges: [
      { send: "GET /a", is: "200 up /a" },
      { send: "GET /b", is: "200 other /b" },
      { send: "GET /b", host: "alias.HOST", is: "200 other /b" },
    ],
  },
  {
    title: "regular expressions of another Ingress apply to the aliases of the host too",
    ingresses: [
      { annotations: { "server-alias": "alias.HOST" }, paths: ["Exact /plain up"] },
      { annotations: { "use-regex": "true" }, paths: ["ImplementationSpecific /v[0-9] up"] },
    ],
    nginx: {
      'HOST" "alias.HOST': `
        location ~* "^/plain" { proxy_pass http://up; } location ~* "^/v[0-9]" { proxy_pass http://up; }`,
    },
    exchanges: [
      { send: "GET /plain/x", is: "200 up /plain/x" },
      { send: "GET /PLAIN/x", host: "alias.HOST", is: "200 up /PLAIN/x" },
      {
        send: "GET /v1",
        host: "alias.HOST",
        is: "200 up /v1",
        sluice: { is: "404", because: "an alias has the paths of its Ingress" },
      },
    ],
  },
  {
    title: "server-alias adds hosts to paths that are regular expressions too",
    ingresses: [
      {
        annotations: { "server-alias": "alias.HOST", "rewrite-target": "/$1" },
        paths: ["ImplementationSpecific /v[0-9]/(.*) up"],
      },
    ],
    nginx: {
      'HOST" "alias.HOST': `location ~* "^/v[0-9]/(.*)" {
        rewrite "(?i)/v[0-9]/(.*)" /$1 break; proxy_pass http://up;
      }`,
    },
    exchanges: [
      { send: "GET /V1/a", is: "200 up /a" },
      { send: "GET /V1/a", host: "alias.HOST", is: "200 up /a" },
    ],
  },
  {
    title: "server-alias adds hosts to all rules",
    ingresses: [{ annotations: { "server-alias": "alias.HOST,*.alias.HOST" }, paths: ["Prefix /a up"] }],
    nginx: { 'HOST" "alias.HOST" "*.alias.HOST': `${rest} ${to("/a", "up")}` },
    exchanges: [
      { send: "GET /a", host: "alias.HOST", is: "200 up /a" },
      { send: "GET /a", host: "x.alias.HOST", is: "200 up /a" },
      { send: "GET /a", host: "other.HOST", is: "404" },
    ],
  },
];
