/**
 * Requests to endpoints of plugins, from the admin API to the nodes, whose plugin instances answer the requests.
 *
 * | request | body | response |
 * |---|---|---|
 * | POST /plugins of the operator's listener, from the admin API | PluginEndpointCall | 200 PluginEndpointResults |
 * | POST /plugins of a node's push listener, from the operator | PluginEndpointCall | 200 PluginEndpointResult |
 *
 * Without an operator, calls and results pass through the database.
 */
import type { EndpointRequest, EndpointResponse } from "@sluice/plugin-sdk";

/** Stands for the node itself in a call. No Plugin has this id, because ids are UUIDs. */
export const NODE_ENDPOINT_ID = "node";

/**
 * The paths of calls to the node. One worker of each node explains a request, because all workers serve the same
 * configuration. The other calls reach every worker. The admin API sends all of them with POST, because a GET would end
 * with the first node that answers.
 */
export const nodePaths = {
  explain: "explain",
  recentRequests: "requests",
  lastUses: "last-uses",
  traffic: "traffic",
  watchedRequests: "watched-requests",
  debugTokens: "debug-tokens",
} as const;

/**
 * The path of a call to the node that reports its log level. If the body is a LogLevelChange, the node changes the
 * level first. The response is LogLevelReport.
 */
export const LOG_LEVEL_PATH = "log-level";

export interface LogLevelReport {
  readonly level: string;
}

export interface PluginEndpointCall {
  /** Id of the Plugin, or NODE. */
  readonly plugin: string;
  readonly request: EndpointRequest;
}

/** The result of one node. Null response: there is no such plugin instance, or it has no such endpoint. */
export interface PluginEndpointResult {
  readonly response: EndpointResponse | null;
}

/** The results of all nodes; for GET, of the nodes up to the first that answers with a status below 400. */
export interface PluginEndpointResults {
  readonly answered: readonly (PluginEndpointResult & { readonly node: string })[];
  /** Addresses of the nodes from which there is no response, and why. */
  readonly unanswered: readonly { readonly node: string; readonly reason: string }[];
}

/** Milliseconds within which a node answers; longer than its workers wait for a plugin. */
export const NODE_ENDPOINT_TIMEOUT = 6000;

const METHODS: readonly unknown[] = ["GET", "POST", "PUT", "PATCH", "DELETE"] satisfies EndpointRequest["method"][];

/** Whether a node's response answers a GET request, so that the request is not sent to further nodes. */
export const isEndpointFound = ({ method }: EndpointRequest, response: EndpointResponse | null): boolean =>
  method === "GET" && response !== null && response.status < 400;

export function isPluginEndpointCall(value: unknown): value is PluginEndpointCall {
  if (!isObject(value) || !isObject(value.request)) return false;
  const { method, path, query } = value.request;
  return typeof value.plugin === "string" && METHODS.includes(method) && isTexts(path) && isObject(query);
}

export function isPluginEndpointResult(value: unknown): value is PluginEndpointResult {
  if (!isObject(value)) return false;
  const { response } = value;
  return response === null || (isObject(response) && isStatus(response.status));
}

export function isPluginEndpointResults(value: unknown): value is PluginEndpointResults {
  if (!isObject(value)) return false;
  const { answered, unanswered } = value;
  return (
    Array.isArray(answered) &&
    answered.every((each) => isPluginEndpointResult(each) && isTexts([Object(each).node])) &&
    Array.isArray(unanswered) &&
    unanswered.every((each) => isTexts([Object(each).node, Object(each).reason]))
  );
}

/** Whether HTTP allows the status for a final response (RFC 9110 section 15). */
const isStatus = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599;

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((each) => typeof each === "string");

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
