/**
 * The user directory on Apollo Server, with its standalone listener: `apollo-server.ts <database url> [plain]`. Prints
 * its port.
 */
import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";
import { openDirectory } from "./user-directory.ts";

const { schema, context, faults } = await openDirectory(process.argv.slice(2));

const server = new ApolloServer({
  schema,
  introspection: true,
  plugins: [
    {
      async requestDidStart() {
        return {
          async didResolveOperation({ request: { query = "", operationName, variables } }) {
            const [error] = faults({ query, operationName, variables });
            if (error !== undefined) throw error;
          },
        };
      },
    },
  ],
});
const { url } = await startStandaloneServer(server, {
  listen: { host: "127.0.0.1", port: 0 },
  context: async () => context(),
});
console.log(`listening on ${new URL(url).port}`);
