/**
 * The tour of `npm start`: one step for each of the three interfaces. The steps print the shown output after every
 * start, although earlier runs of the steps changed the resources.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { curlLines, type TourStep } from "./greeting.ts";
import type { ChosenAddresses } from "./processes.ts";

export interface TourOptions {
  readonly chosen: ChosenAddresses;
  /** The folder of custom resources. */
  readonly folder: string;
  /** The same folder, as a user can type it. */
  readonly typed: string;
  /** The current response to the first step's query. */
  readonly answer: string;
}

/** The first of `people`, `people-2`, … that is not the path of a route in the folder. */
function freeName(folder: string): string {
  const routes = join(folder, "route");
  const files = existsSync(routes) ? readdirSync(routes) : [];
  const texts = files.map((file) => readFileSync(join(routes, file), "utf8"));
  const isTaken = (name: string) => texts.some((text) => text.includes(`/${name}\n`));
  for (let n = 1; ; n++) {
    const name = n === 1 ? "people" : `people-${n}`;
    if (!isTaken(name)) return name;
  }
}

/** The limit per minute in the sample rate-limiting.yaml, and a different one to which the tour changes it. */
function limits(folder: string): { readonly from: number; readonly to: number } {
  const file = join(folder, "rate-limiting.yaml");
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const from = Number(/minute: (\d+)/.exec(text)?.[1] ?? 60);
  return { from, to: from === 30 ? 60 : 30 };
}

export function productTour({ chosen, folder, typed, answer }: TourOptions): readonly TourStep[] {
  const name = freeName(folder);
  const { from, to } = limits(folder);
  return [
    {
      title: "A GraphQL query through the proxy, with an API key:",
      commands: curlLines(chosen.proxy),
      output: [answer],
    },
    {
      title: "A form request to the admin API, which writes a custom resource:",
      commands: [
        `curl -s http://${chosen.admin}/services/users/routes -d name=${name} -d 'paths[]=/${name}' \\`,
        "  -o /dev/null -w '%{http_code}\\n'",
        ...curlLines(chosen.proxy, { path: `/${name}` }),
        `grep -h -A 1 paths: ${typed}/route/${name}-*.yaml`,
      ],
      output: ["201", answer, "  paths:", `    - /${name}`],
    },
    {
      title: "An edit of a resource file, which takes effect within a second:",
      commands: [
        `sed -i.bak 's/minute: ${from}/minute: ${to}/' ${typed}/rate-limiting.yaml; sleep 1`,
        ...curlLines(chosen.proxy, { options: "-o /dev/null -D - | grep ^RateLimit-Limit" }),
      ],
      output: [`RateLimit-Limit: ${to}`],
    },
  ];
}
