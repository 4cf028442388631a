/**
 * Kong's endpoints for the log level. In the URL, `node` means this process, including a node that runs in it;
 * `cluster` means this process and every node. After `timeout` seconds, the level of the settings applies again.
 */
import {
  LOG_LEVEL_PATH,
  type LogLevelChange,
  type LogLevelReport,
  logLevels,
  MAX_LOG_LEVEL_SECONDS,
  NODE_ENDPOINT_ID,
  readLogLevelChange,
} from "@sluice/model";
import type { AdminContext } from "../context.ts";
import type { AdminRoute } from "../entities/routes.ts";
import { badRequest, HttpError } from "../http/errors.ts";
import type { AdminRequest, AdminResponse } from "../requests.ts";

/** As in Kong. */
const DEFAULT_SECONDS = "60";

type Parts = Pick<AdminContext, "fleet" | "logLevel">;

export const logLevelRoutes = ({ fleet, logLevel }: Parts): readonly AdminRoute[] => [
  {
    url: "/debug/node/log-level",
    handlers: { GET: async () => ({ status: 200, body: { message: `log level: ${logLevel.level}` } }) },
  },
  {
    url: "/debug/node/log-level/:level",
    handlers: {
      async PUT(received) {
        const change = changeOf(received);
        if (logLevel.level === change.level && !logLevel.isChanged)
          return { status: 200, body: { message: `log level is already ${change.level}` } };
        logLevel.change(change);
        return changed;
      },
    },
  },
  {
    url: "/debug/cluster/log-level",
    handlers: { GET: async () => ({ status: 200, body: { nodes: await levelsOfNodes(fleet) } }) },
  },
  {
    url: "/debug/cluster/log-level/:level",
    handlers: {
      async PUT(received) {
        const change = changeOf(received);
        await levelsOfNodes(fleet, change);
        logLevel.change(change);
        return changed;
      },
    },
  },
];

const changed: AdminResponse = { status: 200, body: { message: "log level changed" } };

/** @throws HttpError 400. */
function changeOf({ params, query }: AdminRequest): LogLevelChange {
  const { level = "" } = params;
  if (!logLevels.some((known) => known === level))
    throw badRequest(`unknown log level: ${level} (use ${logLevels.join(", ")})`);
  const change = readLogLevelChange({ level, seconds: Number(query.get("timeout") ?? DEFAULT_SECONDS) });
  if (change === null) throw badRequest(`timeout must be a whole number of seconds from 0 to ${MAX_LOG_LEVEL_SECONDS}`);
  return change;
}

/**
 * The level of each node, by its address, after this change.
 *
 * @throws HttpError 503 if a node does not answer, or cannot change its level.
 */
async function levelsOfNodes(fleet: Parts["fleet"], change?: LogLevelChange): Promise<Record<string, string>> {
  // Not as GET, which ends with the first node that answers.
  const request = { method: "PUT", path: [LOG_LEVEL_PATH], query: {}, ...(change && { body: change }) } as const;
  const { answered, unanswered } = await fleet.askPlugin({ plugin: NODE_ENDPOINT_ID, request });
  const missing = [
    ...unanswered.map(({ node, reason }) => `${node} (${reason})`),
    ...answered
      .filter(({ response }) => response?.status !== 200)
      .map(({ node }) => `${node} (its version does not support this)`),
  ];
  const done = change === undefined ? "" : "the level was changed on the other nodes; ";
  if (missing.length > 0)
    throw new HttpError(503, { message: `${done}these nodes did not answer: ${missing.join(", ")}` });
  return Object.fromEntries(
    answered.map(({ node, response }) => [node, (response?.body as LogLevelReport | undefined)?.level ?? ""]),
  );
}
