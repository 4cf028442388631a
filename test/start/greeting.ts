/** What `npm start` and `npm run cluster` say when the product is ready: addresses, and commands to try. */
import { addresses, type Chosen } from "./processes.ts";

const query = `{"query":"{ users { name email } }"}`;

/** Resolves when a query with the demo key is answered through the proxy at this address. */
export async function answersThrough(proxy: string): Promise<void> {
  const response = await fetch(`http://${proxy}/users/graphql`, {
    method: "POST",
    headers: { apikey: "demo-key", "content-type": "application/json" },
    body: query,
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`http://${proxy} answered ${response.status}: ${text}`);
}

export interface GreetingOptions {
  readonly chosen: Chosen;
  /** The folder of custom resources, as the person can type it. */
  readonly folder: string;
}

export function greeting({ chosen, folder }: GreetingOptions): string {
  const rows = Object.entries(addresses).map(
    ([name, { what }]) => `  ${what.padEnd(34)}http://${chosen[name as keyof Chosen]}`,
  );
  return `
Sluice is ready.

${rows.join("\n")}
  ${"custom resources".padEnd(34)}${folder}

1. A GraphQL query through the proxy, with an API key:

  curl -s http://${chosen.proxy}/users/graphql -H 'apikey: demo-key' -H 'content-type: application/json' \\
    -d '${query}'

  {"data":{"users":[]}}

2. A form to the admin API that makes a custom resource (look at it: ${folder}/route/):

  curl -s http://${chosen.admin}/services/users/routes -d 'name=people' -d 'paths[]=/people' -o /dev/null -w '%{http_code}\\n'
  curl -s http://${chosen.proxy}/people/graphql -H 'apikey: demo-key' -H 'content-type: application/json' \\
    -d '${query}' -w '\\n'

  201
  {"data":{"users":[]}}

3. An edit of a file that changes the next answer:

  sed -i.bak 's/minute: 60/minute: 30/' ${folder}/rate-limiting.yaml
  curl -s -o /dev/null -D - http://${chosen.proxy}/users/graphql -H 'apikey: demo-key' -H 'content-type: application/json' \\
    -d '${query}' | grep ^RateLimit-Limit

  RateLimit-Limit: 30

Ctrl-C stops everything.
`;
}
