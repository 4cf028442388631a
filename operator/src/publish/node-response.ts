/** Validates the responses of a node: another program may have its address, or a proxy may answer for it. */
import {
  type FailedListener,
  isPeerReport,
  isPluginEndpointResult,
  type NodeReport,
  type PluginEndpointResult,
  type PushRefused,
  type Violation,
} from "@sluice/model";

/** A state has a few hundred bytes. A refusal has more, because it describes every violation of a document. */
const MAX_RESPONSE_BYTES = 1024 * 1024;
/** Larger than 8 MiB, to which a node limits the body of a plugin's response. */
export const MAX_ENDPOINT_RESPONSE_BYTES = 9 * 1024 * 1024;
/** Characters of a response that are quoted in errors. */
const MAX_QUOTED_CHARACTERS = 100;

type Members = Readonly<Record<string, unknown>>;

/** @throws Error when the response is not a JSON object, or is too long. */
export async function readNodeResponse(
  body: AsyncIterable<Buffer>,
  maxBytes: number = MAX_RESPONSE_BYTES,
): Promise<Members> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > maxBytes) throw new Error(`the response is not from a node: it has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString("utf8");
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  } catch {
    // A body that is not JSON is reported below.
  }
  throw new Error(`the response is not from a node: ${text.slice(0, MAX_QUOTED_CHARACTERS).replace(/\s+/g, " ")}`);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isFailedListener = (value: unknown): value is FailedListener => {
  const { name, port, reason } = Object(value) as Partial<FailedListener>;
  return isString(name) && isCount(port) && isString(reason);
};
const isString = (value: unknown): value is string => typeof value === "string";

/** @throws Error when the response is not the state of a node. */
export function parseNodeState(answer: Members): NodeReport {
  const { node, hash, revision, term, version, pluginSet, missingPlugins, failedListeners, statusPort, peer } = answer;
  const isState =
    isString(node) &&
    (hash === null || isString(hash)) &&
    isCount(revision) &&
    (term === undefined || isCount(term)) &&
    isString(version) &&
    (pluginSet === undefined || isString(pluginSet)) &&
    (missingPlugins === undefined || (Array.isArray(missingPlugins) && missingPlugins.every(isString))) &&
    (failedListeners === undefined || (Array.isArray(failedListeners) && failedListeners.every(isFailedListener))) &&
    (statusPort === undefined || (isCount(statusPort) && statusPort <= 65_535)) &&
    (peer === undefined || isPeerReport(peer));
  if (!isState)
    throw new Error(`the response is not from a node: ${JSON.stringify(answer).slice(0, MAX_QUOTED_CHARACTERS)}`);
  return {
    node,
    hash,
    revision,
    version,
    ...(term !== undefined && { term }),
    ...(pluginSet !== undefined && { pluginSet }),
    ...(missingPlugins !== undefined && { missingPlugins }),
    ...(failedListeners !== undefined && {
      failedListeners: failedListeners.map(({ name, port, reason }) => ({ name, port, reason })),
    }),
    ...(statusPort && { statusPort }),
    ...(peer !== undefined && { peer: { name: peer.name, port: peer.port, epoch: peer.epoch, state: peer.state } }),
  };
}

/** @throws Error when the response is not what a node answers to a call of a plugin's endpoint. */
export function parseEndpointResult(answer: Members): PluginEndpointResult {
  if (isPluginEndpointResult(answer)) return answer;
  throw new Error(`the response is not from a node: ${JSON.stringify(answer).slice(0, MAX_QUOTED_CHARACTERS)}`);
}

/** A message that is missing or invalid is replaced by a default. Invalid violations are left out. */
export function parsePushRefusal({ message, violations }: Members): PushRefused {
  const list: readonly unknown[] = Array.isArray(violations) ? violations : [];
  return { message: isString(message) ? message : "no reason is given", violations: list.filter(isViolation) };
}

function isViolation(value: unknown): value is Violation {
  const { path, message } = Object(value) as Partial<Violation>;
  return Array.isArray(path) && isString(message);
}
