/** The GraphQL schema. Its descriptions are the reference that clients see. */
export const schema = `
"A user of the directory."
type User {
  "A UUID. The service assigns it."
  id: ID!
  "The user's name, 1 to 200 characters."
  name: String!
  "Unique in the directory, regardless of case."
  email: String!
  "The posts of the user, oldest first."
  posts: [Post]
}

"Something that a user has written."
type Post {
  "A UUID. The service assigns it."
  id: ID!
  "The title, 1 to 300 characters. Null: the post has none."
  title: String
}

"What clients can read."
type Query {
  "One user. An unknown id gives null and an error with the code NOT_FOUND."
  user(
    "The id of the user."
    id: ID!
  ): User
  """
  Users, oldest first: all of them, or a page. If there are more users than a list may have, the error LIMIT_EXCEEDED
  explains how to page.
  """
  users(
    "The maximum number of users in the list."
    first: Int
    "Only users after the one with this id: the last user of the previous page."
    after: ID
  ): [User]
}

"""
What clients can change. The error is BAD_USER_INPUT for invalid values, and NOT_FOUND for an unknown id. The
mutations are executed in the order in which the document has them.
"""
type Mutation {
  "Creates a user. The error is CONFLICT if another user has the address."
  createUser(
    "The user's name, 1 to 200 characters."
    name: String!
    "The user's e-mail address."
    email: String!
  ): User
  "Changes a user. The error is CONFLICT if another user has the new address."
  updateUser(
    "The id of the user."
    id: ID!
    "The new name. Without it, the name stays as it is."
    name: String
    "The new e-mail address. Without it, the address stays as it is."
    email: String
  ): User
  "Deletes a user with all posts, and returns both as they were."
  deleteUser(
    "The id of the user."
    id: ID!
  ): User
  "Adds a post. The error is LIMIT_EXCEEDED if the user has 1,000 posts."
  createPost(
    "The id of the user who has written the post."
    userId: ID!
    "The title, 1 to 300 characters."
    title: String!
  ): Post
  "Changes the title of a post."
  updatePost(
    "The id of the post."
    id: ID!
    "The new title, 1 to 300 characters."
    title: String!
  ): Post
  "Deletes a post, and returns it as it was."
  deletePost(
    "The id of the post."
    id: ID!
  ): Post
}

"What clients can follow."
type Subscription {
  "Every user that is created from now on."
  userCreated: User
}
`;

/**
 * The fields that change or delete what others have written. By default they require a consumer with the tag `editor`:
 * the keys of clients that could only read and create users must not give them these rights.
 */
export const editorFields: ReadonlySet<string> = new Set(
  ["updateUser", "deleteUser", "createPost", "updatePost", "deletePost"].map((name) => `Mutation.${name}`),
);

export const EDITOR = "editor";
