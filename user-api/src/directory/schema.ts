/** The GraphQL schema. Its descriptions are the reference that clients see. */
export const schema = `
"Someone in the directory."
type User {
  "Assigned by the service."
  id: ID!
  name: String!
  "Unique in the directory, regardless of case."
  email: String!
  "What the user has posted, oldest first."
  posts: [Post]
}

type Post {
  title: String
}

type Query {
  "One user. An unknown id gives null and an error with the code NOT_FOUND."
  user(id: ID!): User
  """
  Users, oldest first: all of them, or a page: "first" so many behind the user with the id "after". More than a list may
  have give an error with the code LIMIT_EXCEEDED that says how to page.
  """
  users(first: Int, after: ID): [User]
}

type Mutation {
  "Creates a user. Faulty values give BAD_USER_INPUT, an address that is taken CONFLICT."
  createUser(name: String!, email: String!): User
}

type Subscription {
  "Every user that is created from now on."
  userCreated: User
}
`;
