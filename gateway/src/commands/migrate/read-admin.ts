/** Reads all entities of a running Kong from its admin API, as a declarative document. Sends GET requests only. */
import { type Collection, collections, entities } from "@sluice/model";
import { CommandError } from "../command.ts";

export interface AdminApi {
  /** Base URL, such as http://127.0.0.1:8001. */
  readonly url: URL;
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Called with the path of each page before it is read. */
  readonly onPage?: (path: string) => void;
}

/**
 * Lists of Kong that Sluice may lack: the segment of each in URLs, and its name in files. A Kong without the list
 * answers 404.
 */
const others: Readonly<Record<string, string>> = {
  consumer_groups: "consumer_groups",
  "filter-chains": "filter_chains",
  keys: "keys",
  "key-sets": "key_sets",
  oauth2: "oauth2_credentials",
  partials: "partials",
};

/** Collections that an admin API shows only below their parents. */
const belowParents: ReadonlySet<string> = new Set(["targets", "consumer_group_consumers"]);

/** Milliseconds for one request. */
const TIMEOUT = 30_000;

type Members = Readonly<Record<string, unknown>>;

/** Resolves to the document. @throws CommandError if a request fails or a response is not a list of entities. */
export async function readAdminApi(api: AdminApi): Promise<Members> {
  const document: Record<string, unknown> = { _format_version: "3.0", _transform: false };
  for (const collection of collections) {
    if (!belowParents.has(collection)) document[collection] = await readList(api, segmentOf(collection));
  }
  // Lists of credentials are absent while their plugin is not enabled, but every Kong has services.
  if (document.services === undefined) throw new CommandError(`${api.url.href} is not the admin API of a Kong`);
  for (const [segment, name] of Object.entries(others)) {
    const items = Object.hasOwn(document, name) ? undefined : await readList(api, segment);
    if (items !== undefined && items.length > 0) document[name] = items;
  }
  const targets: Members[] = [];
  for (const { id } of listOf(document.upstreams)) targets.push(...(await readKnown(api, `upstreams/${id}/targets`)));
  document.targets = targets;
  const memberships: Members[] = [];
  for (const { id } of listOf(document.consumer_groups)) {
    const members = await readKnown(api, `consumer_groups/${id}/consumers`);
    memberships.push(...members.map((consumer) => ({ consumer: { id: consumer.id }, consumer_group: { id } })));
  }
  if (memberships.length > 0) document.consumer_group_consumers = memberships;
  // Leaves out members that Kong's paid editions add to every consumer.
  document.consumers = listOf(document.consumers).map(({ username_lower: _, type: _type, ...members }) => members);
  // Leaves out the names of SNIs, because `snis` has them as separate entities.
  document.certificates = listOf(document.certificates).map(({ snis: _, ...members }) => members);
  return document;
}

const listOf = (value: unknown): readonly Members[] => (Array.isArray(value) ? value : []);

const segmentOf = (collection: Collection): string => entities[collection].credential?.segments.top ?? collection;

/** A list that must exist: without a group's consumers or an upstream's targets, the document would be incomplete. */
async function readKnown(api: AdminApi, path: string): Promise<Members[]> {
  const items = await readList(api, path);
  if (items === undefined) throw new CommandError(`GET ${api.url.href}${path} failed: status 404 without a list`);
  return items;
}

/** The items of all pages of a list, without unset members; undefined if the admin API does not have the list. */
async function readList(api: AdminApi, path: string): Promise<Members[] | undefined> {
  const items: Members[] = [];
  const read = new Set<string>();
  const base = api.url.href.endsWith("/") ? api.url : new URL(`${api.url.href}/`);
  for (let next: string | null = `${path}?size=1000`; next !== null; ) {
    const url = new URL(next.replace(/^\/+/, ""), base);
    if (url.origin !== base.origin) throw new CommandError(`GET ${base.href}${path} has a next page on another server`);
    if (read.has(url.href)) throw new CommandError(`GET ${base.href}${path} repeats a page`);
    read.add(url.href);
    api.onPage?.(url.pathname);
    const page = await readPage(url, api);
    if (page === undefined && read.size === 1) return undefined;
    if (page === undefined) throw new CommandError(`GET ${base.href}${path} failed: status 404 without a list`);
    items.push(...page.items);
    next = page.next;
  }
  return items;
}

async function readPage(url: URL, { headers }: AdminApi) {
  const failed = (reason: string) => new CommandError(`GET ${url.origin}${url.pathname} failed: ${reason}`);
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(url, { headers, redirect: "error", signal: AbortSignal.timeout(TIMEOUT) });
    body = await response.json();
  } catch (error) {
    const { message, cause } = error as Error;
    throw failed(cause instanceof Error ? cause.message : message);
  }
  if (response.status === 404) return undefined;
  // In Kong's paid editions, the list of a group's consumers is the member `consumers` instead of `data`.
  const { consumers, data = consumers, next } = Object(body) as Readonly<Record<string, unknown>>;
  const items = isEmptyRecord(data) ? [] : data;
  if (response.status !== 200 || !Array.isArray(items)) {
    const advice = [401, 403].includes(response.status) ? ": give the admin API's credentials with --header" : "";
    throw failed(`status ${response.status} without a list${advice}`);
  }
  return { items: items.map((item) => withoutNull(item) as Members), next: typeof next === "string" ? next : null };
}

/** Lua does not distinguish an empty list from an empty record. */
const isEmptyRecord = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

/** Kong shows every unset member as null, including members that Sluice does not have. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNull(member)]));
}
