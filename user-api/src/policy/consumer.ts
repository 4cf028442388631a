/** Who asks, as the gateway says in the headers that it adds (and that it removes when a client sends them). */
import type { IncomingHttpHeaders } from "node:http";

export interface Consumer {
  readonly id: string;
  /** The id for a consumer that has no name. */
  readonly username: string;
}

function single(value: string | string[] | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Null without a gateway or credential, and for the gateway's anonymous consumer: that one has shown nothing. */
export function consumerOf(headers: IncomingHttpHeaders): Consumer | null {
  const id = single(headers["x-consumer-id"]);
  if (id === undefined || single(headers["x-anonymous-consumer"]) === "true") return null;
  return { id, username: single(headers["x-consumer-username"]) ?? id };
}
