/** The report of `sluice migrate`: what Sluice serves as Kong does, what differs, and what is absent. */
import {
  collections,
  describeViolation,
  kongPlugins,
  type ServablePart,
  type Unserved,
  type Violation,
} from "@sluice/model";

/** A part with the sentence for each of its violations. */
export interface Reported extends ServablePart {
  readonly describe: (violation: Violation) => string;
}

export function migrationReport(name: string, part: Reported): string {
  const { given, served, unserved } = part;
  const sections = [
    ["equal", equalLines(part)],
    ["differs", differingLines(part)],
    ["absent", unserved.flatMap((one) => absentLines(one, part))],
  ] as const;
  return [
    `${name}: ${served} of ${given} entities are served${unserved.length === 0 ? "" : ", and something is absent"}\n`,
    ...sections.flatMap(([title, lines]) =>
      lines.length === 0 ? [] : [`\n${title}\n${lines.map((line) => `  ${line}\n`).join("")}`],
    ),
  ].join("");
}

type Members = Readonly<Record<string, unknown>>;

const servedItems = ({ document }: Reported, collection: (typeof collections)[number]): readonly Members[] =>
  ((document[collection] ?? []) as readonly Members[]).filter(
    ({ _sluice }) => Object(_sluice).unavailable === undefined,
  );

/** The number of served plugins by name. */
const pluginCounts = (part: Reported): readonly (readonly [name: string, count: number])[] =>
  [...Map.groupBy(servedItems(part, "plugins"), ({ name }) => String(name))]
    .map(([name, items]) => [name, items.length] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));

const differenceOf = (plugin: string): string | undefined => kongPlugins.get(plugin)?.differs;

function equalLines(part: Reported): readonly string[] {
  const counts = collections.flatMap((collection) => {
    const { length } = collection === "plugins" ? [] : servedItems(part, collection);
    return length === 0 ? [] : [`${collection}: ${length}`];
  });
  const equal = pluginCounts(part).flatMap(([name, count]) =>
    differenceOf(name) === undefined ? [`plugin ${name}: ${count}`] : [],
  );
  return [...counts, ...equal];
}

function differingLines(part: Reported): readonly string[] {
  const plugins = pluginCounts(part).flatMap(([name, count]) => {
    const difference = differenceOf(name);
    return difference === undefined ? [] : [`plugin ${name}: ${count}: ${difference}`];
  });
  const unverified = servedItems(part, "services").filter(
    ({ protocol, url, tls_verify: verify }) =>
      /^(https|grpcs)\b/.test(String(protocol ?? url)) && (verify ?? null) === null,
  ).length;
  return [
    ...plugins,
    ...(unverified === 0
      ? []
      : [`services without tls_verify: ${unverified}: their certificates are verified; tls_verify: false trusts any`]),
    ...part.warnings.map(part.describe),
  ];
}

const OTHER_ROUTES = "left out: other routes that match get its requests";

function consequenceOf({ violation: { path }, outcome, routes }: Unserved): string {
  if (outcome === "closed") return "requests in its scope are answered 503";
  const collection = path.findLast((step) => collections.some((name) => name === step));
  return collection === "routes" || routes > 0 ? OTHER_ROUTES : "left out";
}

function absentLines(one: Unserved, { describe }: Reported): readonly string[] {
  const others = one.dependents === 0 ? "" : `; left out because they refer to it: ${one.dependents}`;
  return [describe(one.violation), `  -> ${consequenceOf(one)}${others}`];
}

/** Sentences for a document that has positions. */
export const describeInFile = (violation: Violation): string => describeViolation(violation);

/** Sentences that name entities as in the admin API's URLs: `services/users.protocol: …`, `plugins/<id>.name: …`. */
export function describeInAdminApi(document: Members): (violation: Violation) => string {
  return ({ path: [collection, index, ...rest], message }) => {
    const list = document[String(collection)];
    const item = Array.isArray(list) ? Object(list[Number(index)]) : {};
    const name = collection === "plugins" ? item.id : (item.name ?? item.username ?? item.id);
    if (name === undefined) return describeViolation({ path: [String(collection)], message });
    return `${collection}/${describeViolation({ path: [String(name), ...rest], message })}`;
  };
}
