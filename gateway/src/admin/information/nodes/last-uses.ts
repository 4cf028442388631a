/** `GET /usage/routes`, `/usage/consumers` and `/usage/credentials`: when each entity was last used. */
import {
  credentialCollections,
  type LastUses,
  nodePaths,
  readLastUseFilter,
  type UsedCollection,
  usedCollections,
} from "@sluice/model";
import { readCollection } from "../../../stores/read-all.ts";
import type { AdminContext } from "../../context.ts";
import type { AdminRoute } from "../../entities/routes.ts";
import { invalidEntity } from "../../http/errors.ts";
import { askEveryNode } from "./ask-every-node.ts";

/** In seconds. */
const MINUTE = 60;

interface EntityUse {
  readonly id: string;
  readonly name: string | null;
  /** The collection of a credential. */
  readonly type?: string;
  /** The consumer of a credential. */
  readonly consumer?: { readonly id: string };
  /** Unix time in seconds of the minute of the last use; null: no node knows of a use. */
  readonly last_used_at: number | null;
}

export const lastUseRoutes = (facts: Pick<AdminContext, "fleet" | "store">): readonly AdminRoute[] =>
  usedCollections.map((collection) => ({
    url: `/usage/${collection}`,
    handlers: {
      async GET({ query }) {
        const { value: filter, violations } = readLastUseFilter(Object.fromEntries(query));
        if (violations) throw invalidEntity(violations);
        const { answered, unanswered } = await askEveryNode<LastUses>(facts, nodePaths.lastUses, { collection });
        const now = Math.floor(Date.now() / 1000);
        const uses = (await entitiesOf(facts, collection))
          .map((entity): EntityUse => ({ ...entity, last_used_at: lastUse(entity.id, answered) }))
          .filter(({ last_used_at }) => isUnused(last_used_at, { seconds: filter.unused_for, now }))
          .sort((one, other) => (one.last_used_at ?? 0) - (other.last_used_at ?? 0));
        return {
          status: 200,
          body: {
            data: uses.slice(0, filter.size),
            total: uses.length,
            since: Math.max(...answered.map(({ body }) => body.since)),
            nodes: answered.map(({ node, body }) => ({ node, since: body.since })),
            unanswered,
          },
        };
      },
    },
  }));

/** Whether the entity was unused for these seconds. It may have been used until the end of the minute of its last use. */
const isUnused = (minute: number | null, { seconds, now }: { readonly seconds: number; readonly now: number }) =>
  seconds === 0 || minute === null || minute + MINUTE <= now - seconds;

type Answers = readonly { readonly body: LastUses }[];

function lastUse(id: string, answered: Answers): number | null {
  const times = answered.flatMap(({ body }) => body.last_uses[id] ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

async function entitiesOf({ store }: Pick<AdminContext, "store">, collection: UsedCollection) {
  switch (collection) {
    case "routes":
      return (await readCollection(store, "routes")).map(({ id, name }) => ({ id, name }));
    case "consumers":
      return (await readCollection(store, "consumers")).map(({ id, username }) => ({ id, name: username }));
    case "credentials":
      return (await Promise.all(credentialCollections.map((each) => credentialsOf(store, each)))).flat();
  }
}

async function credentialsOf(store: AdminContext["store"], type: (typeof credentialCollections)[number]) {
  return (await readCollection(store, type)).map(({ id, consumer }) => ({ id, name: null, type, consumer }));
}
