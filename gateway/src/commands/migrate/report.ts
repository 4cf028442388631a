/** The report of `sluice migrate`: the entities that Sluice serves as Kong does, differently, or not at all. */
import {
  collections,
  describeViolation,
  kongPlugins,
  type ServablePart,
  type Unserved,
  type Violation,
} from "@sluice/model";
import { otherRoutes } from "./other-routes.ts";

/** The part of a Kong configuration that can be served, with a function that describes its violations. */
export interface ReportedPart extends ServablePart {
  readonly describe: (violation: Violation) => string;
}

export function migrationReport(name: string, part: ReportedPart): string {
  const { given, unserved } = part;
  const served = Object.values(part.served).reduce((sum, count) => sum + count, 0);
  const consequenceOf = consequencesIn(part);
  const sections = [
    ["equal", equalLines(part)],
    ["differs", differingLines(part)],
    ["absent", unserved.flatMap((one) => [part.describe(one.violation), `  -> ${consequenceOf(one)}`])],
  ] as const;
  return [
    `${name}: ${served} of ${given} entities are served${unserved.length === 0 ? "" : "; the rest is listed under absent"}\n`,
    ...sections.flatMap(([title, lines]) =>
      lines.length === 0 ? [] : [`\n${title}\n${lines.map((line) => `  ${line}\n`).join("")}`],
    ),
  ].join("");
}

type Members = Readonly<Record<string, unknown>>;

const servedItems = ({ document }: ReportedPart, collection: (typeof collections)[number]): readonly Members[] =>
  ((document[collection] ?? []) as readonly Members[]).filter(
    ({ _sluice }) => Object(_sluice).unavailable === undefined,
  );

/** The number of served plugins by name. */
const pluginCounts = (part: ReportedPart): readonly (readonly [name: string, count: number])[] =>
  [...Map.groupBy(servedItems(part, "plugins"), ({ name }) => String(name))]
    .map(([name, items]) => [name, items.length] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));

const differenceOf = (plugin: string): string | undefined => kongPlugins.get(plugin)?.differs;

function equalLines(part: ReportedPart): readonly string[] {
  const counts = collections.flatMap((collection) => {
    const count = collection === "plugins" ? 0 : part.served[collection];
    return count === 0 ? [] : [`${collection}: ${count}`];
  });
  const equal = pluginCounts(part).flatMap(([name, count]) =>
    differenceOf(name) === undefined ? [`plugin ${name}: ${count}`] : [],
  );
  return [...counts, ...equal];
}

function differingLines(part: ReportedPart): readonly string[] {
  const plugins = pluginCounts(part).flatMap(([name, count]) => {
    const difference = differenceOf(name);
    return difference === undefined ? [] : [`plugin ${name}: ${count}: ${difference}`];
  });
  const unverified = servedItems(part, "services").filter(
    ({ protocol, url, tls_verify: verify }) =>
      /^(https|grpcs|tls)\b/.test(String(protocol ?? url)) && (verify ?? null) === null,
  ).length;
  return [
    ...plugins,
    ...(unverified === 0
      ? []
      : [
          `services without tls_verify: ${unverified}: upstreams must have a valid certificate; set tls_verify to false to accept any certificate`,
        ]),
    ...part.warnings.map(part.describe),
  ];
}

/** Returns a function that explains what happens to requests because of something that is not served. */
export function consequencesIn(part: Pick<ServablePart, "document">): (one: Unserved) => string {
  const routesInsteadOf = otherRoutes(part.document);
  return ({ violation: { path }, outcome, dependents, leftOutRoutes, closedRoutes }) => {
    const isRoute = path.findLast((step) => collections.some((name) => name === step)) === "routes";
    if (outcome === "all closed") {
      const reason = isRoute ? "those of the route cannot be recognized" : "it may protect any of them";
      return `all requests are answered 503, because ${reason}`;
    }
    if (outcome === "closed") return `${isRoute ? "requests of the route" : "requests in its scope"} are answered 503`;
    return [
      "left out",
      ...(dependents === 0 ? [] : [`entities that refer to it and are left out too: ${dependents}`]),
      ...leftOutRoutes.flatMap(routesInsteadOf),
      ...(closedRoutes.length === 0 ? [] : [`these of its routes answer 503: ${closedRoutes.join(", ")}`]),
    ].join("; ");
  };
}

/** Describes a violation by its position in the file. */
export const describeInFile = (violation: Violation): string => describeViolation(violation);

/**
 * Returns a function that describes a violation, and names the entity as its admin URL does:
 * `services/users.protocol: …`, `plugins/<id>.name: …`.
 */
export function describeInAdminApi(document: Members): (violation: Violation) => string {
  return ({ path: [collection, index, ...rest], message }) => {
    const list = document[String(collection)];
    const item = Array.isArray(list) ? Object(list[Number(index)]) : {};
    const name = collection === "plugins" ? item.id : (item.name ?? item.username ?? item.id);
    if (name === undefined) return describeViolation({ path: [String(collection)], message });
    return `${collection}/${describeViolation({ path: [String(name), ...rest], message })}`;
  };
}
