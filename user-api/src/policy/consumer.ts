/** The consumer that a gateway names in its headers. Trusted only after policy/who-asks.ts has accepted the request. */
import type { IncomingHttpHeaders } from "node:http";

export interface Consumer {
  readonly id: string;
  /** The id, for a consumer without a name. */
  readonly username: string;
  /** The policy's scopes. */
  readonly tags: readonly string[];
}

export function single(value: string | string[] | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const listed = (value: string | undefined): readonly string[] =>
  (value ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** Null without a credential, and for the gateway's anonymous consumer, which presented no credential. */
export function consumerOf(headers: IncomingHttpHeaders): Consumer | null {
  const id = single(headers["x-consumer-id"]);
  if (id === undefined || single(headers["x-anonymous-consumer"]) === "true") return null;
  return {
    id,
    username: single(headers["x-consumer-username"]) ?? id,
    tags: listed(single(headers["x-consumer-tags"])),
  };
}
