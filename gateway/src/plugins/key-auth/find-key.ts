/** Where a request carries its key: per name the header, then the query, then the body (kong-contract 3.3). */
import type { KeyAuthConfig } from "@sluice/model";
import type { Exchange } from "../../proxy/exchange.ts";
import { type BodyMembers, readMembers } from "./body.ts";
import { pairValues } from "./pairs.ts";

export type FoundKey =
  | { readonly key: string; readonly fault?: undefined }
  | { readonly key?: undefined; readonly fault: "absent" | "duplicate" };

/** Header values arrive as Latin-1, one character for a byte; a key is UTF-8 wherever it stands. */
const utf8 = (latin1: string) => Buffer.from(latin1, "latin1").toString("utf8");

/** The request's body, read when it is first asked for, and once. */
export type MembersOnce = () => Promise<BodyMembers | null>;

export function membersOnce({ request }: Exchange): MembersOnce {
  let members: Promise<BodyMembers | null> | undefined;
  return () => {
    members ??= readMembers(request);
    return members;
  };
}

const queryOf = ({ request }: Exchange) => request.query.slice(1);

/** A list or an object in JSON is more than one key, as a repeated name is. */
const isNested = (value: unknown) => typeof value === "object" && value !== null;

export async function findKey(exchange: Exchange, config: KeyAuthConfig, members: MembersOnce): Promise<FoundKey> {
  for (const name of config.key_names) {
    let values: readonly unknown[] = [];
    if (config.key_in_header) values = exchange.request.headerValues(name.toLowerCase()).map(utf8);
    if (values.length === 0 && config.key_in_query) values = pairValues(queryOf(exchange), name);
    if (values.length === 0 && config.key_in_body) values = (await members())?.values(name) ?? [];
    const [value] = values;
    if (values.length > 1 || isNested(value)) return { fault: "duplicate" };
    if (typeof value === "string") return value === "" ? { fault: "absent" } : { key: value };
  }
  return { fault: "absent" };
}

/** Takes keys out of what is forwarded: every name, wherever it may be looked for. */
export async function hideKey(exchange: Exchange, config: KeyAuthConfig, members: MembersOnce): Promise<void> {
  const names = config.key_names;
  for (const name of names) exchange.upstreamHeaders.remove(name);
  if (names.some((name) => pairValues(queryOf(exchange), name).length > 0)) exchange.removeQuery(names);
  if (!config.key_in_body) return;
  const body = await members();
  if (body !== null && names.some((name) => body.values(name).length > 0)) exchange.replaceBody(body.without(names));
}
