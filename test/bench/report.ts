/** The result of a bench, as a table for people and as data for comparisons. */
import { cpus, release, totalmem } from "node:os";
import { median, type Sample } from "./rounds.ts";

export interface Ratio {
  readonly name: string;
  readonly of: string;
  readonly to: string;
  /** What the project wants to stay below. */
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
}: {
  readonly title: string;
  readonly method: string;
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
  readonly ratios: readonly Ratio[];
}): BenchReport {
  const rows = [...samples].map(([name, list]) => {
    const cpu = list.map((sample) => sample.cpu);
    return {
      name,
      "CPU us/request": rounded(median(cpu)),
      "least - most": `${rounded(Math.min(...cpu))} - ${rounded(Math.max(...cpu))}`,
      "p50 ms": rounded(median(list.map(({ p50 }) => p50)), 2),
      "p99 ms": rounded(median(list.map(({ p99 }) => p99)), 2),
      "requests/s": rounded(median(list.map(({ perSecond }) => perSecond)), 0),
    };
  });
  /** Round by round, so that a machine that slows down in between does not count for one of the two. */
  const verdicts = ratios.map(({ name, of, to, bound }) => {
    const [mine, theirs] = [samples.get(of) ?? [], samples.get(to) ?? []];
    const ratio = median(mine.map(({ cpu }, round) => cpu / (theirs[round]?.cpu ?? Number.NaN)));
    return `${name}: ${ratio.toFixed(3)}${bound === undefined ? "" : ` (bound ${bound}: ${ratio <= bound ? "met" : "MISSED"})`}`;
  });
  return { title, method, rows, verdicts };
}

/** What the figures were measured on. */
export const machine = (): string =>
  `${cpus().length} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release().split("-")[0]}, Node ${process.version}`;

export function renderReport({ title, method, rows, verdicts }: BenchReport): string {
  const columns = Object.keys(rows[0] ?? {});
  return [
    `## ${title}`,
    "",
    method,
    "",
    `| ${columns.join(" | ")} |`,
    `|${columns.map(() => "---").join("|")}|`,
    ...rows.map((row) => `| ${columns.map((column) => row[column]).join(" | ")} |`),
    "",
    ...verdicts.map((verdict) => `- ${verdict}`),
    "",
  ].join("\n");
}
