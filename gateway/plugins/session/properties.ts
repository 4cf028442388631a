/** Properties of a session that are sent as headers. */
import type { ExchangeConsumer } from "@sluice/plugin-sdk";
import type { SessionConfig, SessionProperty } from "./schema.ts";
import type { CookieSession } from "./session-cookies.ts";

const names: Readonly<Record<SessionProperty, string>> = {
  id: "Session-Id",
  audience: "Session-Audience",
  subject: "Session-Subject",
  timeout: "Session-Timeout",
  "idling-timeout": "Session-Idling-Timeout",
  "rolling-timeout": "Session-Rolling-Timeout",
  "absolute-timeout": "Session-Absolute-Timeout",
};

export const propertyHeaderOf = (property: SessionProperty): string => names[property];

export interface SessionSubject {
  readonly session: CookieSession;
  readonly consumer: ExchangeConsumer;
  readonly config: SessionConfig;
}

/**
 * The value of a property; null: the session has no such limit.
 *
 * @param now Unix seconds
 */
export function propertyOf(
  property: SessionProperty,
  { session: { id, times }, consumer, config }: SessionSubject,
  now: number,
): string | null {
  const left = (timeout: number, since: number): number => (timeout > 0 ? timeout - (now - since) : Infinity);
  const limits = {
    "idling-timeout": left(config.idling_timeout, times.used),
    "rolling-timeout": left(config.rolling_timeout, times.renewed),
    "absolute-timeout": left(config.absolute_timeout, times.created),
  };
  if (property === "id") return id;
  if (property === "audience") return config.audience;
  if (property === "subject") return consumer.username ?? consumer.custom_id ?? consumer.id;
  const seconds = property === "timeout" ? Math.min(...Object.values(limits)) : limits[property];
  return seconds === Infinity ? null : String(seconds);
}
