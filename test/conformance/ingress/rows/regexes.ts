/** Hosts with regular expressions (ingress-nginx, "Ingress Path Matching"). */
import type { IngressRow } from "../row.ts";

const unsupported = "If an expression has look-around or back-references, requests for its path are answered with 503";

const rest = 'location ~* "^/" { return 404; }';

export const regexRows: readonly IngressRow[] = [
  {
    title: "use-regex of one Ingress applies to all paths of the host, also to those of other Ingresses",
    ingresses: [
      { annotations: { "use-regex": "true" }, paths: ["ImplementationSpecific /v[0-9]+/x up"] },
      { paths: ["Exact /exact up", "Prefix /foo up"] },
    ],
    nginx: `
      location ~* "^/v[0-9]+/x" { proxy_pass http://up; }
      location ~* "^/exact" { proxy_pass http://up; }
      location ~* "^/foo/" { proxy_pass http://up; }
      location ~* "^/foo" { proxy_pass http://up; }
      ${rest}`,
    exchanges: [
      { send: "GET /v12/xyz", is: "200 up /v12/xyz" },
      { send: "GET /V1/X", is: "200 up /V1/X" },
      { send: "GET /v/x", is: "404" },
      { send: "GET /exact/more", is: "200 up /exact/more" },
      { send: "GET /EXACTly", is: "200 up /EXACTly" },
      { send: "GET /foobar", is: "200 up /foobar" },
      { send: "GET /FOO", is: "200 up /FOO" },
      { send: "GET /xfoo", is: "404" },
    ],
  },
  {
    title: "of two regular expressions that match, the longer one is used, even if it is less specific",
    ingresses: [
      {
        annotations: { "use-regex": "true" },
        paths: ["ImplementationSpecific /foo/bar/bar other", "ImplementationSpecific /foo/bar/[A-Z0-9]{3} up"],
      },
    ],
    nginx: `
      location ~* "^/foo/bar/[A-Z0-9]{3}" { proxy_pass http://up; }
      location ~* "^/foo/bar/bar" { proxy_pass http://other; }
      ${rest}`,
    exchanges: [
      { send: "GET /foo/bar/bar", is: "200 up /foo/bar/bar" },
      { send: "GET /foo/bar/a", is: "404" },
    ],
  },
  {
    title: "a path with look-around is a path of its own, even if Sluice cannot serve it",
    ingresses: [
      {
        annotations: { "use-regex": "true", "auth-type": "basic", "auth-secret": "users" },
        paths: ["ImplementationSpecific /admin(?!/public) up"],
      },
      { paths: ["Prefix / other"] },
    ],
    events: ["spec.rules[0].http.paths[0].path: not a usable regular expression"],
    nginx: `
      location ~* "^/admin(?!/public)" { auth_basic "r"; auth_basic_user_file FOLDER/users; proxy_pass http://up; }
      location ~* "^/" { proxy_pass http://other; }`,
    exchanges: [
      { send: "GET /admin", is: "401", sluice: { is: "503", because: unsupported } },
      { send: "GET /ADMIN/x", is: "401", sluice: { is: "503", because: unsupported } },
      { send: "GET /admin/public", is: "200 other /admin/public", sluice: { is: "503", because: unsupported } },
      { send: "GET /other", is: "200 other /other" },
    ],
  },
  {
    title: "a regular expression may have an end of its own, and does not match the query",
    ingresses: [{ annotations: { "use-regex": "true" }, paths: ["ImplementationSpecific /item/\\d+$ up"] }],
    nginx: `location ~* "^/item/\\d+$" { proxy_pass http://up; } ${rest}`,
    exchanges: [
      { send: "GET /item/7?x=/y", is: "200 up /item/7?x=/y" },
      { send: "GET /item/7/y", is: "404" },
      {
        send: "GET /item/%37",
        is: "200 up /item/%37",
        sluice: {
          is: "200 up /item/7",
          because: "forwards the normalized path, without empty elements and dot segments",
        },
      },
    ],
  },
];
