/** The member backchannel_logout of the config of openid-connect. Kong's plugin has no such member. */
import {
  choice,
  isEmptyValue,
  isRecord,
  nullable,
  type RecordMembers,
  record,
  redisServer,
  text,
  type Violation,
} from "@sluice/plugin-sdk";

/** Maximum lifetime in seconds of a session that a logout at the provider can end: 31 days. */
export const MAX_SESSION = 2_678_400;

export const backchannelLogout = nullable(
  record(
    {
      path: text({
        description:
          "The path at which the provider reports logouts (`backchannel_logout_uri` of the client's registration). The " +
          "plugin must run for it, and requests to it are not forwarded.",
        rule: "path",
        maxLength: 1024,
      }),
      policy: choice(["local", "redis"], {
        description:
          "Where logouts are kept: local (in the memory of a node: for installations with one node, because other " +
          "nodes refuse the sessions of this node and do not learn of logouts), or redis (for all nodes).",
      }),
      redis: redisServer("The Redis server for policy redis. It must not evict keys (maxmemory-policy noeviction)."),
    },
    {
      description:
        "Ends sessions when the provider reports a logout (OpenID Connect Back-Channel Logout 1.0). Set it in all " +
        "instances that share sessions: an instance without it accepts a session after the logout. Existing " +
        "sessions end when it is set. For every request with a session, the node checks whether the session has been " +
        "logged out; while Redis cannot be reached, such requests are answered with 503. If the recorded logouts " +
        "are lost, for example by a restart of a node with policy local, users must log in again. Default: logouts " +
        "at the provider do not end sessions.",
    },
  ),
);

/** Path of a URL; null: the value is not a URL. */
const pathOf = (url: unknown): string | null => (typeof url === "string" ? (URL.parse(url)?.pathname ?? null) : null);

export function backchannelViolations(config: RecordMembers): readonly Violation[] {
  const { backchannel_logout: logout, auth_methods, client_id, redirect_uri, session_absolute_timeout } = config;
  if (!isRecord(logout)) return [];
  const usesSessions = ["authorization_code", "session"].some((method) => [auth_methods].flat().includes(method));
  const isTooLong =
    typeof session_absolute_timeout === "number" &&
    (session_absolute_timeout === 0 || session_absolute_timeout > MAX_SESSION);
  const problem = (name: string, message: string): readonly Violation[] => [
    { path: ["backchannel_logout", ...(name === "" ? [] : [name])], message },
  ];
  return [
    ...(usesSessions ? [] : problem("", "needs authorization_code or session in auth_methods: it ends only sessions")),
    ...(isEmptyValue(client_id)
      ? [{ path: ["client_id"], message: "required by backchannel_logout: logouts are addressed to the client" }]
      : []),
    ...([redirect_uri].flat().some((url) => pathOf(url) === logout.path)
      ? problem("path", "must differ from the path of redirect_uri")
      : []),
    ...(logout.policy === "redis" && isEmptyValue(isRecord(logout.redis) ? logout.redis.host : null)
      ? [{ path: ["backchannel_logout", "redis", "host"], message: "required by the policy redis" }]
      : []),
    ...(isTooLong
      ? [
          {
            path: ["session_absolute_timeout"],
            message:
              `with backchannel_logout, expected a value between 1 and ${MAX_SESSION}: ` +
              "logouts are kept for that long",
          },
        ]
      : []),
  ];
}
