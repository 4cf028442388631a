/** Checks of the config of openid-connect that its schema does not make. */
import { cookieViolations, isEmptyValue, isToken, type RecordMembers, type Violation } from "@sluice/plugin-sdk";
import { backchannelViolations } from "./backchannel-logout.ts";

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const problem = (name: string, message: string): Violation => ({ path: [name], message });

/** The value as a URL; null: the value is not a URL that the gateway can request or redirect to. */
function httpUrl(value: unknown): URL | null {
  const url = typeof value === "string" ? URL.parse(value) : null;
  const isUsable = url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.hash === "";
  return isUsable ? url : null;
}

const NOT_A_URL = "expected a URL with http or https, without user information and fragment";

const urlMembers = [
  ...["issuer", "authorization_endpoint", "token_endpoint", "introspection_endpoint", "end_session_endpoint"],
  ...["redirect_uri", "login_redirect_uri", "logout_redirect_uri"],
];

const urlProblems = (config: RecordMembers): readonly Violation[] =>
  urlMembers.flatMap((name) =>
    [config[name]]
      .flat()
      .filter((value) => typeof value === "string" && value !== "" && httpUrl(value) === null)
      .map(() => problem(name, NOT_A_URL)),
  );

/** Reports the members that an authentication method needs and the config lacks. */
function neededMembers(config: RecordMembers): readonly Violation[] {
  const methods = listOf(config.auth_methods);
  const needed: readonly (readonly [name: string, methods: readonly string[]])[] = [
    ["client_id", ["authorization_code", "introspection"]],
    ["redirect_uri", ["authorization_code"]],
    ["session_secret", ["authorization_code", "session"]],
  ];
  return needed.flatMap(([name, users]) => {
    const used = users.filter((method) => methods.includes(method));
    if (used.length === 0 || !isEmptyValue(config[name])) return [];
    return [
      problem(name, `required by ${used.join(" and ")}: set it, or leave ${used.join(" and ")} out of auth_methods`),
    ];
  });
}

/** Minimum bytes of a key for HS256, the algorithm with the shortest keys (RFC 7518 section 3.2). */
const MIN_HMAC_KEY = 32;

const keyProblems = ({ client_secret, enable_hs_signatures }: RecordMembers): readonly Violation[] =>
  listOf(enable_hs_signatures === true ? client_secret : []).flatMap((secret, index) =>
    typeof secret === "string" && Buffer.byteLength(secret) < MIN_HMAC_KEY
      ? [{ path: ["client_secret", index], message: `enable_hs_signatures needs at least ${MIN_HMAC_KEY} bytes` }]
      : [],
  );

function secretProblems({ client_auth, client_secret, enable_hs_signatures }: RecordMembers): readonly Violation[] {
  if (!isEmptyValue(client_secret)) return [];
  const [method] = listOf(client_auth);
  return [
    ...(typeof method === "string" && method !== "none" ? [problem("client_secret", `required by ${method}`)] : []),
    ...(enable_hs_signatures === true ? [problem("client_secret", "required by enable_hs_signatures")] : []),
  ];
}

const headerProblems = (config: RecordMembers): readonly Violation[] =>
  ["upstream_headers", "downstream_headers"].flatMap((prefix) => {
    const names = listOf(config[`${prefix}_names`]).length;
    const claims = listOf(config[`${prefix}_claims`]).length;
    return names === claims
      ? []
      : [problem(`${prefix}_names`, `expected as many names as claims in ${prefix}_claims: ${claims}, not ${names}`)];
  });

export function checkOpenidConnect(config: RecordMembers): readonly Violation[] {
  const { upstream_access_token_header: token, bearer_token_param_type, bearer_token_cookie_name } = config;
  return [
    ...urlProblems(config),
    ...neededMembers(config),
    ...secretProblems(config),
    ...keyProblems(config),
    ...headerProblems(config),
    ...cookieViolations(config, ["session_cookie", "authorization_cookie"]),
    ...backchannelViolations(config),
    ...(isEmptyValue(config.login_tokens)
      ? []
      : [problem("login_tokens", "tokens are not put into URLs: use an empty list")]),
    ...(typeof token === "string" && !isToken(token.replace(/:bearer$/i, ""))
      ? [problem("upstream_access_token_header", "expected the name of a header, with or without :bearer at its end")]
      : []),
    ...(listOf(bearer_token_param_type).includes("cookie") && isEmptyValue(bearer_token_cookie_name)
      ? [problem("bearer_token_cookie_name", "required by cookie in bearer_token_param_type")]
      : []),
  ];
}
