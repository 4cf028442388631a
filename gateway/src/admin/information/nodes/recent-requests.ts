/**
 * `GET /requests`: which requests were refused, failed or slow. `GET /access-log`: the requests since the last call.
 * `POST /debug-tokens`: tokens with which a client learns how long the steps of its request took.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import {
  type DebugTokenGrant,
  nodePaths,
  type RecentRequests,
  readDebugTokenRequest,
  readRecentRequestFilter,
  readRequestWatch,
  type WatchedRequests,
} from "@sluice/model";
import { newestFirst } from "../../../proxy/observability/recent-requests.ts";
import type { AdminContext } from "../../context.ts";
import { jsonBodyOf } from "../../entities/plugin-endpoints.ts";
import type { AdminRoute } from "../../entities/routes.ts";
import { HttpError, invalidEntity } from "../../http/errors.ts";
import { askEveryNode } from "./ask-every-node.ts";

const TOKEN_BYTES = 24;
const TOO_MANY = "too many callers watch requests";

export const recentRequestRoutes = (facts: Pick<AdminContext, "fleet">): readonly AdminRoute[] => [
  {
    url: "/requests",
    handlers: {
      async GET({ query }) {
        const { value: filter, violations } = readRecentRequestFilter(Object.fromEntries(query));
        if (violations) throw invalidEntity(violations);
        const { answered, unanswered } = await askEveryNode<RecentRequests>(facts, nodePaths.recentRequests, filter);
        const data = answered
          .flatMap(({ node, body }) => body.requests.map((request) => ({ node, ...request })))
          .sort(newestFirst)
          .slice(0, filter.size);
        return { status: 200, body: { data, unanswered } };
      },
    },
  },
  {
    url: "/access-log",
    handlers: {
      async GET({ query }) {
        const given = { watch: randomUUID(), ...Object.fromEntries(query) };
        const { value: watch, violations } = readRequestWatch(given);
        if (violations) throw invalidEntity(violations);
        const { answered, unanswered } = await askEveryNode<WatchedRequests>(facts, nodePaths.watchedRequests, watch);
        const full = answered.flatMap(({ node, body }) => (body.is_full ? [{ node, reason: TOO_MANY }] : []));
        if (full.length === answered.length)
          throw new HttpError(503, { message: `${TOO_MANY}: try again in ten seconds` });
        const data = answered
          .flatMap(({ node, body }) => body.requests.map((request) => ({ node, ...request })))
          .sort((one, other) => newestFirst(other, one));
        const missed = answered.reduce((sum, { body }) => sum + body.missed, 0);
        return { status: 200, body: { watch: watch.watch, data, missed, unanswered: [...unanswered, ...full] } };
      },
    },
  },
  {
    url: "/debug-tokens",
    handlers: {
      async POST(received) {
        const { value, violations } = readDebugTokenRequest(jsonBodyOf(received));
        if (violations) throw invalidEntity(violations);
        const token = randomBytes(TOKEN_BYTES).toString("base64url");
        const grant: DebugTokenGrant = {
          hash: createHash("sha256").update(token).digest("hex"),
          lifetime: value.lifetime * 1000,
        };
        const expires = Math.floor(Date.now() / 1000) + value.lifetime;
        const { answered, unanswered } = await askEveryNode(facts, nodePaths.debugTokens, grant);
        const nodes = answered.map(({ node }) => node);
        return { status: 201, body: { header: "X-Sluice-Debug", token, expires_at: expires, nodes, unanswered } };
      },
    },
  },
];
