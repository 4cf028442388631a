/** The result of a bench, as a table and as data for comparisons. */
import { cpus, release, totalmem } from "node:os";
import { median, type RoundSample } from "./rounds.ts";

export interface Ratio {
  readonly name: string;
  readonly of: string;
  readonly to: string;
  /** Default: cpu. */
  readonly figure?: "cpu" | "p99" | "perSecond";
  /** The bound that the project sets itself: a lower bound for requests per second, else an upper bound. */
  readonly bound?: number;
}

export interface BenchReport {
  readonly title: string;
  readonly method: string;
  readonly rows: readonly Readonly<Record<string, string | number>>[];
  readonly verdicts: readonly string[];
}

const rounded = (value: number, digits = 1): number => Number(value.toFixed(digits));

export function reportOf({
  title,
  method,
  samples,
  ratios,
  notes = [],
}: {
  readonly title: string;
  readonly method: string;
  readonly samples: ReadonlyMap<string, readonly RoundSample[]>;
  readonly ratios: readonly Ratio[];
  /** Sentences before the verdicts of the ratios. */
  readonly notes?: readonly string[];
}): BenchReport {
  const rows = [...samples].map(([name, list]) => {
    const cpu = list.map((sample) => sample.cpu);
    return {
      name,
      "CPU us/request": rounded(median(cpu)),
      "min - max": `${rounded(Math.min(...cpu))} - ${rounded(Math.max(...cpu))}`,
      "p50 ms": rounded(median(list.map(({ p50 }) => p50)), 2),
      "p99 ms": rounded(median(list.map(({ p99 }) => p99)), 2),
      "requests/s": rounded(median(list.map(({ perSecond }) => perSecond)), 0),
      ...(list[0]?.bytes !== undefined && {
        "MB/s": rounded(median(list.map(({ perSecond, bytes = 0 }) => (perSecond * bytes) / 1e6)), 0),
      }),
    };
  });
  return { title, method, rows, verdicts: [...notes, ...ratios.map((ratio) => verdictOf(ratio, samples))] };
}

const verdict = (met: boolean): string => (met ? "met" : "MISSED");

/**
 * A line with the ratio of two contestants' figures, and whether the ratio meets its bound. The figures are compared
 * round by round, so that a machine that slows down during the bench affects both contestants.
 */
function verdictOf(
  { name, of, to, figure = "cpu", bound }: Ratio,
  samples: ReadonlyMap<string, readonly RoundSample[]>,
): string {
  const [mine, theirs] = [samples.get(of), samples.get(to)];
  if (!mine || !theirs) return `${name}: NOT MEASURED, there is no ${mine ? to : of}`;
  const ratio = median(mine.map((sample, round) => sample[figure] / (theirs[round]?.[figure] ?? Number.NaN)));
  if (bound === undefined) return `${name}: ${ratio.toFixed(3)}`;
  const least = figure === "perSecond";
  const met = least ? ratio >= bound : ratio <= bound;
  return `${name}: ${ratio.toFixed(3)} (bound ${least ? "at least " : ""}${bound}: ${verdict(met)})`;
}

/** A line with a figure, its upper bound, and whether the figure meets the bound. */
export const atMost = (name: string, value: number, { bound, unit }: { bound: number; unit: string }): string =>
  `${name}: ${rounded(value, 2)}${unit} (bound ${bound}${unit}: ${verdict(value <= bound)})`;

/** Describes this machine: processors, memory, and the versions of Linux and Node. */
export const machine = (): string =>
  `${cpus().length} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release().split("-")[0]}, Node ${process.version}`;

export function renderReport({ title, method, rows, verdicts }: BenchReport): string {
  const columns = Object.keys(rows[0] ?? {});
  const table = [
    `| ${columns.join(" | ")} |`,
    `|${columns.map(() => "---").join("|")}|`,
    ...rows.map((row) => `| ${columns.map((column) => row[column]).join(" | ")} |`),
    "",
  ];
  const said = verdicts.map((verdict) => `- ${verdict}`);
  return [`## ${title}`, "", method, "", ...(rows.length > 0 ? table : []), ...said, ""].join("\n");
}
