/** Allowed names and values in `upstream_headers` of a service. */
import { isRecord, type Violation } from "@sluice/plugin-sdk";
import { headerName } from "./names.ts";
import type { TextRule } from "./rule.ts";

/** The form for comparing names: case does not matter, and some upstreams read `X_Name` as `X-Name`. */
const spelled = (name: string): string => name.toLowerCase().replaceAll("_", "-");

/** Headers for routing and framing, which the gateway sets itself (RFC 9110 section 7.6.1, RFC 9112). */
const FRAMING: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
]);

/** Headers in which the gateway passes the authenticated consumer: a fixed value would be wrong for other consumers. */
const IDENTITY = /^(x-consumer-.*|x-credential-.*|x-anonymous-consumer)$/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds the control characters to refuse
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;

/** A violation for each header that has the same name as an earlier header in the list. */
export function repeatedHeaders(list: unknown): readonly Violation[] {
  if (!Array.isArray(list)) return [];
  const seen = new Set<string>();
  return list.flatMap((item: unknown, index): readonly Violation[] => {
    if (!isRecord(item) || typeof item.name !== "string") return [];
    const name = spelled(item.name);
    if (seen.has(name))
      return [{ path: ["upstream_headers", index, "name"], message: "the list already has a header with this name" }];
    seen.add(name);
    return [];
  });
}

export const upstreamHeaderRules = {
  "upstream-header": (value) => {
    const name = spelled(value);
    if (FRAMING.has(name)) return `cannot be '${value}': the gateway itself sets headers for routing and framing`;
    if (IDENTITY.test(name))
      return `cannot be '${value}': the gateway itself sets headers with the consumer's identity`;
    return headerName(value);
  },
  /** Never quotes the value: it may be a secret. */
  "header-value": (value) => {
    if (CONTROL.test(value)) return "must not contain line breaks or other control characters";
    if (!value.isWellFormed()) return "invalid utf-8 character sequence";
    return value === value.trim() ? undefined : "must not start or end with whitespace";
  },
} satisfies Readonly<Record<string, TextRule>>;
