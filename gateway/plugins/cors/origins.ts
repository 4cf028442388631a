/** Decides which origins a cors config allows. */
import { compileRegex } from "@sluice/plugin-sdk";

/** The content of Access-Control-Allow-Origin. */
export type AllowedOrigin =
  /** Every origin. `vary`: whether a request without an origin gets a different response. */
  | { readonly kind: "all"; readonly vary: boolean }
  /** Only this origin. */
  | { readonly kind: "one"; readonly origin: string }
  /** The request has no origin, or one that is not allowed. */
  | { readonly kind: "none" };

/** Decides about the value of a request's Origin header; undefined: the request has no such header. */
export type OriginRule = (origin: string | undefined) => AllowedOrigin;

interface Origin {
  /** The origin without the scheme's default port. */
  readonly whole: string;
  readonly host: string;
}

const defaultPorts: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

function normalise(text: string): Origin {
  const [, scheme, host, port] = /^([a-z][a-z0-9+.-]*:)\/\/(\[[^\]]*\]|[^/:?#]*)(?::(\d+))?/i.exec(text) ?? [];
  if (scheme === undefined || host === undefined || host === "") return { whole: text, host: text };
  const shown = port === undefined || defaultPorts[scheme.toLowerCase()] === port ? "" : `:${port}`;
  return { whole: `${scheme}//${host}${shown}`, host };
}

/**
 * Kong's test for an entry that is matched literally; also true for an origin with an IPv6 address, which Kong treats
 * as a regex.
 */
const isLiteral = (entry: string) =>
  /^[A-Za-z0-9.:/-]+$/.test(entry) || /^[a-z][a-z0-9+.-]*:\/\/\[[0-9a-f:.]+\](:\d+)?$/i.test(entry);

function matcher(entry: string): (origin: Origin) => boolean {
  if (isLiteral(entry)) {
    const { whole } = normalise(entry);
    return (origin) => origin.whole === whole;
  }
  // The regex must match the whole text, even without anchors. In Kong, `a\.com|b\.com` also allows
  // https://a.com.evil.com.
  const { value: regex, violations } = compileRegex(entry);
  if (regex === undefined) throw new Error(`config.origins: ${violations[0]?.message}`);
  const byHost = !entry.includes(":");
  return ({ whole, host }) => regex.testWhole(byHost ? host : whole);
}

const anyOrigin: AllowedOrigin = { kind: "all", vary: false };

/**
 * The rule of a config with these origins. Throws for an invalid regular expression, which the check of the config has
 * already refused.
 */
export function originRule(origins: readonly string[] | null): OriginRule {
  const [first, ...others] = origins ?? [];
  if (first === undefined || (first === "*" && others.length === 0)) return () => anyOrigin;
  if (others.length === 0 && isLiteral(first)) return () => ({ kind: "one", origin: first });
  const entries = [first, ...others];
  if (entries.includes("*")) return (asked) => (asked === undefined ? { kind: "none" } : { kind: "all", vary: true });
  const matchers = entries.map(matcher);
  return (asked) => {
    if (asked === undefined) return { kind: "none" };
    const origin = normalise(asked);
    return matchers.some((matches) => matches(origin)) ? { kind: "one", origin: origin.whole } : { kind: "none" };
  };
}
