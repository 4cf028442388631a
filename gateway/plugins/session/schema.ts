/** Config of session: the members and defaults of Kong's plugin. */
import {
  boolean,
  choice,
  cookieViolations,
  decimal,
  definePluginFacts,
  isEmptyValue,
  nullable,
  type RecordMembers,
  record,
  type Static,
  sealedCookieNames,
  set,
  text,
  type Violation,
} from "@sluice/plugin-sdk";

const MAX_SECONDS = 315_360_000;

const timeout = (description: string, seconds: number) =>
  decimal({ description: `${description} 0: no limit.`, default: seconds, minimum: 0, maximum: MAX_SECONDS });

const cookieName = (description: string, name: string) => text({ description, default: name, maxLength: 64 });

const properties = [
  "id",
  "audience",
  "subject",
  "timeout",
  "idling-timeout",
  "rolling-timeout",
  "absolute-timeout",
] as const;

const headers = (description: string) =>
  nullable(set(choice(properties, { description: "A property of the session." }), { description, maxItems: 7 }));

const schema = record(
  {
    secret: nullable(
      text({
        description:
          "The secret from which the keys of the cookies are derived: the same on all nodes, for example the output of " +
          "`openssl rand -base64 32`. Required. A new secret ends all sessions.",
        minLength: 16,
        maxLength: 1024,
        secret: true,
        referenceable: true,
      }),
    ),
    storage: choice(["cookie", "kong"], {
      description: "Where the data of sessions is kept. Must be cookie: in the encrypted cookie itself.",
      default: "cookie",
    }),
    audience: text({
      description: "Sessions are valid only for instances of the plugin with the same audience and secret.",
      default: "default",
      maxLength: 256,
    }),
    idling_timeout: timeout("Seconds for which a session may be unused.", 900),
    rolling_timeout: timeout(
      "Seconds after which a session ends, unless a request in the last quarter of this time has renewed it.",
      3600,
    ),
    absolute_timeout: timeout("Seconds for which a session may exist, even if it is renewed.", 86_400),
    stale_ttl: decimal({
      description: "Has no effect, as in Kong with the storage cookie: a renewed cookie does not end the former one.",
      default: 10,
      minimum: 0,
      maximum: MAX_SECONDS,
    }),
    cookie_name: cookieName(
      "The name of the cookie. On a route that also has openid-connect with sessions, it must differ from that plugin's " +
        "`session_cookie_name`, which has the same default: otherwise requests are answered with 500.",
      "session",
    ),
    cookie_path: text({ description: "The attribute Path of the cookie.", default: "/", maxLength: 1024 }),
    cookie_domain: nullable(text({ description: "The attribute Domain of the cookie.", maxLength: 253 })),
    cookie_same_site: choice(["Strict", "Lax", "None", "Default"], {
      description: "The attribute SameSite of the cookie. With the value Default, it is left out.",
      default: "Strict",
    }),
    cookie_http_only: boolean({
      description: "The attribute HttpOnly of the cookie, which hides it from scripts.",
      default: true,
    }),
    cookie_secure: boolean({
      description: "The attribute Secure of the cookie: browsers send it only with https.",
      default: true,
    }),
    remember: boolean({
      description:
        "Set a second cookie, which stays when the browser is closed. It begins a new session when there is none.",
      default: false,
    }),
    remember_cookie_name: cookieName("The name of the second cookie.", "remember"),
    remember_rolling_timeout: timeout(
      "Seconds for which the second cookie is valid after it was last set. The second cookie is set again whenever " +
        "the session's cookie is set.",
      604_800,
    ),
    remember_absolute_timeout: timeout(
      "Seconds after a login for which the second cookie is valid, even if it is renewed.",
      2_592_000,
    ),
    response_headers: headers("Properties that are sent to the client, for example `id` as Session-Id."),
    request_headers: headers("Properties that are sent to the upstream, for example `id` as Session-Id."),
    read_body_for_logout: boolean({
      description: "Look for `logout_post_arg` in bodies: in forms, JSON objects and multipart forms.",
      default: false,
    }),
    logout_methods: set(choice(["GET", "POST", "DELETE"], { description: "A method." }), {
      description: "Methods of requests that may log out.",
      default: ["POST", "DELETE"],
      maxItems: 3,
    }),
    logout_query_arg: text({
      description: "A request with this query parameter logs out.",
      default: "session_logout",
      maxLength: 256,
    }),
    logout_post_arg: text({
      description: "A request whose body has this member logs out, if `read_body_for_logout` is true.",
      default: "session_logout",
      maxLength: 256,
    }),
  },
  {
    description:
      "Records in an encrypted cookie which consumer another plugin has authenticated, so that later requests need " +
      "no credentials.",
  },
);

export type SessionConfig = Static<typeof schema>;
export type SessionProperty = (typeof properties)[number];

/** Former names of members, which Kong 3.9 still accepts. As in Kong, they override the current names. */
const formerNames: Readonly<Record<string, (value: unknown) => RecordMembers>> = {
  cookie_lifetime: (value) => ({ rolling_timeout: value }),
  cookie_idletime: (value) => ({ idling_timeout: value ?? 0 }),
  cookie_renew: () => ({}),
  cookie_discard: (value) => ({ stale_ttl: value }),
  cookie_samesite: (value) => ({ cookie_same_site: value === "off" ? "Lax" : value }),
  cookie_httponly: (value) => ({ cookie_http_only: value }),
  cookie_persistent: (value) => ({ remember: value }),
};

function expand(config: RecordMembers): RecordMembers {
  const names = Object.keys(config);
  return Object.fromEntries([
    ...names.filter((name) => !Object.hasOwn(formerNames, name)).map((name) => [name, config[name]] as const),
    ...names.flatMap((name) => (Object.hasOwn(formerNames, name) ? entriesOf(formerNames[name]?.(config[name])) : [])),
  ]);
}

const entriesOf = (members: RecordMembers = {}) => Object.entries(members);

function check(config: RecordMembers): readonly Violation[] {
  return [
    ...(isEmptyValue(config.secret)
      ? [{ path: ["secret"], message: "required: set the same secret on all nodes (openssl rand -base64 32)" }]
      : []),
    ...(config.storage === "kong"
      ? [{ path: ["storage"], message: "kong is not supported: use cookie, which needs no store" }]
      : []),
    ...cookieViolations(config, ["cookie", "remember_cookie"]),
  ];
}

const cookieNames = (name: unknown): readonly string[] => (typeof name === "string" ? sealedCookieNames(name) : []);

export const sessionFacts = definePluginFacts({
  name: "session",
  version: "0.1.0",
  priority: 1900,
  protects: false,
  identifies: true,
  refuses: ["consumer"],
  secretParameters: ({ cookie_name, remember_cookie_name }) => [cookie_name, remember_cookie_name].flatMap(cookieNames),
  expand,
  check,
  schema,
});
