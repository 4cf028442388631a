/** The URLs under /schemas. */
import {
  type Collection,
  checkEntity,
  collections,
  deriveId,
  entities,
  pluginNames,
  references,
  suggestionFor,
} from "@sluice/model";
import type { Store } from "../../stores/store.ts";
import { type AdminRoute, operations } from "../entities/routes.ts";
import { timestampFor } from "../entities/write-operations.ts";
import { decodeBody, type RawMembers } from "../http/decode-body.ts";
import { HttpError, invalidEntity } from "../http/errors.ts";
import type { AdminRequest, AdminResponse } from "../requests.ts";
import { entitySchema, kongCredentialSchema, kongPluginSchema, kongVaultSchema } from "./index.ts";

/** @param store Determines which values a POST would reject: some are only valid with a database. */
export const schemaRoutes = (store: Pick<Store, "database">): readonly AdminRoute[] => [
  {
    url: "/schemas/:name",
    handlers: { GET: async ({ params }) => ({ status: 200, body: entitySchema(collectionNamed(params.name)) }) },
  },
  { url: "/schemas/plugins/:name", handlers: { GET: async ({ params }) => showPlugin(params.name ?? "") } },
  { url: "/schemas/plugins/validate", handlers: { POST: async (received) => validate("plugins", received, store) } },
  { url: "/schemas/vaults/:name", handlers: { GET: async ({ params }) => showVault(params.name ?? "") } },
  { url: "/schemas/vaults/validate", handlers: { POST: async (received) => validate("vaults", received, store) } },
  {
    url: "/schemas/plugin_credentials/:name",
    handlers: { GET: async ({ params }) => showCredential(params.name ?? "") },
  },
  {
    url: "/schemas/plugin_credentials/validate",
    handlers: { POST: async (received) => validate("plugin_credentials", received, store) },
  },
  {
    url: "/schemas/:name/validate",
    handlers: { POST: async (received) => validate(collectionNamed(received.params.name), received, store) },
  },
];

function collectionNamed(name = ""): Collection {
  const collection = collections.find((one) => one === name);
  if (!collection) throw new HttpError(404, { message: `No entity named '${name}'` });
  return collection;
}

function showPlugin(name: string): AdminResponse {
  const schema = kongPluginSchema(name);
  if (!schema) throw new HttpError(404, { message: `No plugin named '${name}'${suggestionFor(name, pluginNames())}` });
  return { status: 200, body: schema };
}

function showVault(kind: string): AdminResponse {
  const schema = kongVaultSchema(kind);
  if (!schema) throw new HttpError(404, { message: `No vault named '${kind}'` });
  return { status: 200, body: schema };
}

function showCredential(plugin: string): AdminResponse {
  const schema = kongCredentialSchema(plugin);
  if (!schema) throw new HttpError(404, { message: `No plugin named '${plugin}' declares credentials` });
  return { status: 200, body: schema };
}

/** Checks like a POST, but without reading the store: a reference by name is valid even if no entity has the name. */
async function validate(
  collection: Collection,
  { headers, bytes }: AdminRequest,
  { database = false }: Pick<Store, "database">,
): Promise<AdminResponse> {
  const body = decodeBody({ contentType: headers["content-type"], bytes }, collection);
  const { snis, ...rest } = await operations[collection].prepare(body, { before: null, isPartial: false });
  const given = collection === "certificates" ? rest : { ...rest, ...(snis !== undefined && { snis }) };
  const { violations } = checkEntity(collection, withIds(collection, given), {
    now: timestampFor(collection),
    database,
  });
  if (violations) throw invalidEntity(violations);
  return { status: 200, body: { message: "schema validation successful" } };
}

function withIds(collection: Collection, raw: RawMembers): RawMembers {
  const named = references[collection].flatMap(({ member, to }) => {
    const reference = Object(raw[member]) as RawMembers;
    const name = entities[to].unique.map((key) => reference[key]).find((value) => typeof value === "string");
    return reference.id === undefined && typeof name === "string"
      ? [[member, { id: deriveId(to, name) }] as const]
      : [];
  });
  return { ...raw, ...Object.fromEntries(named) };
}
