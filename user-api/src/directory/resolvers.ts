/** The resolvers of the schema. The policy (policy/policy.ts) wraps them, field by field. */
import { randomUUIDv7 } from "node:crypto";
import { type GraphQLError, type GraphQLResolveInfo, Kind } from "graphql";
import { failure } from "../errors.ts";
import type { Consumer } from "../policy/caller.ts";
import type { Post, User, UserStore, UserWithPosts } from "../store/store.ts";
import { checkNewUser, checkPage, type GivenPage, type NewUser, tooMany, type Violation } from "./arguments.ts";

export interface ResolverOptions {
  readonly store: UserStore;
  readonly page: number;
  /** Called with every created user, once the store has the user. */
  readonly created: (user: User) => void;
}

/** The payload of an event: the root value with which a subscription is executed. */
export interface Created {
  readonly userCreated: User;
}

export interface Context {
  readonly consumer: Consumer | null;
  /** Loads the posts of a user. Each operation has its own function, which reads each user's posts only once. */
  readonly postsOf: (userId: string) => Promise<readonly Post[]>;
}

/**
 * An empty source stream. graphql-js needs an iterable, but uses it only to decide whether a subscription may begin;
 * the results come from the events (subscriptions/feed.ts).
 */
const everyUser: AsyncIterable<never> = { [Symbol.asyncIterator]: async function* () {} };

/** The `subscribe` functions by field. The access control (policy/policy.ts) wraps them, so that a forbidden subscription fails at its start. */
export const subscribers = {
  userCreated: (_root: unknown, _given: unknown, _context: Context): AsyncIterable<never> => everyUser,
};

function badInput(violations: readonly Violation[]): GraphQLError {
  const message = violations.map(({ path, message }) => `${path[0]} ${message}`).join("; ");
  return failure("BAD_USER_INPUT", message, { violations });
}

type Info = Pick<GraphQLResolveInfo, "fieldNodes">;

/** Whether the selection contains `posts`. Fragments are not searched. */
const wantsPosts = ({ fieldNodes }: Info): boolean =>
  fieldNodes.some(({ selectionSet }) =>
    selectionSet?.selections.some((one) => one.kind === Kind.FIELD && one.name.value === "posts"),
  );

export function makeResolvers({ store, page, created }: ResolverOptions) {
  return {
    Query: {
      async users(_root: unknown, given: GivenPage) {
        const checked = checkPage(given, page);
        if ("violations" in checked) throw badInput(checked.violations);
        const { first, after } = checked.value;
        if (first !== undefined) return store.users({ first, after });
        const users = await store.users({ first: page + 1, after });
        if (users.length > page) throw tooMany(page);
        return users;
      },
      user: (_root: unknown, { id }: { readonly id: string }, _context: Context, info: Info) =>
        store.user(id, { posts: wantsPosts(info) }).then((user) => {
          if (user === null) throw failure("NOT_FOUND", "User not found");
          return user;
        }),
    },

    Mutation: {
      async createUser(_root: unknown, given: NewUser) {
        const checked = checkNewUser(given);
        if ("violations" in checked) throw badInput(checked.violations);
        const user: User = { id: randomUUIDv7(), ...checked.value };
        if (!(await store.add(user))) throw failure("CONFLICT", "Another user has this e-mail address");
        created(user);
        return user;
      },
    },

    Subscription: {
      userCreated({ userCreated }: Partial<Created>) {
        // Without an event, graphql-js would execute a subscription like a query. The transports never do this, so the
        // error is only a safeguard.
        if (userCreated !== undefined) return userCreated;
        throw failure("BAD_REQUEST", "Subscriptions are answered over a WebSocket or as an event stream");
      },
    },

    User: {
      posts: ({ id, posts }: UserWithPosts, _given: unknown, { postsOf }: Context) => posts ?? postsOf(id),
    },
  };
}
