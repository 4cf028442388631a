/** The files of test/bench/results: results as tables (Markdown) and as data (JSON). */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BenchReport, machine, renderReport } from "./report.ts";

const folder = join(import.meta.dirname, "results");

function write(name: string, text: string, data: object): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.md`), text);
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(data, null, 2)}\n`);
}

/** @param command The command that produces the report, for the heading. */
export function keepBenchReport(bench: string, report: BenchReport, command = `npm run bench ${bench}`): void {
  const text = `# Results of \`${command}\`\n\n${machine()}\n\n${renderReport(report)}`;
  write(bench, text, { machine: machine(), ...report });
}

type Kept = BenchReport & { readonly machine: string; readonly at: string };

/** Adds or replaces the report of one case in the bench's files. Reports of the other cases in `order` are kept. */
export function keepCase(
  bench: string,
  {
    name,
    report,
    order,
    command = `npm run bench -- ${bench}`,
  }: {
    name: string;
    report: BenchReport;
    order: readonly string[];
    /** The command without its last argument, which is the name of the case. */
    command?: string;
  },
): void {
  const path = join(folder, `${bench}.json`);
  const before = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as { cases?: Record<string, Kept> }) : {};
  const at = new Date().toISOString().slice(0, 16);
  const cases: Record<string, Kept> = { ...before.cases, [name]: { machine: machine(), at, ...report } };
  const kept = order.flatMap((each) => (cases[each] ? [[each, cases[each]] as const] : []));
  const sections = kept.map(
    ([each, one]) => `${renderReport(one)}\n\`${command} ${each}\`, ${one.at}Z: ${one.machine}\n`,
  );
  const text = `# Results of \`${command.replace(/ --$/, "")}\`\n\n${sections.join("\n")}`;
  write(bench, text, { cases: Object.fromEntries(kept) });
}
