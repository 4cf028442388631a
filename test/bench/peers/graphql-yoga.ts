/** The user directory on GraphQL Yoga: `graphql-yoga.ts <database url>`. Prints its port. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createYoga, type Plugin } from "graphql-yoga";
import { openDirectory } from "./user-directory.ts";

const { schema, context, faults } = await openDirectory(process.argv[2] ?? "");

const limits: Plugin = {
  onParams({ params, setResult }) {
    const errors = faults({
      query: params.query ?? "",
      operationName: params.operationName,
      variables: params.variables,
    });
    if (errors.length > 0) setResult({ errors: [...errors] });
  },
};
const yoga = createYoga({ schema, context, plugins: [limits], logging: false, graphiql: false, landingPage: false });
const server = createServer(yoga);
server.listen(0, "127.0.0.1", () => console.log(`listening on ${(server.address() as AddressInfo).port}`));
