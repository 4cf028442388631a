/** `sluice get` and `sluice describe`: entities as the admin API has them. */
import { type Collection, entities, entitySecrets, hostAndPort, streamProtocols } from "@sluice/model";
import type { CertificateDetailsBody } from "../../admin/information/certificate-warnings.ts";
import { clientSettings } from "../../settings/commands/client.ts";
import type { EntityOrigin } from "../../stores/store.ts";
import { defineCommand } from "../command.ts";
import { formatData, formatTable, styledText } from "../terminal/output.ts";
import { type AdminConnection, type ClientCall, withAdmin } from "./admin-connection.ts";
import {
  type EntityMembers,
  entityLabel,
  readEntities,
  readEntity,
  referenceIdOf,
  referencesOf,
} from "./entity-tables.ts";
import { type CheckedTarget, readTargetFailures, readTargets } from "./target-health.ts";

export const getCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const { positionals, options } = call.given;
    const [collection, name] = positionals as [Collection, string?];
    const tag = typeof options.tag === "string" ? options.tag : undefined;
    const { output } = options;
    const text = await withAdmin(call, async (admin) => {
      await warnOfUnreadSecrets(call, admin, collection);
      const found =
        name === undefined ? await readEntities(admin, collection, tag) : [await readEntity(admin, collection, name)];
      if (output === "yaml" || output === "json") return formatData(output, name === undefined ? found : found[0]);
      return listText(admin, collection, { found, wide: output === "wide" });
    });
    call.print(text);
    return undefined;
  },
});

/**
 * Warns that the list may lack credentials: with custom resources, the admin API cannot read Secrets outside the home
 * namespace.
 */
async function warnOfUnreadSecrets({ log }: ClientCall, admin: AdminConnection, collection: Collection): Promise<void> {
  if (!entities[collection].credential || entitySecrets[collection].length === 0) return;
  const status = await admin.read<{ readonly sluice?: { readonly store: string } }>("/status");
  if (!["cluster", "directory"].includes(status?.sluice?.store ?? "")) return;
  log.warn(
    "credentials whose Secrets are outside the home namespace are not listed, because the admin API cannot read these " +
      "Secrets; they have the label sluice.dev/credential",
  );
}

interface Listed {
  readonly found: readonly EntityMembers[];
  readonly wide: boolean;
}

async function listText(admin: AdminConnection, collection: Collection, { found, wide }: Listed): Promise<string> {
  const references = await referencesOf(admin, collection, found);
  const origins = wide ? await Promise.all(found.map(({ id }) => originOf(admin, collection, id))) : [];
  // Several plugins can have the same name, so `describe` may need the id.
  const isPlugin = collection === "plugins";
  const columns: readonly ListColumn[] = [
    { title: "NAME", cell: (entity) => entityLabel(collection, entity) },
    ...only(isPlugin, { title: "ENABLED", cell: ({ enabled }) => String(enabled ?? "-") }),
    { title: "REFERENCES", cell: (_, index) => references[index]?.join(", ") || "-" },
    { title: "MATCHES OR TARGET", cell: summaryOf },
    { title: "TAGS", cell: ({ tags }) => listed(tags) || "-" },
    ...only(wide || isPlugin, { title: "ID", cell: ({ id }) => id }),
    ...only(wide, { title: "WRITTEN IN", cell: (_, index) => origins[index] ?? "-" }),
  ];
  const filled = columns.map(({ title, cell }) => [title, ...found.map(cell)]);
  // Columns that are empty in every row are left out.
  const shown = filled.filter((column, at) => at === 0 || column.slice(1).some((text) => text !== "-"));
  return formatTable(
    [0, ...found.keys().map((index) => index + 1)].map((row) => shown.map((column) => column[row] ?? "")),
  );
}

interface ListColumn {
  readonly title: string;
  readonly cell: (entity: EntityMembers, index: number) => string;
}

const only = (isShown: boolean, column: ListColumn): readonly ListColumn[] => (isShown ? [column] : []);

const listed = (value: unknown): string => (Array.isArray(value) ? value.join(",") : "");

/** The members by which people recognize an entity. */
function summaryOf(entity: EntityMembers): string {
  const { host, port, path, protocol, hosts, paths, methods, protocols, snis, sources, destinations } = entity;
  if (typeof host === "string") return `${protocol}://${host}:${port}${path ?? ""}`;
  const isForConnections = Array.isArray(protocols) && protocols.some((one) => streams.includes(one));
  const parts = isForConnections
    ? [listed(protocols), listed(snis), listedEnds("from", sources), listedEnds("to", destinations)]
    : [listed(methods), listed(hosts), listed(paths)];
  return parts.filter((text) => text !== "").join(" ") || "-";
}

const streams: readonly unknown[] = streamProtocols;

/** `to 10.0.0.0/8,10.0.0.7:9100`; a port alone is `:9100`. Empty without ends. */
const listedEnds = (word: string, ends: unknown): string =>
  Array.isArray(ends) && ends.length > 0
    ? `${word} ${ends.map(({ ip, port }) => (port === null ? ip : hostAndPort({ host: ip ?? "", port }))).join(",")}`
    : "";

/** One line: the resource, the line of a file, or the database. */
async function originOf(admin: AdminConnection, collection: Collection, id: string): Promise<string> {
  return originText(await admin.read<EntityOrigin>(`/origins/${collection}/${id}`));
}

function originText(origin: EntityOrigin | null): string {
  if (!origin) return "unknown";
  if (origin.in === "database") return "the database";
  if (origin.in === "file") return origin.place;
  const { kind, namespace, name } = origin.resource;
  return `${kind} ${namespace}/${name}${origin.place ? ` (${origin.place})` : ""}`;
}

export const describeCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const [collection, name = ""] = call.given.positionals as [Collection, string];
    const { output } = call.given.options;
    const description = await withAdmin(call, (admin) => readDescription(admin, collection, name));
    call.print(
      output === "yaml" || output === "json"
        ? formatData(output, description)
        : descriptionText(collection, description),
    );
    return undefined;
  },
});

interface Description {
  readonly label: string;
  readonly origin: EntityOrigin | null;
  readonly references: readonly string[];
  readonly entity: EntityMembers;
  /** Plugins whose scope includes the entity. */
  readonly plugins: readonly AppliedPlugin[];
  /** Only certificates have this member. */
  readonly certificate?: CertificateDetailsBody | null;
  /** Only upstreams have this member. */
  readonly targets?: readonly DescribedTarget[];
}

interface DescribedTarget extends CheckedTarget {
  /** The last server error of the target; null: the nodes remember none. */
  readonly failure: string | null;
}

async function describedTargets(admin: AdminConnection, upstream: string): Promise<readonly DescribedTarget[]> {
  const failures = await readTargetFailures(admin);
  const targets = await readTargets(admin, upstream);
  return targets.map((checked) => ({ ...checked, failure: failures.get(checked.target) ?? null }));
}

async function readDescription(admin: AdminConnection, collection: Collection, name: string): Promise<Description> {
  const entity = await readEntity(admin, collection, name);
  const [references = []] = await referencesOf(admin, collection, [entity]);
  return {
    label: `${collection}/${entityLabel(collection, entity)}`,
    origin: await admin.read<EntityOrigin>(`/origins/${collection}/${entity.id}`),
    references,
    entity: withoutSecrets(collection, entity),
    plugins: await appliedPlugins(admin, collection, entity),
    ...(collection === "certificates" && {
      certificate: await admin.read<CertificateDetailsBody>(`/certificate-details/${entity.id}`),
    }),
    ...(collection === "upstreams" && { targets: await describedTargets(admin, entity.id) }),
  };
}

function descriptionText(collection: Collection, description: Description): string {
  const { label, origin, references, entity, plugins, certificate, targets } = description;
  return [
    `${styledText("bold", label)}\n`,
    [
      `Id:          ${entity.id}\n`,
      `Written in:  ${originText(origin)}\n`,
      ...timesOf(entity),
      ...references.map((reference) => `Refers to:   ${reference}\n`),
    ].join(""),
    origin?.in === "resource" && conditionsText(origin),
    `${styledText("bold", "Fields:")}\n${formatData("yaml", shownMembers(entity)).replace(/^/gm, "  ").trimEnd()}\n`,
    certificate && certificateText(certificate),
    collection === "upstreams" && targetsText(targets ?? [], entity),
    plugins.length > 0 &&
      `${styledText("bold", "Plugins in scope:")}\n${formatTable([
        ["NAME", "SCOPE", "STATE", "ID"],
        ...plugins.map(({ name, scope, state, id }) => [name, scope, state, id]),
      ])}`,
  ]
    .filter(Boolean)
    .join("\n");
}

const withoutSecrets = (collection: Collection, entity: EntityMembers): EntityMembers =>
  Object.fromEntries(
    Object.entries(entity).map(([member, value]) => [
      member,
      value !== null && entitySecrets[collection].includes(member) ? "[redacted]" : value,
    ]),
  ) as EntityMembers;

/** The entity without members that are unset or printed elsewhere. */
const shownMembers = (entity: EntityMembers): object =>
  Object.fromEntries(
    Object.entries(entity).filter(
      ([member, value]) => value !== null && !["id", "created_at", "updated_at"].includes(member),
    ),
  );

function timesOf({ created_at: created, updated_at: updated }: EntityMembers): readonly string[] {
  const line = (title: string, seconds: unknown) =>
    typeof seconds === "number" && seconds > 0 ? [`${title}${new Date(seconds * 1000).toISOString()}\n`] : [];
  return [...line("Created:     ", created), ...line("Changed:     ", updated)];
}

function certificateText({ data, faults }: CertificateDetailsBody): string {
  const texts = data.map(
    (details) =>
      `${styledText("bold", "Certificate:")}\n${formatData("yaml", details).replace(/^/gm, "  ").trimEnd()}\n`,
  );
  return [...texts, ...faults.map((fault) => styledText("yellow", `The certificate ${fault}\n`))].join("");
}

function conditionsText({ conditions }: Extract<EntityOrigin, { readonly in: "resource" }>): string {
  const rows = conditions.map(({ type, status, reason, message }) => [type, status, reason, message]);
  return `${styledText("bold", "Conditions:")}\n${formatTable([["TYPE", "STATUS", "REASON", "MESSAGE"], ...rows])}`;
}

const healthWords: Readonly<Record<string, string>> = {
  HEALTHY: "healthy",
  UNHEALTHY: "unhealthy",
  DNS_ERROR: "name not found",
  HEALTHCHECKS_OFF: "not checked",
};

function targetsText(targets: readonly DescribedTarget[], upstream: EntityMembers): string {
  if (targets.length === 0) return "There are no targets.\n";
  const rows = targets.map(({ target, weight, health, refusal, failure }) => [
    target,
    String(weight),
    healthWords[health] ?? "unknown",
    refusal === null ? (failure ?? "") : `refused: ${refusal}`,
  ]);
  const text = `${styledText("bold", "Targets:")}\n${formatTable([["TARGET", "WEIGHT", "HEALTH", ""], ...rows])}`;
  const fails = targets.some(({ failure }) => failure !== null);
  return fails && !countsFailures(upstream) ? `${text}${PASSIVE_OFF}\n` : text;
}

const PASSIVE_OFF =
  "Passive health checks are off (healthchecks.passive.unhealthy.http_failures is 0), so such responses do not make a " +
  "target unhealthy.";

/** Whether passive health checks count responses with a server error. */
function countsFailures({ healthchecks }: EntityMembers): boolean {
  const { passive } = Object(healthchecks) as {
    readonly passive?: { readonly unhealthy?: { readonly http_failures?: number } };
  };
  return (passive?.unhealthy?.http_failures ?? 0) > 0;
}

interface AppliedPlugin {
  readonly id: string;
  readonly name: string;
  readonly scope: string;
  readonly state: "applies" | "disabled" | "overridden";
}

/**
 * The plugins whose scope includes the entity: for a route, its own, those of its service and global plugins; for a
 * service or consumer, its own and global plugins.
 */
async function appliedPlugins(
  admin: AdminConnection,
  collection: Collection,
  entity: EntityMembers,
): Promise<readonly AppliedPlugin[]> {
  const own: Readonly<Record<string, string | undefined>> = {
    route: collection === "routes" ? entity.id : undefined,
    service: collection === "services" ? entity.id : referenceIdOf(entity, "service"),
    consumer: collection === "consumers" ? entity.id : undefined,
  };
  if (!["routes", "services", "consumers"].includes(collection)) return [];
  const scopes = ["route", "service", "consumer", "consumer_group"];
  const all = await readEntities(admin, "plugins");
  const applied = all.filter((plugin) => {
    const set = scopes.filter((scope) => referenceIdOf(plugin, scope) !== undefined);
    // Whether the plugins of consumers and groups apply to a route or service depends on the request.
    return set.every((scope) => own[scope] === referenceIdOf(plugin, scope));
  });
  const references = await referencesOf(admin, "plugins", applied);
  return applied.map((plugin, index) => ({
    id: plugin.id,
    name: String(plugin.name),
    scope: references[index]?.join(", ") || "all requests",
    state: plugin.enabled === false ? "disabled" : isOverridden(plugin, applied) ? "overridden" : "applies",
  }));
}

/** Whether an enabled plugin of the same name has a more specific scope: Kong prefers the route to the service. */
function isOverridden(plugin: EntityMembers, others: readonly EntityMembers[]): boolean {
  const specificity = (one: EntityMembers) =>
    ["consumer", "route", "service"].reduce(
      (sum, scope, at) => sum + (referenceIdOf(one, scope) === undefined ? 0 : 4 >> at),
      0,
    );
  return others.some(
    (other) => other.name === plugin.name && other.enabled !== false && specificity(other) > specificity(plugin),
  );
}
