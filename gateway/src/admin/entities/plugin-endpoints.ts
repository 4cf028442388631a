/**
 * Endpoints of plugin instances: `/plugins/{id}/…`, and Kong's URLs for the caches of proxy-cache.
 *
 * The state of an instance is on the nodes, and requests reach only the node in this process. If other nodes have state
 * of their own, a change is answered with 503 and their addresses.
 */
import { type Plugin, pluginNamed } from "@sluice/model";
import type { EndpointRequest, EndpointResponse } from "@sluice/plugin-sdk";
import { readCollection } from "../../stores/read-all.ts";
import type { AdminContext, PluginNode } from "../context.ts";
import { badRequest, HttpError, notFound } from "../http/errors.ts";
import type { AdminRequest, AdminResponse } from "../requests.ts";
import { lookupForSegment } from "./resolve-url.ts";
import type { AdminRoute, MethodHandlers } from "./routes.ts";

export interface PluginEndpointOptions extends Pick<AdminContext, "store" | "pluginNode"> {
  readonly fleet: Pick<AdminContext["fleet"], "nodes">;
}

type Ask = (received: AdminRequest) => Promise<AdminResponse>;

export function pluginEndpointRoutes(options: PluginEndpointOptions): readonly AdminRoute[] {
  const generic: Ask = (received) => askGeneric(options, received);
  const one: Ask = async ({ method, params }) => {
    requiredNode(options);
    return askOne(options, params.plugin_id ?? "", {
      method: methodOf(method),
      path: ["caches", params.cache_key ?? ""],
    });
  };
  const any: Ask = ({ method, params }) => askAny(options, method, params.cache_key ?? "");
  return [
    {
      url: "/plugins/:entity/*",
      handlers: { GET: generic, POST: generic, PUT: generic, PATCH: generic, DELETE: generic },
    },
    { url: "/proxy-cache", handlers: { DELETE: () => purgeAll(options) } },
    { url: "/proxy-cache/:cache_key", handlers: both(any) },
    { url: "/proxy-cache/:plugin_id/caches/:cache_key", handlers: both(one) },
  ];
}

const both = (ask: Ask): MethodHandlers => ({ GET: ask, DELETE: ask });

const methodOf = (method: string) => (method === "HEAD" ? "GET" : method) as EndpointRequest["method"];

const askGeneric = (options: PluginEndpointOptions, { method, params }: AdminRequest): Promise<AdminResponse> =>
  askOne(options, params.entity ?? "", { method: methodOf(method), path: (params["*"] ?? "").split("/") });

async function askOne(
  options: PluginEndpointOptions,
  segment: string,
  request: EndpointRequest,
): Promise<AdminResponse> {
  const { store } = options;
  const plugin = await store.find("plugins", await lookupForSegment(store, "plugins", segment));
  if (!plugin || pluginNamed(plugin.name)?.endpoints?.includes(request.path[0] ?? "") !== true) throw notFound();
  const node = requiredNode(options);
  return responseOf(options, [await node.ask(plugin.id, request)], request);
}

/** Kong asks the instances one after the other, and stops at the first that has the key. */
async function askAny(options: PluginEndpointOptions, method: string, key: string): Promise<AdminResponse> {
  const node = requiredNode(options);
  const request: EndpointRequest = { method: methodOf(method), path: ["caches", key] };
  for (const { id } of await cachesOf(options)) {
    const response = await node.ask(id, request);
    if (response !== null && response.status !== 404) return responseOf(options, [response], request);
  }
  throw notFound();
}

async function purgeAll(options: PluginEndpointOptions): Promise<AdminResponse> {
  const node = requiredNode(options);
  const request: EndpointRequest = { method: "DELETE", path: ["caches"] };
  const caches = await cachesOf(options);
  const responses = await Promise.all(caches.map(({ id }) => node.ask(id, request)));
  return caches.length === 0 ? { status: 204 } : responseOf(options, responses, request);
}

const cachesOf = async ({ store }: PluginEndpointOptions): Promise<readonly Plugin[]> =>
  (await readCollection(store, "plugins")).filter(({ name, enabled }) => name === "proxy-cache" && enabled);

function requiredNode({ pluginNode }: PluginEndpointOptions): PluginNode {
  if (pluginNode) return pluginNode;
  throw badRequest(
    "no node runs in this process, so it cannot reach the plugin, whose state is on the nodes: use the admin API of a " +
      "process that also runs a node (sluice start). A changed config starts the plugin with an empty cache on every node",
  );
}

/** The response with the highest status; 404 if no instance has such an endpoint. */
async function responseOf(
  options: PluginEndpointOptions,
  responses: readonly (EndpointResponse | null)[],
  request: EndpointRequest,
): Promise<AdminResponse> {
  const known = responses.filter((response) => response !== null);
  const response = known.toSorted((one, other) => other.status - one.status)[0];
  if (response === undefined) throw notFound();
  const { status, body } = response;
  if (status < 500 && request.method !== "GET" && !known.every(({ isShared }) => isShared === true)) {
    await refuseForOthers(options);
  }
  if (status === 404 && body === undefined) throw notFound();
  return { status, ...(body !== undefined && { body }) };
}

/** @throws HttpError 503 with the addresses of the nodes that have not done it. */
async function refuseForOthers({ fleet, pluginNode }: PluginEndpointOptions): Promise<void> {
  const own = pluginNode?.id();
  const others = (await fleet.nodes()).filter(({ node }) => node !== own).map(({ address }) => address);
  if (others.length === 0) return;
  throw new HttpError(503, {
    message: `done on this node only; these nodes have state of their own, which is unchanged: ${others.join(", ")}`,
  });
}
