/** Members of the config of openid-connect: login, session and logout. */
import { array, boolean, choice, decimal, nullable, set, text } from "@sluice/plugin-sdk";
import { backchannelLogout } from "./backchannel-logout.ts";
import { MAX_URL, singleValue } from "./vocabulary.ts";

const MAX_SECONDS = 31_536_000;

const timeout = (description: string, seconds: number) =>
  decimal({ description: `${description} 0: no limit.`, default: seconds, minimum: 0, maximum: MAX_SECONDS });

const cookieName = (description: string, name: string) => text({ description, default: name, maxLength: 64 });
const cookiePath = () => text({ description: "The attribute Path of the cookie.", default: "/", maxLength: 1024 });
const cookieDomain = () => nullable(text({ description: "The attribute Domain of the cookie.", maxLength: 253 }));
const sameSite = (word: "Lax" | "Default") =>
  choice(["Strict", "Lax", "None", "Default"], {
    description: "The attribute SameSite of the cookie. With the value Default, it is left out.",
    default: word,
  });
const secure = () =>
  nullable(
    boolean({
      description:
        "The attribute Secure of the cookie. Default: set if `redirect_uri` begins with https, or else if the request " +
        "uses https.",
    }),
  );

const HTTP_ONLY = "The attribute HttpOnly of the cookie, which hides it from scripts.";

export const loginMembers = {
  redirect_uri: singleValue(
    "URL to which the provider redirects after the login. The plugin must run for this URL. Required with " +
      "authorization_code.",
    { maxLength: MAX_URL },
  ),
  scopes: array(text({ description: "A scope.", maxLength: 256 }), {
    description: "The scopes that are requested at the login.",
    default: ["openid"],
    maxItems: 64,
  }),
  authorization_cookie_name: cookieName("The cookie that is kept during the login.", "authorization"),
  authorization_cookie_path: cookiePath(),
  authorization_cookie_domain: cookieDomain(),
  authorization_cookie_same_site: sameSite("Default"),
  authorization_cookie_secure: secure(),
  authorization_cookie_http_only: boolean({ description: HTTP_ONLY, default: true }),
  authorization_rolling_timeout: decimal({
    description: "Seconds within which the login must be completed.",
    default: 600,
    minimum: 1,
    maximum: 86_400,
  }),
  login_action: choice(["upstream", "redirect"], {
    description:
      "The result of a login: the request to `redirect_uri` is forwarded to the upstream (upstream), or the client " +
      "is redirected to `login_redirect_uri` (redirect).",
    default: "upstream",
  }),
  login_redirect_uri: singleValue(
    "URL to which the browser is redirected after the login. Default: the URL of the request that began the login.",
    {
      maxLength: MAX_URL,
    },
  ),
  login_tokens: nullable(
    set(choice(["id_token", "access_token", "refresh_token", "tokens", "introspection"], { description: "A token." }), {
      description: "Must be unset or empty: tokens are not put into URLs.",
      default: [],
      maxItems: 5,
    }),
  ),
  refresh_tokens: boolean({ description: "Refresh an expired access token of a session.", default: true }),
  session_secret: nullable(
    text({
      description:
        "The secret from which the keys of the cookies are derived: the same on all nodes, for example the output of " +
        "`openssl rand -base64 32`. Required with authorization_code and session. A new secret ends all sessions.",
      minLength: 16,
      maxLength: 1024,
      secret: true,
      referenceable: true,
    }),
  ),
  session_audience: text({
    description: "Sessions are valid only for instances of the plugin with the same audience, issuer and client.",
    default: "default",
    maxLength: 256,
  }),
  session_cookie_name: cookieName(
    "The cookie with the session. On a route that also has the plugin session, it must differ from that plugin's " +
      "`cookie_name`, which has the same default: otherwise requests are answered with 500.",
    "session",
  ),
  session_cookie_path: cookiePath(),
  session_cookie_domain: cookieDomain(),
  session_cookie_same_site: sameSite("Lax"),
  session_cookie_secure: secure(),
  session_cookie_http_only: boolean({ description: HTTP_ONLY, default: true }),
  session_idling_timeout: timeout("Seconds for which a session may be unused.", 900),
  session_rolling_timeout: timeout(
    "Seconds after which a session ends, unless a request in the last quarter of this time has renewed it.",
    3600,
  ),
  session_absolute_timeout: timeout("Seconds for which a session may exist, even if it is renewed.", 86_400),
  logout_methods: set(choice(["POST", "GET", "DELETE"], { description: "A method." }), {
    description: "Methods of requests that may log out.",
    default: ["POST", "DELETE"],
    maxItems: 3,
  }),
  logout_query_arg: nullable(text({ description: "A request with this query parameter logs out.", maxLength: 256 })),
  logout_uri_suffix: nullable(
    text({ description: "A request whose path ends with this text logs out.", maxLength: 1024 }),
  ),
  logout_redirect_uri: singleValue(
    "URL to which the browser is redirected after the logout: by the provider, or by the gateway if there is no " +
      "end_session_endpoint.",
    { maxLength: MAX_URL },
  ),
  backchannel_logout: backchannelLogout,
};
