/** `sluice get` and `sluice describe`: entities as the admin API has them. */
import { type Collection, entitySecrets } from "@sluice/model";
import { clientSettings } from "../../settings/client.ts";
import type { EntityOrigin } from "../../stores/store.ts";
import { defineCommand } from "../command.ts";
import { formatData, formatTable, styled } from "../output.ts";
import { type AdminConnection, withAdmin } from "./admin-connection.ts";
import {
  type EntityMembers,
  entityLabel,
  readEntities,
  readEntity,
  referenceIdOf,
  referencesOf,
} from "./entity-tables.ts";
import { type CheckedTarget, readTargets } from "./target-health.ts";

export const getCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const { positionals, options } = call.given;
    const [collection, name] = positionals as [Collection, string?];
    const tag = typeof options.tag === "string" ? options.tag : undefined;
    const { output } = options;
    const text = await withAdmin(call, async (admin) => {
      const found =
        name === undefined ? await readEntities(admin, collection, tag) : [await readEntity(admin, collection, name)];
      if (output === "yaml" || output === "json") return formatData(output, name === undefined ? found : found[0]);
      return listText(admin, collection, { found, wide: output === "wide" });
    });
    call.print(text);
    return undefined;
  },
});

interface Listed {
  readonly found: readonly EntityMembers[];
  readonly wide: boolean;
}

async function listText(admin: AdminConnection, collection: Collection, { found, wide }: Listed): Promise<string> {
  const references = await referencesOf(admin, collection, found);
  const origins = wide ? await Promise.all(found.map(({ id }) => originOf(admin, collection, id))) : [];
  const header = ["NAME", "REFERENCES", "MATCHES OR TARGET", "TAGS", ...(wide ? ["ID", "WRITTEN IN"] : [])];
  const rows = found.map((entity, index) => [
    entityLabel(collection, entity),
    references[index]?.join(", ") || "-",
    summaryOf(entity),
    listed(entity.tags) || "-",
    ...(wide ? [entity.id, origins[index] ?? "-"] : []),
  ]);
  return formatTable([header, ...rows]);
}

const listed = (value: unknown): string => (Array.isArray(value) ? value.join(",") : "");

/** The members by which people recognize an entity. */
function summaryOf({ host, port, path, protocol, hosts, paths, methods }: EntityMembers): string {
  if (typeof host === "string") return `${protocol}://${host}:${port}${path ?? ""}`;
  return [listed(methods), listed(hosts), listed(paths)].filter((text) => text !== "").join(" ") || "-";
}

/** One line: the resource, the line of a file, or the database. */
async function originOf(admin: AdminConnection, collection: Collection, id: string): Promise<string> {
  return originText(await admin.read<EntityOrigin>(`/origins/${collection}/${id}`));
}

function originText(origin: EntityOrigin | null): string {
  if (!origin) return "unknown";
  if (origin.in === "database") return "the database";
  if (origin.in === "file") return origin.place;
  const { kind, namespace, name } = origin.resource;
  return `${kind} ${namespace}/${name}`;
}

export const describeCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const [collection, name = ""] = call.given.positionals as [Collection, string];
    const text = await withAdmin(call, async (admin) => {
      const entity = await readEntity(admin, collection, name);
      const [references = []] = await referencesOf(admin, collection, [entity]);
      const origin = await admin.read<EntityOrigin>(`/origins/${collection}/${entity.id}`);
      const plugins = await appliedPlugins(admin, collection, entity);
      return [
        `${styled("bold", `${collection}/${entityLabel(collection, entity)}`)}\n`,
        [
          `Id:          ${entity.id}\n`,
          `Written in:  ${originText(origin)}\n`,
          ...timesOf(entity),
          ...references.map((reference) => `Refers to:   ${reference}\n`),
        ].join(""),
        origin?.in === "resource" && conditionsText(origin),
        `${styled("bold", "Fields:")}\n${formatData("yaml", shownMembers(collection, entity)).replace(/^/gm, "  ").trimEnd()}\n`,
        collection === "upstreams" && targetsText(await readTargets(admin, entity.id)),
        plugins.length > 0 &&
          `${styled("bold", "Plugins that apply:")}\n${formatTable([["NAME", "SCOPE", "ENABLED"], ...plugins])}`,
      ]
        .filter(Boolean)
        .join("\n");
    });
    call.print(text);
    return undefined;
  },
});

/** Without members that are printed elsewhere or unset; secrets are redacted. */
const shownMembers = (collection: Collection, entity: EntityMembers): object =>
  Object.fromEntries(
    Object.entries(entity)
      .filter(([member, value]) => value !== null && !["id", "created_at", "updated_at"].includes(member))
      .map(([member, value]) => [member, entitySecrets[collection].includes(member) ? "[redacted]" : value]),
  );

function timesOf({ created_at: created, updated_at: updated }: EntityMembers): readonly string[] {
  const line = (title: string, seconds: unknown) =>
    typeof seconds === "number" && seconds > 0 ? [`${title}${new Date(seconds * 1000).toISOString()}\n`] : [];
  return [...line("Created:     ", created), ...line("Changed:     ", updated)];
}

function conditionsText({ conditions }: Extract<EntityOrigin, { readonly in: "resource" }>): string {
  const rows = conditions.map(({ type, status, reason, message }) => [type, status, reason, message]);
  return `${styled("bold", "Conditions:")}\n${formatTable([["TYPE", "STATUS", "REASON", "MESSAGE"], ...rows])}`;
}

const healthWords: Readonly<Record<string, string>> = {
  HEALTHY: "healthy",
  UNHEALTHY: "unhealthy",
  DNS_ERROR: "name not found",
  HEALTHCHECKS_OFF: "not checked",
};

function targetsText(targets: readonly CheckedTarget[]): string {
  if (targets.length === 0) return "There are no targets.\n";
  const rows = targets.map(({ target, weight, health, refusal }) => [
    target,
    String(weight),
    healthWords[health] ?? "unknown",
    refusal === null ? "" : `refused: ${refusal}`,
  ]);
  return `${styled("bold", "Targets:")}\n${formatTable([["TARGET", "WEIGHT", "HEALTH", ""], ...rows])}`;
}

/** The plugins of a route, its service and all requests; or of a service or consumer and of all requests. */
async function appliedPlugins(
  admin: AdminConnection,
  collection: Collection,
  entity: EntityMembers,
): Promise<readonly (readonly string[])[]> {
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
  return applied.map((plugin, index) => [
    String(plugin.name),
    references[index]?.join(", ") || "all requests",
    String(plugin.enabled),
  ]);
}
