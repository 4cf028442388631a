/**
 * The worked examples of the plugins' pages, and each example's configuration in the three forms in which users write
 * it: custom resources, commands for the admin API, and a file for decK. A test configures a gateway with each of them.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type CredentialCollection, credentialCollections, entities, loadText } from "@sluice/model";
import { parse, stringify } from "yaml";
import { toResources } from "../../gateway/src/commands/config/to-resources.ts";
import { entitiesOf } from "../../gateway/src/stores/read-all.ts";

/** One example of gateway/plugins/<name>/examples.yaml. */
export interface PluginExample {
  readonly title: string;
  /** What the example does, and when to use it. Markdown. */
  readonly text: string;
  /**
   * Members of a declarative file. `http://<name>.example` is an upstream, https://identity.example an OpenID provider,
   * ldap.example with port 389 an LDAP server.
   */
  readonly config: Readonly<Record<string, unknown>>;
  /** The response of every upstream. Default: status 200 and no headers or body of interest. */
  readonly upstream?: { readonly status?: number; readonly headers?: Headers; readonly body?: string };
  /** In the order in which the page shows them. */
  readonly requests: readonly ExampleRequest[];
}

type Headers = Readonly<Record<string, string>>;

/** A request to the gateway, with what the page shows of the response. */
export interface ExampleRequest {
  /** A sentence that the page shows before the request. */
  readonly text?: string;
  /** The arguments of curl; the gateway is http://localhost:8000. */
  readonly curl: string;
  readonly status: number;
  /**
   * Some of the response's headers; null: the response does not have the header. A value may end with `...`, for any
   * text.
   */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: string;
  /** Some of the headers that the upstream receives; null: it does not receive the header. */
  readonly received?: Readonly<Record<string, string | null>>;
  /** The method and target that the upstream receives, such as `GET /orders?limit=10`; null: it receives nothing. */
  readonly forwarded?: string | null;
}

const plugins = resolve(import.meta.dirname, "../../gateway/plugins");

/** The examples of a plugin; none if it has no file of examples. */
export function examplesOf(plugin: string): readonly PluginExample[] {
  const file = join(plugins, plugin, "examples.yaml");
  return existsSync(file) ? parse(readFileSync(file, "utf8")) : [];
}

const yaml = (value: unknown): string => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });

/** A file for `deck gateway sync`. */
export const deckFile = ({ config }: PluginExample): string => yaml({ _format_version: "3.0", ...config });

/** Resources for `kubectl apply`. */
export function customResources(example: PluginExample): string {
  const { value, violations = [] } = loadText(deckFile(example), { file: example.title });
  if (!value) throw new Error(`the example "${example.title}": ${JSON.stringify(violations)}`);
  const { resources, faults } = toResources(entitiesOf(value.document), { namespace: "default", class: undefined });
  if (faults.length > 0) throw new Error(`the example "${example.title}": ${JSON.stringify(faults)}`);
  const names = shortNames(resources);
  return resources.map((resource) => yaml(handwritten(resource, names))).join("---\n");
}

type Resource = ReturnType<typeof toResources>["resources"][number];

/**
 * The short name of each resource, by its full name. If several resources of a kind would have the same short name, all
 * but the first get a number after it.
 */
function shortNames(resources: readonly Resource[]): ReadonlyMap<string, string> {
  const consumers = consumersBySecret(resources);
  const uses = new Map<string, number>();
  const names = resources.map((resource) => {
    const name = shortName(resource, consumers);
    const use = (uses.get(`${resource.kind} ${name}`) ?? 0) + 1;
    uses.set(`${resource.kind} ${name}`, use);
    return [resource.metadata.name, use === 1 ? name : `${name}-${use}`] as const;
  });
  return new Map(names);
}

/** The consumer of each Secret with a credential, by the Secret's name. */
function consumersBySecret(resources: readonly Resource[]): ReadonlyMap<string, Resource> {
  const consumers = resources.filter(({ kind }) => kind === "Consumer");
  const references = (consumer: Resource) =>
    Object.values(Object(consumer.spec))
      .flat()
      .flatMap((credential): readonly string[] => Object(credential)?.secretRef?.name ?? []);
  return new Map(consumers.flatMap((consumer) => references(consumer).map((secret) => [secret, consumer])));
}

/** A name without the hash that keeps converted names apart. A credential's Secret is named after its consumer. */
function shortName({ kind, metadata: { name } }: Resource, consumers: ReadonlyMap<string, Resource>): string {
  if (kind !== "Secret") return name.replace(/-[0-9a-f]{10}$/, "");
  const [collection = ""] = name.split(/-[0-9a-f]{8}-/);
  const consumer = consumers.get(name);
  return consumer === undefined ? collection : `${collection}-${shortName(consumer, consumers)}`;
}

/** The resource as people would write it: with short names, without ids, and with its secrets in clear text. */
function handwritten(resource: Resource, names: ReadonlyMap<string, string>): unknown {
  const { data, metadata, ...rest } = resource;
  const { namespace: _, ...kept } = metadata;
  const stringData =
    data &&
    Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(String(value), "base64").toString()]),
    );
  // The config of a plugin refers to a CA certificate by its id.
  const isNamedById = resource.kind === "CACertificate";
  const all = { ...rest, metadata: kept, ...(stringData && { stringData }) };
  const shorten = (value: unknown): unknown => {
    if (typeof value === "string") return names.get(value) ?? value;
    if (Array.isArray(value)) return value.map(shorten);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, member]) =>
        (key === "id" && !isNamedById) || (key === "tags" && (member as readonly unknown[]).length === 0)
          ? []
          : [[key, shorten(member)]],
      ),
    );
  };
  const { apiVersion, kind, metadata: named, ...others } = all;
  return shorten({ apiVersion, kind, metadata: named, ...others });
}

type Item = Readonly<Record<string, unknown>>;

/** Commands for the admin API. Each sends a form, or JSON if a form cannot express the entity. */
export const adminCommands = ({ config }: PluginExample): readonly string[] => commandsBelow("", config);

/**
 * Commands that create the entities in the lists. decK's list `groups` of a consumer becomes one command for each
 * group; the group itself must be in the file before the consumer.
 *
 * @param within The path of the parent, such as `/services/orders`; "" for the file itself.
 */
function commandsBelow(within: string, lists: Item): readonly string[] {
  return Object.entries(lists)
    .filter(([name, list]) => Array.isArray(list) && Object.hasOwn(entities, name))
    .flatMap(([collection, list]) =>
      (list as readonly Item[]).flatMap(({ groups = [], ...item }) => {
        const isList = ([name, value]: [string, unknown]) =>
          Object.hasOwn(entities, name) && Array.isArray(value) && value.some((one) => typeof one === "object");
        const own = Object.fromEntries(Object.entries(item).filter((entry) => !isList(entry)));
        const children = Object.fromEntries(Object.entries(item).filter(isList));
        const name = item.name ?? item.username;
        return [
          commandOf(`${within}/${segmentOf(collection)}`, own),
          ...commandsBelow(`/${collection}/${name}`, children),
          ...(groups as readonly Item[]).map((group) =>
            commandOf(`/${collection}/${name}/consumer_groups`, { group: group.name }),
          ),
        ];
      }),
    );
}

const segmentOf = (collection: string): string =>
  credentialCollections.includes(collection as CredentialCollection)
    ? (entities[collection as CredentialCollection].credential?.segments.nested ?? collection)
    : collection;

function commandOf(path: string, item: Item): string {
  const url = `http://localhost:8001${path}`;
  const pairs = formOf(item, "");
  if (pairs === undefined) return `curl ${url} --json ${quoted(JSON.stringify(item, null, 2))}`;
  return [`curl ${url}`, ...pairs].join(pairs.length > 2 ? " \\\n  " : " ");
}

/** The options of curl for a form; undefined if a form cannot express the value. */
function formOf(value: unknown, name: string): readonly string[] | undefined {
  if (Array.isArray(value)) {
    if (value.length === 0 || value.some((one) => typeof one === "object")) return undefined;
    return value.flatMap((one) => formOf(one, `${name}[]`) ?? []);
  }
  if (value === null) return undefined;
  if (typeof value === "object") {
    const members = Object.entries(value).map(([key, one]) =>
      /[.[\]]/.test(key) ? undefined : formOf(one, name === "" ? key : `${name}.${key}`),
    );
    return members.length === 0 || members.includes(undefined) ? undefined : members.flatMap((one) => one ?? []);
  }
  const text = `${name}=${value}`;
  return [`${/[&+%;\n]|^@/.test(String(value)) ? "--data-urlencode" : "-d"} ${quoted(text)}`];
}

/** The text as one word of a shell command, in quotes if it needs them. */
const quoted = (text: string): string => (/^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
