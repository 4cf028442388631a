/** `GET /traffic`: rates, errors and latencies of the last ten seconds by route, service, consumer or operation. */
import {
  nodePaths,
  type OperationTraffic,
  readTrafficFilter,
  type Traffic,
  type TrafficCounts,
  type TrafficFilter,
} from "@sluice/model";
import { percentileOf } from "../../../proxy/observability/latency-histogram.ts";
import { mergeTraffic, sumByEntity } from "../../../proxy/observability/merge-traffic.ts";
import type { AdminContext } from "../../context.ts";
import type { AdminRoute } from "../../entities/routes.ts";
import { invalidEntity } from "../../http/errors.ts";
import { askEveryNode } from "./ask-every-node.ts";

export const trafficRoutes = (facts: Pick<AdminContext, "fleet">): readonly AdminRoute[] => [
  {
    url: "/traffic",
    handlers: {
      async GET({ query }) {
        const { value: filter, violations } = readTrafficFilter(Object.fromEntries(query));
        if (violations) throw invalidEntity(violations);
        const { answered, unanswered } = await askEveryNode<Traffic>(facts, nodePaths.traffic, null);
        const traffic = mergeTraffic(answered.map(({ body }) => body));
        const { seconds } = traffic;
        const data = countsBy(filter, traffic)
          .toSorted((one, other) => other.requests - one.requests)
          .slice(0, filter.size)
          .map((counts) => ({ ...counts.entity, ...operationOf(counts, seconds), ...ratesOf(counts, seconds) }));
        const nodes = answered.map(({ node, body }) => ({ node, ...ratesOf(body.total, seconds) }));
        return { status: 200, body: { seconds, total: ratesOf(traffic.total, seconds), data, nodes, unanswered } };
      },
    },
  },
];

function countsBy(
  { by }: TrafficFilter,
  { routes, consumers, operations = [] }: Traffic,
): readonly (TrafficCounts | OperationTraffic)[] {
  switch (by) {
    case "routes":
      return routes;
    case "consumers":
      return consumers;
    case "operations":
      return operations;
    case "services":
      return sumByEntity(routes.flatMap((counts) => (counts.service ? [{ ...counts, entity: counts.service }] : [])));
  }
}

const operationOf = (counts: TrafficCounts | OperationTraffic, seconds: number) =>
  "type" in counts
    ? { type: counts.type, hash: counts.hash ?? "", service: counts.service, failed: counts.failed / seconds }
    : {};

/** Rates are per second, latencies in milliseconds. */
const ratesOf = ({ requests, client_errors, server_errors, refused, latencies }: TrafficCounts, seconds: number) => ({
  requests: requests / seconds,
  client_errors: client_errors / seconds,
  server_errors: server_errors / seconds,
  refused: refused / seconds,
  latencies: {
    p50: percentileOf(latencies, 0.5),
    p95: percentileOf(latencies, 0.95),
    p99: percentileOf(latencies, 0.99),
  },
});
