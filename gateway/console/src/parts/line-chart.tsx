/** A line chart over time. Its label tells a screen reader the last and the largest value of each line. */
import type { TrafficPoint } from "../metrics/traffic-memory.ts";

export interface ChartLine {
  readonly label: string;
  /** The class that sets the colour. */
  readonly tone: "one" | "two" | "three";
  readonly value: (point: TrafficPoint) => number | null;
}

interface LineChartProps {
  readonly title: string;
  readonly points: readonly TrafficPoint[];
  readonly lines: readonly ChartLine[];
  readonly format: (value: number) => string;
}

const WIDTH = 600;
const HEIGHT = 120;

/** Minimum milliseconds that the chart covers: a new chart would otherwise stretch two points over its width. */
const SPAN = 120_000;

export function LineChart({ title, points, lines, format }: LineChartProps) {
  const last = points.at(-1);
  const end = last?.at ?? 0;
  const first = Math.min(points[0]?.at ?? 0, end - SPAN);
  const values = lines.flatMap(({ value }) => points.map((point) => value(point) ?? 0));
  const top = niceCeiling(Math.max(...values, 0));
  const x = (at: number) => ((at - first) / (end - first || 1)) * WIDTH;
  const y = (value: number) => HEIGHT - (value / top) * HEIGHT;
  const described = lines.map(({ label, value }) => {
    const own = points.map((point) => value(point) ?? 0);
    return `${label}: now ${format(own.at(-1) ?? 0)}, at most ${format(Math.max(...own, 0))}`;
  });
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        <ul class="legend">
          {lines.map(({ label, tone, value }) => (
            <li key={label}>
              <span class={`swatch ${tone}`} aria-hidden="true" />
              {label} <strong>{shownValue(last, value, format)}</strong>
            </li>
          ))}
        </ul>
      </figcaption>
      <div class="plot">
        <span class="axis upper">{format(top)}</span>
        <span class="axis lower">0</span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}. ${described.join(". ")}.`}
        >
          {[0.25, 0.5, 0.75].map((share) => (
            <line key={share} class="grid" x1="0" x2={WIDTH} y1={HEIGHT * share} y2={HEIGHT * share} />
          ))}
          {lines.map(({ label, tone, value }) => {
            const path = points
              .map(
                (point, index) =>
                  `${index === 0 ? "M" : "L"}${x(point.at).toFixed(1)} ${y(value(point) ?? 0).toFixed(1)}`,
              )
              .join(" ");
            // The dot shows the last value, even before there are two points for a line.
            const dot = last ? ` M${x(end).toFixed(1)} ${y(value(last) ?? 0).toFixed(1)}h0` : "";
            return <path key={label} class={`line ${tone}`} d={path + dot} />;
          })}
        </svg>
      </div>
    </figure>
  );
}

/** The value of the last point; a dash without a value. */
function shownValue(
  last: TrafficPoint | undefined,
  value: ChartLine["value"],
  format: (value: number) => string,
): string {
  const shown = last === undefined ? null : value(last);
  return shown === null ? "–" : format(shown);
}

/** The next of 1, 2 and 5 times a power of ten, so that the axis ends at a round number. */
export function niceCeiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}
