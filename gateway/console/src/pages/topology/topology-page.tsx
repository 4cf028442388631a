/**
 * From routes to services to targets, as a picture. Only the part in view is drawn, so 10,000 routes scroll smoothly.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { loadEntities, MAX_ENTITIES } from "../../api/load-entities.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { useTraffic } from "../../metrics/use-traffic.ts";
import { FilterSelect, FilterText } from "../../parts/filters.tsx";
import { countWithNoun } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";
import { ScrollArea } from "../../parts/scroll-area.tsx";
import { GroupPicture } from "./group-picture.tsx";
import {
  filterGroups,
  GROUP_GAP,
  groupByService,
  layoutGroups,
  type TopologyGroup,
  visibleGroups,
} from "./topology-model.ts";
import { MAX_TARGETS, type TopologyTarget, useTargets } from "./use-targets.ts";

const orders = [
  ["name", "by name"],
  ["routes", "by routes"],
  ["traffic", "by traffic"],
] as const;
type Order = (typeof orders)[number][0];

/** Pixels that are drawn above and below the visible part. */
const OVERSCAN = 400;

const NARROW = matchMedia("(max-width: 720px)");

export function TopologyPage({ query }: { readonly query: URLSearchParams }) {
  const [count, setCount] = useState(0);
  const { data, failure } = useLoaded(
    async (signal) => {
      const [routes, services, upstreams] = await Promise.all([
        loadEntities("routes", { signal, report: setCount }),
        loadEntities("services", { signal }),
        loadEntities("upstreams", { signal }),
      ]);
      return {
        groups: groupByService({ routes: routes.entities, services: services.entities, upstreams: upstreams.entities }),
        routes: routes.entities.length,
        isTruncated: routes.isTruncated,
      };
    },
    { key: "topology" },
  );
  const { memory } = useTraffic("routes", "services");
  const [filter, setFilter] = useState(query.get("search") ?? "");
  const [order, setOrder] = useState<Order>("name");
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(new Set());
  const isNarrow = useNarrow();
  const scroller = useRef<HTMLElement>(null);
  const view = useViewport(scroller, data !== undefined);

  const groups = useMemo(() => {
    const found = filterGroups(data?.groups ?? [], filter);
    const rateOf = ({ id }: TopologyGroup) => memory.ratesOf("services", id)?.requests ?? 0;
    const compare: Readonly<Record<Order, (one: TopologyGroup, other: TopologyGroup) => number>> = {
      name: (one, other) => collator.compare(one.name, other.name),
      routes: (one, other) => other.routes.length - one.routes.length,
      traffic: (one, other) => rateOf(other) - rateOf(one) || collator.compare(one.name, other.name),
    };
    return found.toSorted(compare[order]);
  }, [data, filter, order, order === "traffic" ? memory.points.at(-1)?.at : 0]);

  const [wanted, setWanted] = useState("");
  const targets = useTargets(wanted);
  const targetsOf = ({ upstream }: TopologyGroup): readonly TopologyTarget[] =>
    (upstream && targets.get(upstream.id)) ?? [];
  const drawn = useMemo(
    () =>
      layoutGroups(groups, {
        expanded,
        isNarrow,
        targetsOf: (group) => (group.id === "" ? 0 : Math.min(MAX_TARGETS + 1, Math.max(1, targetsOf(group).length))),
      }),
    [groups, expanded, isNarrow, targets],
  );
  const visible = visibleGroups(drawn, view.top - OVERSCAN, view.top + view.height + OVERSCAN);
  const upstreams = [...new Set(visible.flatMap(({ group }) => group.upstream?.id ?? []))].join();
  useEffect(() => setWanted(upstreams), [upstreams]);
  const end = drawn.at(-1);
  const shownRoutes = groups.reduce((sum, { routes }) => sum + routes.length, 0);

  return (
    <div class="topology-page">
      <h1>Topology</h1>
      <div class="toolbar">
        <FilterText
          label="Filter by name, host, path or address"
          value={filter}
          onChange={(text) => {
            setFilter(text);
            scroller.current?.scrollTo(0, 0);
          }}
        />
        <FilterSelect label="Order of the services" value={order} choices={orders} onChange={setOrder} />
      </div>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {data?.isTruncated && (
        <Notice kind="warning">The picture has the first {MAX_ENTITIES.toLocaleString("en")} routes only.</Notice>
      )}
      <p class="hint" role="status">
        {data
          ? `${countWithNoun(groups.length, "service")}, ${countWithNoun(shownRoutes, "route")}`
          : failure === undefined
            ? `Loading… ${count > 0 ? countWithNoun(count, "route") : ""}`
            : ""}
      </p>
      <div class="topology-heads" aria-hidden="true">
        <span>Routes</span>
        <span>Services</span>
        <span>Targets</span>
      </div>
      <ScrollArea class="topology" area={scroller} label="Routes, services and targets">
        <ul style={{ height: `${end ? end.top + end.height + GROUP_GAP : 0}px` }}>
          {visible.map((one) => (
            <GroupPicture
              key={one.group.id}
              drawn={one}
              targets={targetsOf(one.group)}
              position={{ index: drawn.indexOf(one) + 1, of: drawn.length }}
              memory={memory}
              isNarrow={isNarrow}
              onMore={() => setExpanded((before) => new Set([...before, one.group.id]))}
            />
          ))}
        </ul>
        {data && groups.length === 0 && (
          <p class="empty">
            {data.groups.length === 0 ? "There are no routes and services yet." : "Nothing matches the filter."}
          </p>
        )}
      </ScrollArea>
    </div>
  );
}

const collator = new Intl.Collator("en", { numeric: true });

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const follow = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", follow);
    return () => NARROW.removeEventListener("change", follow);
  }, []);
  return isNarrow;
}

/** The part of the scroll container that is in view. It changes at most once per frame. */
function useViewport(
  scroller: { readonly current: HTMLElement | null },
  isReady: boolean,
): { readonly top: number; readonly height: number } {
  const [view, setView] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    let frame = 0;
    const follow = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => setView({ top: element.scrollTop, height: element.clientHeight }));
    };
    const observer = new ResizeObserver(follow);
    observer.observe(element);
    element.addEventListener("scroll", follow, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      element.removeEventListener("scroll", follow);
    };
  }, [isReady]);
  return view;
}
