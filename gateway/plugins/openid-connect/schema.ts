/** Config of openid-connect: requests need a token or a session of an OpenID provider. */
import { definePluginFacts, type RecordMembers, record, type Static, sealedCookieNames } from "@sluice/plugin-sdk";
import { checkOpenidConnect } from "./config/check.ts";
import { loginMembers } from "./config/login.ts";
import { providerMembers } from "./config/provider.ts";
import { tokenMembers } from "./config/tokens.ts";
import { unsupportedMembers } from "./config/unsupported.ts";

const schema = record(
  { ...providerMembers, ...tokenMembers, ...loginMembers },
  {
    description:
      "Requires a token of an OpenID provider, verified with the provider's keys or by introspection, or a session " +
      "after a login at the provider.",
    unsupportedMembers,
  },
);

export type OpenidConnectConfig = Static<typeof schema>;

/** Lists with one item, which may be given as a string, because a Secret (`configFrom`) contains only strings. */
const singles = [
  "client_id",
  "client_secret",
  "client_auth",
  "redirect_uri",
  "login_redirect_uri",
  "logout_redirect_uri",
];

const expand = (config: RecordMembers): RecordMembers => ({
  ...config,
  ...Object.fromEntries(
    singles
      .filter((name) => Object.hasOwn(config, name) && typeof config[name] === "string")
      .map((name) => [name, [config[name]]]),
  ),
});

const textOf = (value: unknown): readonly string[] => (typeof value === "string" ? [value] : []);

export const openidConnectFacts = definePluginFacts({
  name: "openid-connect",
  version: "0.1.0",
  priority: 1050,
  protects: true,
  identifies: true,
  refuses: ["consumer"],
  secretParameters: ({ session_cookie_name, authorization_cookie_name, bearer_token_cookie_name }) => [
    ...["access_token", "access-token", "x-access-token", "code", "id_token_hint"],
    ...textOf(bearer_token_cookie_name),
    ...[session_cookie_name, authorization_cookie_name].flatMap(textOf).flatMap(sealedCookieNames),
  ],
  expand,
  check: checkOpenidConnect,
  schema,
});
