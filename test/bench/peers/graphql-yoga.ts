/** The user directory on GraphQL Yoga: `graphql-yoga.ts <database url> [plain]`. Prints its port. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { openDirectory, type Request } from "./user-directory.ts";

interface Params {
  readonly params: Request;
  readonly setResult: (result: object) => void;
}

// A variable, so that the compiler does not resolve the module, whose types add browser types to the whole project.
const name: string = "graphql-yoga";
const { createYoga }: { createYoga(options: object): RequestListener } = await import(name);

const { schema, context, faults } = await openDirectory(process.argv.slice(2));
const limits = {
  onParams({ params: { query = "", operationName, variables }, setResult }: Params) {
    const errors = faults({ query, operationName, variables });
    if (errors.length > 0) setResult({ errors });
  },
};
const yoga = createYoga({ schema, context, plugins: [limits], logging: false, graphiql: false, landingPage: false });
const server = createServer(yoga);
server.listen(0, "127.0.0.1", () => console.log(`listening on ${(server.address() as AddressInfo).port}`));
