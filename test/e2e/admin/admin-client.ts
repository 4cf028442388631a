/** Requests to an admin listener, valid and broken ones, and all that it lists. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { type Reply, type RequestOptions, requestAt } from "../../../gateway/src/admin/testing.ts";

export type AskAdmin = (method: string, path: string, asking?: RequestOptions) => Promise<Reply>;

/** @param admin http:// URL of the listener. */
export const connectAdmin = (admin: string): AskAdmin => requestAt(Number(new URL(admin).port));

/** The options of a request to `/batch` that consists of these writes. */
export const batch = (writes: readonly object[]): RequestOptions => ({ json: { writes } });

/** Sends a request whose body may be shorter than its Content-Length, and ends the connection without reading a response. */
export async function sendAndDisconnect(
  admin: string,
  { method, path, body, length }: { method: string; path: string; body: string; length: number },
): Promise<void> {
  const { hostname, port, host } = new URL(admin);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {
    // The server may end the connection first.
  });
  await once(socket, "connect");
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  await new Promise((resolve) => socket.write(head + body, resolve));
  socket.destroy();
}

export type ShownEntity = Readonly<Record<string, unknown>> & { readonly id: string };

/** Paths of the lists. Parents come before their children. */
const lists = ["/certificates", "/snis", "/upstreams", "/services", "/routes", "/consumers", "/key-auths", "/plugins"];

/**
 * The entities of `lists` and of each upstream's list of targets, by the list's path. Two listings are equal if none of
 * these entities has changed between them.
 */
export async function listAllEntities(ask: AskAdmin): Promise<Readonly<Record<string, readonly ShownEntity[]>>> {
  const all = await Promise.all(lists.map(async (list) => [list, await whole(ask, list)] as const));
  const upstreams = all.find(([list]) => list === "/upstreams")?.[1] ?? [];
  const targets = upstreams.map(async ({ id }) => {
    const list = `/upstreams/${id}/targets`;
    return [list, await whole(ask, list)] as const;
  });
  return Object.fromEntries([...all, ...(await Promise.all(targets))]);
}

async function whole(ask: AskAdmin, list: string): Promise<readonly ShownEntity[]> {
  const { status, body } = await ask("GET", `${list}?size=1000`);
  assert.equal(status, 200, `${list}: ${JSON.stringify(body)}`);
  const { data, next } = body as { readonly data: readonly ShownEntity[]; readonly next: unknown };
  assert.equal(next, null, `${list} has more than a page`);
  return data;
}
