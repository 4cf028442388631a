/**
 * The picture of one service: its routes on the left, its targets on the right, and lines as thick as their traffic.
 */
import type { ComponentChildren } from "preact";
import { Link } from "../../app/navigation.tsx";
import type { TrafficMemory, TrafficRates } from "../../metrics/traffic-memory.ts";
import { formatRate } from "../../parts/format.ts";
import { type DrawnGroup, MAX_DRAWN_ROUTES, ROW_HEIGHT, type TopologyRoute } from "./topology-model.ts";
import { MAX_TARGETS, type TopologyTarget } from "./use-targets.ts";

interface GroupPictureProps {
  readonly drawn: DrawnGroup;
  readonly targets: readonly TopologyTarget[];
  readonly position: { readonly index: number; readonly of: number };
  readonly memory: TrafficMemory;
  readonly isNarrow: boolean;
  readonly onMore: () => void;
}

export function GroupPicture({ drawn, targets, position, memory, isNarrow, onMore }: GroupPictureProps) {
  const { group, routes, hidden, top, height } = drawn;
  const rates = memory.ratesOf("services", group.id);
  const shown = targets.length === MAX_TARGETS + 1 ? targets : targets.slice(0, MAX_TARGETS);
  const left = routes.map((route) => memory.ratesOf("routes", route.id));
  const leftRows = routes.length + (hidden > 0 ? 1 : 0);
  const rightRows = Math.max(1, Math.min(targets.length, MAX_TARGETS + 1));
  return (
    <li
      class={`group ${group.isEnabled ? "" : "off"}`}
      style={{ transform: `translateY(${top}px)`, height: `${height}px` }}
      aria-setsize={position.of}
      aria-posinset={position.index}
      aria-label={`${group.name}, to ${group.url}`}
    >
      <Column rows={leftRows} height={height} isNarrow={isNarrow} kind="routes">
        {routes.map((route, index) => (
          <RouteCard key={route.id} route={route} rates={left[index]} />
        ))}
        {hidden > 0 && (
          <li class="card more">
            {routes.length < MAX_DRAWN_ROUTES ? (
              <button type="button" onClick={onMore}>
                {hidden.toLocaleString("en")} more routes<span class="sr-only"> of {group.name}</span>
              </button>
            ) : (
              <Link to={["entities", "routes"]} query={{ search: group.name }}>
                {hidden.toLocaleString("en")} more routes in the list
              </Link>
            )}
          </li>
        )}
        {leftRows === 0 && <li class="card none">no route</li>}
      </Column>
      {!isNarrow && (
        <Lines from={centers(Math.max(1, leftRows), height)} to={[height / 2]} height={height} rates={left} />
      )}
      <div class="card service">
        <span>
          <strong>
            {group.id === "" ? group.name : <Link to={["entities", "services", group.id]}>{group.name}</Link>}
          </strong>
          {!group.isEnabled && <span class="chip">disabled</span>}
          {rates && rates.requests > 0 && <RateText rates={rates} />}
        </span>
        <span class="mono">{group.url}</span>
      </div>
      {!isNarrow && group.id !== "" && (
        <Lines
          from={[height / 2]}
          to={centers(rightRows, height)}
          height={height}
          tones={shown.map(({ health }) => health)}
          rates={rates ? [rates] : []}
        />
      )}
      {group.id !== "" && (
        <Column rows={rightRows} height={height} isNarrow={isNarrow} kind="targets">
          {shown.map((target) => (
            <li key={target.id} class={`card target ${target.health.replace(" ", "-")}`}>
              <span class="mono">{target.address}</span>
              <span class="hint">
                <span class="dot" aria-hidden="true" />
                {/* A card has no room for both the weight and the failure. */}
                {target.health}, {target.failure === null ? `weight ${target.weight}` : `answered ${target.failure}`}
                {target.failure !== null && !group.upstream?.countsFailures && ", passive checks off"}
              </span>
            </li>
          ))}
          {group.upstream && targets.length > shown.length && (
            <li class="card more">
              <Link to={["entities", "upstreams", group.upstream.id]}>
                {targets.length - shown.length} more targets of {group.upstream.name}
              </Link>
            </li>
          )}
          {targets.length === 0 && (
            <li class="card target not-checked">
              {group.upstream ? (
                <>
                  <span>
                    <Link to={["entities", "upstreams", group.upstream.id]}>{group.upstream.name}</Link>
                  </span>
                  <span class="hint">no target</span>
                </>
              ) : (
                <>
                  <span class="mono">{group.url.replace(/^\w+:\/\/([^/]*).*/, "$1")}</span>
                  <span class="hint">one host, not checked</span>
                </>
              )}
            </li>
          )}
        </Column>
      )}
    </li>
  );
}

interface ColumnProps {
  readonly rows: number;
  readonly height: number;
  readonly isNarrow: boolean;
  readonly kind: string;
  readonly children: ComponentChildren;
}

/** Cards below each other, in the middle of the group's height. */
const Column = ({ rows, height, isNarrow, kind, children }: ColumnProps) => (
  <ul
    class={`column ${kind}`}
    style={isNarrow ? {} : { paddingTop: `${(height - Math.max(1, rows) * ROW_HEIGHT) / 2}px` }}
  >
    {children}
  </ul>
);

/** The middles of a column's cards. */
const centers = (rows: number, height: number): readonly number[] =>
  Array.from({ length: rows }, (_, index) => (height - rows * ROW_HEIGHT) / 2 + (index + 0.5) * ROW_HEIGHT);

const RouteCard = ({ route, rates }: { readonly route: TopologyRoute; readonly rates: TrafficRates | undefined }) => (
  <li class="card route">
    <span>
      <Link to={["entities", "routes", route.id]}>{route.name}</Link>
      {route.priority !== 0 && <span class="chip">priority {route.priority}</span>}
      {rates && rates.requests > 0 && <RateText rates={rates} />}
    </span>
    <span class="mono" title={route.match}>
      {route.match}
    </span>
  </li>
);

const RateText = ({ rates }: { readonly rates: TrafficRates }) => (
  <span class={`rate ${isFailing(rates) ? "bad" : ""}`}>{formatRate(rates.requests)}/s</span>
);

/** The share of server errors above which a line is drawn as failing. */
const FAILING = 0.05;

const isFailing = ({ requests, server_errors }: TrafficRates): boolean =>
  requests > 0 && server_errors / requests > FAILING;

const WIDTH = 64;

interface LinesProps {
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly height: number;
  readonly rates: readonly (TrafficRates | undefined)[];
  /** The health of the targets at the ends of the lines. Absent: the lines end at the service. */
  readonly tones?: readonly TopologyTarget["health"][];
}

/** A line to a target shows the target's health; a line from a route shows whether its requests fail. */
function toneOf(health: TopologyTarget["health"] | undefined, rates: TrafficRates | undefined): string {
  if (health === "unhealthy" || (health === undefined && rates && isFailing(rates))) return "bad";
  return rates && rates.requests > 0 ? "busy" : "";
}

/** Lines from each start to each end. A line with traffic is thicker, by the logarithm of its rate, and moves. */
function Lines({ from, to, height, rates, tones }: LinesProps) {
  return (
    <svg class="lines" viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {from.flatMap((start, index) =>
        to.map((end, at) => {
          const own = rates[from.length > 1 ? index : 0];
          const rate = own?.requests ?? 0;
          const tone = toneOf(tones?.[at], own);
          const d = `M0 ${start} C${WIDTH / 2} ${start} ${WIDTH / 2} ${end} ${WIDTH} ${end}`;
          return (
            <path
              key={`${start} ${end}`}
              class={tone}
              d={d}
              stroke-width={rate > 0 ? Math.min(6, 1.5 + Math.log10(1 + rate)) : 1.25}
            />
          );
        }),
      )}
    </svg>
  );
}
