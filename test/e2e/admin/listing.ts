/** The entities in several lists of an admin listener, as it returns them. */
import assert from "node:assert/strict";
import type { Ask } from "./admin-client.ts";

export type Shown = Readonly<Record<string, unknown>> & { readonly id: string };

/** Paths of the lists. Parents come before their children. */
const lists = ["/certificates", "/snis", "/upstreams", "/services", "/routes", "/consumers", "/key-auths", "/plugins"];

/**
 * The entities of `lists` and of each upstream's list of targets, by the list's path. Two listings are equal if none of
 * these entities has changed between them.
 */
export async function listing(ask: Ask): Promise<Readonly<Record<string, readonly Shown[]>>> {
  const all = await Promise.all(lists.map(async (list) => [list, await whole(ask, list)] as const));
  const upstreams = all.find(([list]) => list === "/upstreams")?.[1] ?? [];
  const targets = upstreams.map(async ({ id }) => {
    const list = `/upstreams/${id}/targets`;
    return [list, await whole(ask, list)] as const;
  });
  return Object.fromEntries([...all, ...(await Promise.all(targets))]);
}

async function whole(ask: Ask, list: string): Promise<readonly Shown[]> {
  const { status, body } = await ask("GET", `${list}?size=1000`);
  assert.equal(status, 200, `${list}: ${JSON.stringify(body)}`);
  const { data, next } = body as { readonly data: readonly Shown[]; readonly next: unknown };
  assert.equal(next, null, `${list} has more than a page`);
  return data;
}
