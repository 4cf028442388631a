/** The resolvers of the schema. The policy (policy/policy.ts) wraps them, field by field. */
import { randomUUIDv7 } from "node:crypto";
import { type GraphQLError, type GraphQLResolveInfo, Kind } from "graphql";
import { createFailure } from "../errors.ts";
import type { Consumer } from "../policy/caller.ts";
import { MAX_POSTS, type Post, type User, type UserStore, type UserWithPosts } from "../store/store.ts";
import {
  type CheckedArguments,
  checkPage,
  checkTexts,
  type NewUser,
  type PageArguments,
  tooManyItems,
  type Violation,
} from "./arguments.ts";
import type { PostLoader } from "./post-loader.ts";

export interface ResolverOptions {
  readonly store: UserStore;
  readonly page: number;
  /** Called with every created user, once the store has the user. */
  readonly created: (user: User) => void;
}

/** The payload of an event: the root value with which a subscription is executed. */
export interface CreatedUser {
  readonly userCreated: User;
}

/** Each operation has its own loader, which reads each user's posts only once. */
export interface Context extends PostLoader {
  readonly consumer: Consumer | null;
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
  return createFailure("BAD_USER_INPUT", message, { violations });
}

/** @throws BAD_USER_INPUT with all errors of the arguments. */
function valid<Value>(checked: CheckedArguments<Value>): Value {
  if ("violations" in checked) throw badInput(checked.violations);
  return checked.value;
}

/** @throws NOT_FOUND for an unknown id. */
function existing<Value>(found: Value | null, kind: "User" | "Post"): Value {
  if (found === null) throw createFailure("NOT_FOUND", `${kind} not found`);
  return found;
}

const conflict = (): GraphQLError => createFailure("CONFLICT", "Another user has this e-mail address");

/** The arguments of updateUser as GraphQL passes them: null means the same as absent. */
interface GivenChange {
  readonly id: string;
  readonly name?: string | null;
  readonly email?: string | null;
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
      async users(_root: unknown, given: PageArguments) {
        const { first, after } = valid(checkPage(given, page));
        if (first !== undefined) return store.users({ first, after });
        const users = await store.users({ first: page + 1, after });
        if (users.length > page) throw tooManyItems(page);
        return users;
      },
      user: (_root: unknown, { id }: { readonly id: string }, _context: Context, info: Info) =>
        store.user(id, { posts: wantsPosts(info) }).then((user) => existing(user, "User")),
    },

    Mutation: {
      async createUser(_root: unknown, { name, email }: NewUser) {
        const user: User = { id: randomUUIDv7(), ...valid(checkTexts({ name, email })) };
        if (!(await store.add(user))) throw conflict();
        created(user);
        return user;
      },
      async updateUser(_root: unknown, { id, name, email }: GivenChange) {
        const change = valid(
          checkTexts({ ...(typeof name === "string" && { name }), ...(typeof email === "string" && { email }) }),
        );
        const user = await store.update(id, change);
        if (user === "taken") throw conflict();
        return existing(user === "unknown" ? null : user, "User");
      },
      async deleteUser(_root: unknown, { id }: { readonly id: string }) {
        return existing(await store.remove(id), "User");
      },
      async createPost(
        _root: unknown,
        { userId, title }: { readonly userId: string; readonly title: string },
        { forgetPosts }: Context,
      ) {
        const post: Post = { id: randomUUIDv7(), ...valid(checkTexts({ title })) };
        const result = await store.addPost(userId, post);
        forgetPosts();
        if (result === "full") {
          const message = `The user has ${MAX_POSTS} posts: delete one first`;
          throw createFailure("LIMIT_EXCEEDED", message, { limit: "posts", maximum: MAX_POSTS });
        }
        return existing(result === "added" ? post : null, "User");
      },
      async updatePost(
        _root: unknown,
        { id, title }: { readonly id: string; readonly title: string },
        { forgetPosts }: Context,
      ) {
        const post = await store.updatePost({ id, ...valid(checkTexts({ title })) });
        forgetPosts();
        return existing(post, "Post");
      },
      async deletePost(_root: unknown, { id }: { readonly id: string }, { forgetPosts }: Context) {
        const post = await store.removePost(id);
        forgetPosts();
        return existing(post, "Post");
      },
    },

    Subscription: {
      userCreated({ userCreated }: Partial<CreatedUser>) {
        // Without an event, graphql-js would execute a subscription like a query. The transports never do this, so the
        // error is only a safeguard.
        if (userCreated !== undefined) return userCreated;
        throw createFailure("BAD_REQUEST", "Subscriptions are answered over a WebSocket or as an event stream");
      },
    },

    User: {
      posts: ({ id, posts }: UserWithPosts, _given: unknown, { postsOf }: Context) => posts ?? postsOf(id),
    },
  };
}
