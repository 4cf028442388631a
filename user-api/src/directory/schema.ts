/** The GraphQL schema. Its descriptions are the reference that clients see. */
export const schema = `
"A user of the directory."
type User {
  "Assigned by the service."
  id: ID!
  name: String!
  "Unique in the directory, regardless of case."
  email: String!
  "The posts of the user, oldest first."
  posts: [Post]
}

type Post {
  title: String
}

type Query {
  "One user. An unknown id gives null and an error with the code NOT_FOUND."
  user(id: ID!): User
  """
  Users, oldest first: all of them, or a page of "first" users after the user with the id "after". If there are more
  users than a list may have, the error LIMIT_EXCEEDED explains how to page.
  """
  users(first: Int, after: ID): [User]
}

type Mutation {
  "Creates a user. The error is BAD_USER_INPUT for invalid values, and CONFLICT if another user has the address."
  createUser(name: String!, email: String!): User
}

type Subscription {
  "Every user that is created from now on."
  userCreated: User
}
`;
