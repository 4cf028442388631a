/**
 * Paths of hosts without regular expressions (Kubernetes, "Ingress path types"; ingress-nginx, template nginx.tmpl).
 */
import type { IngressRow } from "../row.ts";

const normalized = "forwards the normalized path, without empty elements and dot segments";

/** What nginx does for the other paths of a host. */
const rest = 'location "/" { return 404; }';

export const pathRows: readonly IngressRow[] = [
  {
    title: "a Prefix matches whole elements of the path, with regard to case",
    ingresses: [{ paths: ["Prefix /foo up"] }],
    nginx: `${rest} location "/foo/" { proxy_pass http://up; } location = "/foo" { proxy_pass http://up; }`,
    exchanges: [
      { send: "GET /foo", is: "200 up /foo" },
      { send: "GET /foo/", is: "200 up /foo/" },
      { send: "GET /foo/bar?x=1", is: "200 up /foo/bar?x=1" },
      { send: "GET /foobar", is: "404" },
      { send: "GET /FOO", is: "404" },
    ],
  },
  {
    title: "a path is matched decoded, without empty elements and dot segments",
    ingresses: [{ paths: ["Prefix /foo up"] }],
    nginx: `${rest} location "/foo/" { proxy_pass http://up; } location = "/foo" { proxy_pass http://up; }`,
    exchanges: [
      { send: "GET /%66oo", is: "200 up /%66oo", sluice: { is: "200 up /foo", because: normalized } },
      { send: "GET //foo", is: "200 up //foo", sluice: { is: "200 up /foo", because: normalized } },
      { send: "GET /x/../foo", is: "200 up /x/../foo", sluice: { is: "200 up /foo", because: normalized } },
      {
        send: "GET /foo//a/./b/../c%2Fd%20e",
        is: "200 up /foo//a/./b/../c%2Fd%20e",
        sluice: { is: "200 up /foo/a/c%2Fd%20e", because: normalized },
      },
      {
        send: "GET /foo/..%2fbar",
        is: "404",
        sluice: { is: "200 up /foo/..%2Fbar", because: "`%2F` stays encoded" },
      },
      {
        send: "GET /../foo/x",
        is: "400",
        sluice: { is: "200 up /foo/x", because: "drops dot segments that lead out of the root" },
      },
      { send: "GET /foo/%", is: "400" },
    ],
  },
  {
    title: "a Prefix with a slash at its end redirects the path without it",
    ingresses: [{ paths: ["Prefix /foo/ up"] }],
    nginx: `${rest} location "/foo/" { proxy_pass http://up; } location = "/foo/" { proxy_pass http://up; }`,
    exchanges: [
      { send: "GET /foo/", is: "200 up /foo/" },
      { send: "GET /foo/bar", is: "200 up /foo/bar" },
      {
        send: "GET /foo?x=1",
        host: "HOST:8080",
        is: "301",
        headers: { location: "http://HOST/foo/?x=1" },
        sluice: { is: "200 up /foo?x=1", headers: {}, because: "serves `/foo` like `/foo/`, as Kubernetes defines it" },
      },
    ],
  },
  {
    title: "an Exact path matches only itself, with regard to case",
    ingresses: [{ paths: ["Exact /foo up"] }],
    nginx: `${rest} location = "/foo" { proxy_pass http://up; }`,
    exchanges: [
      { send: "GET /foo", is: "200 up /foo" },
      { send: "GET /foo?x", is: "200 up /foo?x" },
      { send: "GET /foo/", is: "404" },
      { send: "GET /Foo", is: "404" },
    ],
  },
  {
    title: "of two Ingresses with the same host and path, the older one is served, with its annotations",
    ingresses: [
      { annotations: { "denylist-source-range": "127.0.0.1" }, paths: ["Prefix /foo up"] },
      { annotations: { "permanent-redirect": "https://x.example" }, paths: ["Prefix /foo other", "Prefix /bar up"] },
    ],
    events: ["the older Ingress conformance/"],
    nginx: `
      location "/" { return 404; }
      location "/foo" { deny 127.0.0.1; proxy_pass http://up; }
      location "/bar" { return 301 https://x.example; }`,
    exchanges: [
      { send: "GET /foo", is: "403" },
      { send: "GET /bar", is: "301", headers: { location: "https://x.example" } },
    ],
  },
  {
    title: "an Exact path comes before a Prefix, and a longer Prefix before a shorter one",
    ingresses: [
      { paths: ["Prefix / other", "Prefix /foo other"] },
      { paths: ["Prefix /foo/bar up", "Exact /foo up", "ImplementationSpecific /impl up"] },
    ],
    nginx: `
      location "/" { proxy_pass http://other; }
      location = "/foo" { proxy_pass http://up; }
      location "/foo/" { proxy_pass http://other; }
      location = "/foo/bar" { proxy_pass http://up; } location "/foo/bar/" { proxy_pass http://up; }
      location = "/impl" { proxy_pass http://up; } location "/impl/" { proxy_pass http://up; }`,
    exchanges: [
      { send: "GET /", is: "200 other /" },
      { send: "GET /foo", is: "200 up /foo" },
      { send: "GET /foo/", is: "200 other /foo/" },
      { send: "GET /foo/bar", is: "200 up /foo/bar" },
      { send: "GET /foo/barn", is: "200 other /foo/barn" },
      { send: "GET /impl/x", is: "200 up /impl/x" },
      { send: "GET /implx", is: "200 other /implx" },
    ],
  },
];
