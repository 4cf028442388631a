/** `sluice-user-api seed`: creates demo users with posts. */
import { randomUUIDv7 } from "node:crypto";
import type { FastifyBaseLogger } from "fastify";
import type { Settings } from "../settings.ts";
import { openUserStore } from "../store/sql-store.ts";
import { databaseFailure, openDatabase } from "./open-database.ts";

const names = ["Ann", "Bob", "Cy", "Dora", "Eve", "Finn", "Grace", "Hal", "Ida", "Jon"] as const;
const titles = ["Hello, world", "What I learned today", "On GraphQL", "Notes from a gateway", "A short trip"] as const;

/** The nth demo user, counted from 0. Always the same for one n, so that the command can run again. */
export function demoUser(n: number) {
  const name = names[n % names.length] ?? "";
  const round = Math.floor(n / names.length);
  const posts = titles.slice(0, n % (titles.length + 1));
  const suffix = round === 0 ? "" : `${round + 1}`;
  return {
    name: round === 0 ? name : `${name} ${round + 1}`,
    email: `${name.toLowerCase()}${suffix}@example.org`,
    posts,
  };
}

/**
 * Ids in ascending order, because lists are sorted by id, and the UUIDv7s of one millisecond are in no defined order
 * (RFC 9562, section 6.2).
 */
const ascendingIds = (count: number): readonly string[] =>
  Array.from({ length: count }, () => randomUUIDv7()).toSorted();

/** Creates the demo users that are missing, each with its posts. Existing users are not changed. */
export async function seed(settings: Settings, log: FastifyBaseLogger, users: number): Promise<void> {
  const database = await openDatabase(settings, { log });
  const store = await openUserStore(database).catch((error: unknown) => {
    throw databaseFailure(settings, error);
  });
  try {
    let made = 0;
    const ids = ascendingIds(users);
    for (const [n, id] of ids.entries()) {
      const { name, email, posts } = demoUser(n);
      if (!(await store.add({ id, name, email }))) continue;
      made += 1;
      const postIds = ascendingIds(posts.length);
      for (const [index, title] of posts.entries()) {
        await store.addPost(id, { id: postIds[index] ?? randomUUIDv7(), title });
      }
    }
    log.info(`created ${made} users; ${users - made} existed`);
  } finally {
    await store.close();
  }
}
