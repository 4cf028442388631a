/** The report of `sluice migrate kubernetes`: a row for each object and annotation. */
import type { ManifestObject, Path } from "@sluice/crds";
import { describeViolation, kongPlugins, type ServablePart, type Unserved } from "@sluice/model";
import { consequencesIn } from "../report.ts";
import { kongAnnotationsAt } from "./convert/audit.ts";
import type { Conversion, ConvertedEntity } from "./convert/conversion.ts";
import { nonEmptyText, objectTitle } from "./convert/objects.ts";
import type { ReadObjects } from "./read-files.ts";

export interface KubernetesReport {
  readonly text: string;
  /** Whether everything is served. */
  readonly isComplete: boolean;
}

interface Row {
  readonly object: ManifestObject;
  readonly path: Path;
  readonly message: string;
  readonly consequence?: string;
}

export function kubernetesReport(
  name: string,
  {
    conversion,
    part,
    placeOf,
  }: { readonly conversion: Conversion; readonly part: ServablePart } & Pick<ReadObjects, "placeOf">,
): KubernetesReport {
  const inOrder = (rows: readonly Row[]) =>
    unique(rows)
      .map((row) => ({ row, place: placeOf(row.object, row.path) }))
      .sort((one, other) => one.place.localeCompare(other.place, "en", { numeric: true }));
  const absent = inOrder([...conversion.omissions, ...unservedRows(conversion, part)]);
  const incomplete = new Set(absent.map(({ row }) => row.object));
  const served = [...conversion.objects].filter((object) => !incomplete.has(object));
  const describe = ({ row: { object, path, message }, place }: (typeof absent)[number]): string => {
    const field = describeViolation({ path, message });
    return `${place === "" ? "" : `${place}: `}${objectTitle(object)}: ${field}`;
  };
  const sections = [
    ["equal", served.map((object) => equalRow(object, conversion))],
    [
      "differs",
      [...inOrder([...conversion.remarks, ...differingRows(conversion, part)]).map(describe), ...keptLines(conversion)],
    ],
    ["absent", absent.flatMap((one) => [describe(one), `  -> ${one.row.consequence}`])],
  ] as const;
  const head = `${name}: ${served.length} of ${conversion.objects.size} objects are served`;
  const text = [
    `${head}${absent.length === 0 ? "" : "; the rest is listed under absent"}\n`,
    ...sections.flatMap(([title, lines]) =>
      lines.length === 0 ? [] : [`\n${title}\n${lines.map((line) => `  ${line}\n`).join("")}`],
    ),
  ].join("");
  return { text, isComplete: absent.length === 0 };
}

/** Several entities of one object often have the same problem. */
function unique(rows: readonly Row[]): readonly Row[] {
  const keyOf = ({ object, path, message, consequence }: Row) =>
    JSON.stringify([objectTitle(object), path, message, consequence]);
  return [...new Map(rows.map((row) => [keyOf(row), row])).values()];
}

const MOST_NAMES = 3;

/** `Ingress shop/orders -> Route orders; konghq.com/plugins` */
function equalRow(object: ManifestObject, { entities, resources, remarks, omissions }: Conversion): string {
  const names = [
    ...entities.flatMap((entity) =>
      entity.object === object && entity.placement ? [`${kindOf(entity)} ${entity.placement.name}`] : [],
    ),
    ...resources.flatMap(({ resource, object: of }) =>
      of === object ? [`${resource.kind} ${resource.metadata.name}`] : [],
    ),
  ];
  const shown =
    names.length > MOST_NAMES ? [...names.slice(0, MOST_NAMES), `${names.length - MOST_NAMES} more`] : names;
  const isNoted = (name: string) =>
    [...remarks, ...omissions].some((row) => row.object === object && row.path.at(-1) === name);
  const annotations = kongAnnotationsAt(object)
    .filter((name) => !isNoted(name))
    .toSorted();
  return [
    `${objectTitle(object)}${shown.length === 0 ? "" : ` -> ${shown.join(", ")}`}`,
    ...(annotations.length === 0 ? [] : [annotations.join(", ")]),
  ].join("; ");
}

const kindNamesByCollection: Readonly<Record<string, string>> = {
  ca_certificates: "CACertificate",
  vaults: "Vault",
  consumer_groups: "ConsumerGroup",
  consumers: "Consumer",
  upstreams: "Upstream",
  services: "Service",
  routes: "Route",
  plugins: "Plugin",
};

const kindOf = ({ collection }: ConvertedEntity): string => kindNamesByCollection[collection] ?? collection;

/** The field of the object from which the member of an entity was made. */
function fieldOf({ paths }: ConvertedEntity, [member, item, ...rest]: Path): Path {
  const ofItem = paths[`${member}.${item}`];
  if (ofItem) return ofItem;
  const path = member === undefined ? undefined : paths[String(member)];
  if (!path) return [];
  return path.at(-1) === member && item !== undefined ? [...path, item, ...rest] : path;
}

/** The source of a violation in the document; undefined for a plugin that was only added to close requests. */
function sourceOf(conversion: Conversion, [collection, index, ...rest]: Path) {
  const entity = conversion.entityAt(collection, index);
  return entity && { entity, field: fieldOf(entity, rest), rest };
}

function unservedRows(conversion: Conversion, part: ServablePart): readonly Row[] {
  const consequenceOf = consequencesIn(part);
  return part.unserved.flatMap((one: Unserved): Row[] => {
    const source = sourceOf(conversion, one.violation.path);
    if (!source) return [];
    const { entity, field } = source;
    const message = entity.reason ?? withTitle(one.violation.message, conversion);
    return [{ object: entity.object, path: field, message, consequence: consequenceOf(one) }];
  });
}

/** A message about a missing dependency names it by its place in the document: this names its object instead. */
const withTitle = (message: string, conversion: Conversion): string =>
  message.replace(/(that is left out): (\w+)\[(\d+)\].*$/s, (all, words: string, collection: string, index: string) => {
    const entity = conversion.entityAt(collection, index);
    return entity === undefined ? all : `${words}: ${objectTitle(entity.object)}: ${entity.reason ?? "see there"}`;
  });

function differingRows(conversion: Conversion, part: ServablePart): readonly Row[] {
  const warnings = part.warnings.flatMap(({ path, message }): Row[] => {
    const source = sourceOf(conversion, path);
    return source ? [{ object: source.entity.object, path: source.field, message }] : [];
  });
  const ofEntities = conversion.entities.flatMap(({ collection, members, object }): Row[] => {
    const difference = collection === "plugins" ? kongPlugins.get(String(members.name))?.differs : undefined;
    if (difference !== undefined) return [{ object, path: [], message: `plugin ${members.name}: ${difference}` }];
    const isUnverified = collection === "services" && /^(https|grpcs)$/.test(nonEmptyText(members.protocol) ?? "");
    if (!isUnverified || members.tls_verify !== undefined) return [];
    return [{ object, path: [], message: unverified }];
  });
  return [...warnings, ...ofEntities];
}

/** One line about all Ingresses that stay Ingresses. */
function keptLines({ resources }: Conversion): readonly string[] {
  const count = resources.filter(({ resource }) => resource.kind === "Ingress").length;
  if (count === 0) return [];
  return [`Ingresses that stay Ingresses: ${count}: ${stays}`];
}

const unverified =
  "the upstream must have a valid certificate: set tlsVerify of the Service to false to accept any certificate, as Kong does";
const stays =
  "connections to upstreams must open within 5 s instead of 60 s, and a request is tried 3 times instead of 6";
