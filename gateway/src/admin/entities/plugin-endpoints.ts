/**
 * Endpoints of plugin instances: `/plugins/{id}/…`, and Kong's URLs for the caches of proxy-cache.
 *
 * The state of an instance is on the nodes, so the admin listener sends a request to every node. For a GET request, it
 * is enough that one node has the resource. A change must reach every node, unless the nodes share the state. Otherwise
 * the response is 503, and names the nodes that did not answer.
 */
import { type Plugin, pluginNamed } from "@sluice/model";
import type { EndpointRequest, EndpointResponse } from "@sluice/plugin-sdk";
import { readCollection } from "../../stores/read-all.ts";
import { mergeEndpointResponses } from "../../workers/endpoints/merge-endpoint-responses.ts";
import type { AdminContext } from "../context.ts";
import { decodeUtf8, mediaTypeOf } from "../http/decode-body.ts";
import { badRequest, HttpError, noNodeKnown, notFound, unparsable, unsupportedType } from "../http/errors.ts";
import { readJson } from "../http/read-json.ts";
import type { AdminRequest, AdminResponse } from "../requests.ts";
import { lookupForSegment } from "./resolve-url.ts";
import type { AdminRoute, MethodHandlers } from "./routes.ts";

export interface PluginEndpointOptions extends Pick<AdminContext, "store"> {
  readonly fleet: Pick<AdminContext["fleet"], "askPlugin">;
}

type Ask = (received: AdminRequest) => Promise<AdminResponse>;

export function pluginEndpointRoutes(options: PluginEndpointOptions): readonly AdminRoute[] {
  const generic: Ask = (received) =>
    askOne(options, received.params.entity ?? "", requestOf(received, (received.params["*"] ?? "").split("/")));
  const one: Ask = (received) => {
    const { plugin_id = "", cache_key = "" } = received.params;
    return askOne(options, plugin_id, requestOf(received, ["caches", cache_key]));
  };
  const any: Ask = (received) => askAny(options, requestOf(received, ["caches", received.params.cache_key ?? ""]));
  return [
    {
      url: "/plugins/:entity/*",
      handlers: { GET: generic, POST: generic, PUT: generic, PATCH: generic, DELETE: generic },
    },
    { url: "/proxy-cache", handlers: { DELETE: (received) => purgeAll(options, requestOf(received, ["caches"])) } },
    { url: "/proxy-cache/:cache_key", handlers: both(any) },
    { url: "/proxy-cache/:plugin_id/caches/:cache_key", handlers: both(one) },
  ];
}

const both = (ask: Ask): MethodHandlers => ({ GET: ask, DELETE: ask });

function requestOf(received: AdminRequest, path: readonly string[]): EndpointRequest {
  const { method, query } = received;
  const body = jsonBodyOf(received);
  const names = [...new Set(query.keys())];
  return {
    method: (method === "HEAD" ? "GET" : method) as EndpointRequest["method"],
    path,
    query: Object.fromEntries(names.map((name) => [name, oneOrAll(query.getAll(name))])),
    ...(body !== undefined && { body }),
  };
}

const oneOrAll = (values: readonly string[]): string | readonly string[] =>
  values.length === 1 ? (values[0] ?? "") : values;

const MAX_BODY = 64 * 1024;
const BODY_LIMITS = { depth: 64, values: 10_000 };

/** @throws HttpError when the body is not JSON, has more than 64 KiB, or exceeds BODY_LIMITS or repeats a member. */
export function jsonBodyOf({ headers, bytes = Buffer.alloc(0) }: AdminRequest): unknown {
  if (bytes.length === 0) return undefined;
  if (mediaTypeOf(headers["content-type"]) !== "application/json") throw unsupportedType();
  if (bytes.length > MAX_BODY) throw new HttpError(413, { message: `the body has more than ${MAX_BODY} bytes` });
  const read = readJson(decodeUtf8(bytes) ?? "", BODY_LIMITS);
  if (read.fault === undefined) return read.value;
  if (read.fault === "unparsable") throw unparsable();
  throw badRequest(
    `the body has a member twice, is nested deeper than ${BODY_LIMITS.depth} levels, or holds more than ${BODY_LIMITS.values} values`,
  );
}

async function askOne(options: PluginEndpointOptions, segment: string, request: EndpointRequest) {
  const { store } = options;
  const plugin = await store.find("plugins", await lookupForSegment(store, "plugins", segment));
  if (!plugin || pluginNamed(plugin.name)?.endpoints?.includes(request.path[0] ?? "") !== true) throw notFound();
  return answerOf(await askNodes(options, plugin.id, request));
}

/** As in Kong, asks the instances one after the other, until one has the key. @throws HttpError 404 if none has it. */
async function askAny(options: PluginEndpointOptions, request: EndpointRequest): Promise<AdminResponse> {
  for (const { id } of await cachesOf(options)) {
    const response = await askNodes(options, id, request);
    if (response !== null && response.status !== 404) return answerOf(response);
  }
  throw notFound();
}

async function purgeAll(options: PluginEndpointOptions, request: EndpointRequest): Promise<AdminResponse> {
  const caches = await cachesOf(options);
  const responses = await Promise.all(caches.map(({ id }) => askNodes(options, id, request)));
  if (caches.length === 0) return { status: 204 };
  return answerOf(mergeEndpointResponses(responses.filter((response) => response !== null)));
}

const cachesOf = async ({ store }: PluginEndpointOptions): Promise<readonly Plugin[]> =>
  (await readCollection(store, "plugins")).filter(({ name, enabled }) => name === "proxy-cache" && enabled);

/**
 * The response of the nodes; null: no node has such an endpoint.
 *
 * @throws HttpError 503 when no node is known, or when a node that may have the resource, or must make the change, did
 * not answer.
 */
async function askNodes({ fleet }: PluginEndpointOptions, id: string, request: EndpointRequest) {
  const { answered, unanswered } = await fleet.askPlugin({ plugin: id, request });
  const response = mergeEndpointResponses(answered.flatMap(({ response }) => response ?? []));
  if (response !== null && (response.status >= 500 || response.isShared)) return response;
  if (request.method === "GET" && response !== null && response.status < 400) return response;
  if (answered.length === 0 && unanswered.length === 0) throw noNodeKnown();
  if (unanswered.length === 0) return response;
  const what = request.method === "GET" ? "not found on the nodes that answered" : "done on the nodes that answered";
  const others = unanswered.map(({ node, reason }) => `${node} (${reason})`).join(", ");
  throw new HttpError(503, {
    message:
      `${answered.length === 0 ? "" : `${what}; `}these nodes did not answer, and no other node can answer for them, ` +
      `because each keeps its own state: ${others}`,
  });
}

/** @throws HttpError 404 when there is no such endpoint, or nothing at this path. */
function answerOf(response: EndpointResponse | null): AdminResponse {
  if (response === null) throw notFound();
  const { status, body } = response;
  if (status === 404 && body === undefined) throw notFound();
  return { status, ...(body !== undefined && { body }) };
}
