/** auth-type basic. */
import { headers } from "../nginx.ts";
import { passwordHashes } from "../objects.ts";
import { basic, type IngressRequest, type IngressRow } from "../row.ts";

const secret = { "auth-type": "basic", "auth-secret": "users" };
const REALM = "Authentication Required - foo";
const challenge = { "www-authenticate": `Basic realm="${REALM}"` };

export const passwordRows: readonly IngressRow[] = [
  {
    title: "auth-type basic: requests need the password of a user, which the upstream does not receive",
    ingresses: [{ annotations: { ...secret, "auth-realm": REALM }, paths: ["Prefix / up"] }],
    nginx: `location "/" {
      auth_basic "${REALM}"; auth_basic_user_file FOLDER/users;
      ${headers} proxy_set_header Authorization "";
      proxy_pass http://up;
    }`,
    exchanges: [
      { send: "GET /", is: "401", headers: challenge },
      {
        send: "GET /",
        with: basic("alice", "secret"),
        is: "200 up /",
        received: { up: { authorization: null } },
      },
      { send: "GET /", with: basic("alice", "secret", "basic"), is: "200 up /" },
      {
        send: "GET /",
        with: basic("alice", "secret", "BASIC"),
        is: "200 up /",
        sluice: { is: "401", because: "only the spellings `Basic` and `basic`" },
      },
      { send: "GET /", with: basic("empty", ""), is: "401", headers: challenge },
      { send: "GET /", with: basic("alice", "wrong"), is: "401", headers: challenge },
      { send: "GET /", with: basic("alice", ""), is: "401", headers: challenge },
      { send: "GET /", with: basic("nobody", "secret"), is: "401", headers: challenge },
      { send: "GET /", with: { Authorization: "Bearer x" }, is: "401", headers: challenge },
      {
        send: "GET /",
        with: { "Proxy-Authorization": basic("alice", "secret").Authorization },
        is: "401",
        headers: challenge,
        sluice: {
          is: "200 up /",
          headers: {},
          received: { up: { "proxy-authorization": null } },
          because: "also reads `Proxy-Authorization`",
        },
      },
      {
        send: "OPTIONS /",
        with: { Origin: "https://x.example", "Access-Control-Request-Method": "GET" },
        is: "401",
      },
    ],
  },
  {
    title: "satisfy any: clients with an allowed address need no password, and others need one",
    ingresses: [
      {
        annotations: { ...secret, satisfy: "any", "whitelist-source-range": "127.0.0.0/8" },
        paths: ["Prefix /in up"],
      },
      {
        annotations: { ...secret, satisfy: "any", "whitelist-source-range": "10.0.0.0/8" },
        paths: ["Prefix /out up"],
      },
    ],
    nginx: `
      auth_basic "Authentication Required"; auth_basic_user_file FOLDER/users; satisfy any;
      location "/in" { allow 127.0.0.0/8; deny all; ${headers} proxy_set_header Authorization ""; proxy_pass http://up; }
      location "/out" { allow 10.0.0.0/8; deny all; ${headers} proxy_set_header Authorization ""; proxy_pass http://up; }`,
    exchanges: [
      { send: "GET /in", is: "200 up /in" },
      { send: "GET /in", with: basic("x", "x"), is: "200 up /in", received: { up: { authorization: null } } },
      { send: "GET /out", is: "401", headers: { "www-authenticate": 'Basic realm="Authentication Required"' } },
      { send: "GET /out", with: basic("alice", "wrong"), is: "401" },
      { send: "GET /out", with: basic("alice", "secret"), is: "200 up /out" },
    ],
  },
  {
    title: "auth-secret: a password is compared with a hash of crypt(3), or of {SHA} or {SSHA}",
    ingresses: [{ annotations: { "auth-type": "basic", "auth-secret": "hashes" }, paths: ["Prefix / up"] }],
    nginx: 'location "/" { auth_basic "r"; auth_basic_user_file FOLDER/hashes; proxy_pass http://up; }',
    exchanges: Object.keys(passwordHashes).map((user): IngressRequest => {
      const unsupported = { is: "401", because: "cannot log in" };
      return {
        send: "GET /",
        with: basic(user, "secret"),
        is: user === "clear" ? "401" : "200 up /",
        ...((user === "des" || user === "plain") && { sluice: unsupported }),
      };
    }),
  },
  {
    title: "auth-secret-type auth-map: each entry of the Secret is a user",
    ingresses: [
      {
        annotations: { "auth-type": "basic", "auth-secret": "user-map", "auth-secret-type": "auth-map" },
        paths: ["Prefix / up"],
      },
    ],
    nginx: 'location "/" { auth_basic "r"; auth_basic_user_file FOLDER/user-map; proxy_pass http://up; }',
    exchanges: [
      { send: "GET /", with: basic("alice", "secret"), is: "200 up /" },
      { send: "GET /", with: basic("bob", "secret"), is: "200 up /" },
      { send: "GET /", with: basic("bob", "wrong"), is: "401" },
    ],
  },
  {
    title: "auth-realm off switches the authentication off",
    ingresses: [{ annotations: { ...secret, "auth-realm": "off" }, paths: ["Prefix / up"] }],
    nginx: 'location "/" { auth_basic "off"; auth_basic_user_file FOLDER/users; proxy_pass http://up; }',
    exchanges: [
      {
        send: "GET /",
        is: "200 up /",
        sluice: {
          is: "401",
          headers: { "www-authenticate": 'Basic realm="off"' },
          because: "`off` is a realm, and does not switch off the authentication",
        },
      },
    ],
  },
  {
    title: "without auth-realm, the realm is empty",
    ingresses: [{ annotations: secret, paths: ["Prefix / up"] }],
    nginx: 'location "/" { auth_basic ""; auth_basic_user_file FOLDER/users; proxy_pass http://up; }',
    exchanges: [
      {
        send: "GET /",
        is: "401",
        headers: { "www-authenticate": 'Basic realm=""' },
        sluice: {
          headers: { "www-authenticate": 'Basic realm="Authentication Required"' },
          because: "Default `Authentication Required`",
        },
      },
    ],
  },
];
