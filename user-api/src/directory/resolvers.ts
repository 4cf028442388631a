/** What the schema's fields do. Authorization is checked here, field by field. */
import { randomUUIDv7 } from "node:crypto";
import { failure } from "../errors.ts";
import type { Consumer } from "../policy/consumer.ts";
import type { Access } from "../settings.ts";
import type { Post, User, UserStore } from "../store/store.ts";
import { checkNewUser, type NewUser } from "./new-user.ts";

export interface ResolverOptions {
  readonly store: UserStore;
  readonly access: Access;
}

/** What an event carries: the root value of the subscription's result. */
interface Created {
  readonly userCreated: User;
}

/** The part of the resolver context that is ours or that we use. */
export interface Context {
  readonly consumer: Consumer | null;
  readonly pubsub: {
    publish(event: { readonly topic: typeof TOPIC; readonly payload: Created }): void;
    subscribe(topic: typeof TOPIC): Promise<AsyncIterable<Created>>;
  };
}

const TOPIC = "userCreated";

export function makeResolvers({ store, access }: ResolverOptions) {
  return {
    Query: {
      users: () => store.users(),
      async user(_root: unknown, { id }: { readonly id: string }) {
        const user = await store.user(id);
        if (user === null) throw failure("NOT_FOUND", "User not found");
        return user;
      },
    },

    Mutation: {
      async createUser(_root: unknown, given: NewUser, { consumer, pubsub }: Context) {
        if (access === "authenticated" && consumer === null) {
          throw failure("UNAUTHENTICATED", "Creating a user needs a consumer: send a credential to the gateway");
        }
        const checked = checkNewUser(given);
        if ("violations" in checked) {
          const { violations } = checked;
          const message = violations.map(({ path, message }) => `${path[0]} ${message}`).join("; ");
          throw failure("BAD_USER_INPUT", message, { violations });
        }
        const user: User = { id: randomUUIDv7(), ...checked.value };
        if (!(await store.add(user))) throw failure("CONFLICT", "Another user has this e-mail address");
        pubsub.publish({ topic: TOPIC, payload: { userCreated: user } });
        return user;
      },
    },

    Subscription: {
      userCreated: {
        subscribe: (_root: unknown, _given: unknown, { pubsub }: Context) => pubsub.subscribe(TOPIC),
        resolve({ userCreated }: Partial<Created>) {
          // Over HTTP a subscription is executed like a query, without an event.
          if (userCreated !== undefined) return userCreated;
          throw failure("BAD_REQUEST", "Subscriptions are answered over a WebSocket (graphql-transport-ws)");
        },
      },
    },
  };
}

/** Fields that are read for all users of an answer at once. */
export function makeLoaders(store: UserStore) {
  return {
    User: {
      posts: (queries: readonly { readonly obj: User }[]): Promise<readonly (readonly Post[])[]> =>
        store.postsOf(queries.map(({ obj }) => obj.id)),
    },
  };
}
