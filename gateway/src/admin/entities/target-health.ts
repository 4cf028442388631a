/** The health of an upstream's targets, as seen by the nodes. */
import type { Entity, Target, Upstream } from "@sluice/model";
import type { AdminContext } from "../context.ts";
import { badRequest, notFound } from "../http/errors.ts";
import { pageOf, writeOffset } from "../http/paging.ts";
import type { AdminRequest, AdminResponse, EntityReader } from "../requests.ts";
import { isId, lookupForSegment } from "./resolve-url.ts";
import type { AdminRoute, MethodHandlers } from "./routes.ts";

export interface TargetHealthOptions extends Pick<AdminContext, "store" | "node" | "setHealth"> {
  readonly fleet: Pick<AdminContext["fleet"], "nodes">;
}

const PARAMS = "/upstreams/:entity/targets/:child";

export function healthRoutes(options: TargetHealthOptions): readonly AdminRoute[] {
  const put = (healthy: boolean): MethodHandlers => ({ PUT: (received) => setTarget(options, received, healthy) });
  const all = { GET: (received: AdminRequest) => listTargets(options, received) };
  return [
    { url: "/upstreams/:entity/health", handlers: { GET: (received) => answerHealth(options, received) } },
    { url: "/upstreams/:entity/targets/all", handlers: all },
    { url: `${PARAMS}/healthy`, handlers: put(true) },
    { url: `${PARAMS}/unhealthy`, handlers: put(false) },
    { url: `${PARAMS}/:address/healthy`, handlers: put(true) },
    { url: `${PARAMS}/:address/unhealthy`, handlers: put(false) },
  ];
}

/** The same list as `/upstreams/:entity/targets`, which includes targets of weight 0. */
async function listTargets({ store }: TargetHealthOptions, received: AdminRequest): Promise<AdminResponse> {
  const { targets, next } = await targetsOf(store, received);
  return { status: 200, body: { data: targets, ...next } };
}

async function upstreamOf(store: EntityReader, segment = ""): Promise<Upstream> {
  const found = await store.find("upstreams", await lookupForSegment(store, "upstreams", segment));
  if (!found) throw notFound();
  return found;
}

async function targetsOf(store: EntityReader, { params, query, path }: AdminRequest) {
  const upstream = await upstreamOf(store, params.entity);
  const where = { member: "upstream", id: upstream.id };
  const { entities: targets, more } = await store.list("targets", { ...pageOf(query), where });
  const last: Entity | undefined = targets.at(-1);
  if (!more || !last) return { upstream, targets, next: { next: null } };
  const offset = writeOffset(last.id);
  return { upstream, targets, next: { next: `${path}?offset=${encodeURIComponent(offset)}`, offset } };
}

/** One target in a node's response to `GET /upstreams/health`. */
interface TargetHealth {
  readonly health: string;
  readonly weight: number;
  readonly addresses: readonly object[];
}

type NodeHealth = Readonly<Record<string, Readonly<Record<string, TargetHealth>>>>;

/** A target has the worst state that any node reports, so that a problem of a single node is visible. */
const WORST_FIRST = ["DNS_ERROR", "UNHEALTHY", "HEALTHY", "HEALTHCHECKS_OFF"];

async function answerHealth(
  { store, fleet, node }: TargetHealthOptions,
  received: AdminRequest,
): Promise<AdminResponse> {
  const { upstream, targets, next } = await targetsOf(store, received);
  const reports = await askNodes(await fleet.nodes());
  const of = ({ id }: ListedTarget) => reports.flatMap((body) => body[upstream.id]?.[id] ?? []);
  // Endpoints are on the last page, after the targets.
  const listed: readonly ListedTarget[] =
    next.next === null ? [...targets, ...endpointsOf(upstream, reports)] : targets;
  if (received.query.get("balancer_health") === "1") {
    const each = listed.map((target) => worstOf(of(target)));
    const health = ["HEALTHY", "UNHEALTHY", "DNS_ERROR"].find((word) => each.includes(word)) ?? "HEALTHCHECKS_OFF";
    return { status: 200, body: { data: { id: upstream.id, health }, next: null, node_id: node } };
  }
  const data = listed.map((target) => {
    const [first] = of(target);
    // Without a report of any node, the health is left out.
    return first ? { ...target, health: worstOf(of(target)), data: { addresses: first.addresses } } : target;
  });
  return { status: 200, body: { data, ...next, node_id: node } };
}

/** A target, or an endpoint of a core Service behind the upstream, whose id is its address. */
type ListedTarget = Pick<Target, "id" | "target" | "weight" | "upstream">;

/** The endpoints of core Services that the nodes report. They are not entities, so the store does not know them. */
function endpointsOf({ id }: Upstream, reports: readonly NodeHealth[]): readonly ListedTarget[] {
  const found = new Map(reports.flatMap((body) => Object.entries(body[id] ?? {})));
  return [...found]
    .filter(([key]) => isAddress(key))
    .map(([key, { weight }]) => ({ id: key, target: key, weight, upstream: { id } }))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** Keys of targets are UUIDs, which have no colon. */
const isAddress = (key: string): boolean => key.includes(":");

const worstOf = (reports: readonly TargetHealth[]): string | undefined =>
  WORST_FIRST.find((word) => reports.some(({ health }) => health === word));

const TIMEOUT = 2000;

/** The reports of the nodes. Nodes that do not respond are left out. */
async function askNodes(nodes: readonly { readonly status: string | null }[]) {
  const answers = await Promise.all(nodes.map(({ status }) => (status === null ? undefined : ask(status))));
  return answers.filter((answer) => answer !== undefined);
}

async function ask(status: string): Promise<NodeHealth | undefined> {
  try {
    const url = new URL("/upstreams/health", status);
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT) });
    const body: unknown = response.ok ? await response.json() : undefined;
    return typeof body === "object" && body !== null ? (body as NodeHealth) : undefined;
  } catch {
    return undefined;
  }
}

async function setTarget(
  { store, setHealth }: TargetHealthOptions,
  { params }: AdminRequest,
  healthy: boolean,
): Promise<AdminResponse> {
  const upstream = await upstreamOf(store, params.entity);
  const segment = params.child ?? "";
  const within = { member: "upstream", id: upstream.id };
  const by = isId(segment) ? { id: segment.toLowerCase() } : { member: "target", value: segment, within };
  const target = await store.find("targets", by);
  if (target?.upstream?.id !== upstream.id) throw notFound();
  if (!setHealth) {
    throw badRequest(
      "no node runs in this process, so it cannot set the health of a target: each node sets it by its own health " +
        "checks, and the admin API can set it only in a process that also runs a node (sluice start)",
    );
  }
  const fault = await setHealth({ upstream, target, address: params.address, healthy });
  if (fault !== undefined) throw badRequest(fault);
  return { status: 204 };
}
