/** The text of `npm start` and `npm run cluster` when the product is ready: addresses, and commands to try. */
import { type ChosenAddresses, productAddresses } from "./processes.ts";

/** A step of the tour: shell commands, and the output that they print. */
export interface TourStep {
  readonly title: string;
  readonly commands: readonly string[];
  readonly output: readonly string[];
}

export interface GreetingOptions {
  readonly chosen: ChosenAddresses;
  /** Further addresses and files: a name and a location for each. */
  readonly places: readonly (readonly [what: string, where: string])[];
  /** Commands that the steps need first, in the same shell. */
  readonly preparation?: readonly string[];
  readonly steps: readonly TourStep[];
}

const indented = (lines: readonly string[]): string => lines.map((line) => `  ${line}`).join("\n");

export function greetingText({ chosen, places, preparation = [], steps }: GreetingOptions): string {
  const rows = Object.entries(productAddresses).map(([name, { what }]) => {
    const page = name === "userApi" ? "/graphql" : "";
    return [what, `http://${chosen[name as keyof ChosenAddresses]}${page}`] as const;
  });
  const pages = [
    ["web console", `http://${chosen.admin}/console`],
    ["GraphiQL, to try queries", `http://${chosen.userApi}/graphiql`],
  ] as const;
  const table = [...rows, ...pages, ...places].map(([what, where]) => `  ${what.padEnd(34)}${where}`);
  const first = preparation.length > 0 ? [`In the terminal for these commands:\n\n${indented(preparation)}\n`] : [];
  const numbered = steps.map(
    ({ title, commands, output }, index) => `${index + 1}. ${title}\n\n${indented(commands)}\n\n${indented(output)}\n`,
  );
  return `
Sluice is ready.

${table.join("\n")}

${[...first, ...numbered].join("\n")}
Ctrl-C stops everything.
`;
}

/** The JSON body of a query for data that exists from the start. */
export const exampleQuery = `{"query":"{ users { name posts { title } } }"}`;
const headers = "-H 'apikey: demo-key' -H 'content-type: application/json'";

/** The lines of a curl command that queries the user API through a proxy; `options` are further options of curl. */
export function curlLines(proxy: string, { path = "/users", options = "-w '\\n'" } = {}): readonly string[] {
  return [`curl -s http://${proxy}${path}/graphql ${headers} \\`, `  -d '${exampleQuery}' ${options}`];
}
