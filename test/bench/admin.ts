/**
 * Measures the admin API: decK's sync of a large file into the embedded database and a diff after it, the first and the
 * last page of a long list, and, with each store, the time that a write waits for the nodes.
 */
import { join } from "node:path";
import { temporaryFolder } from "../../tools/process/index.ts";
import { createDeck } from "../e2e/admin/deck.ts";
import { countEntities, emptyKongFile, fileOfSize } from "../e2e/admin/kong-file.ts";
import { writableStores } from "../e2e/admin/stores.ts";
import type { BenchReport } from "./report.ts";
import { median } from "./rounds.ts";
import { startSeveralNodes } from "./several-nodes.ts";

export interface AdminBenchOptions {
  /** Services in decK's file, which has on average seven entities per Service. */
  readonly services: number;
  /** Rows of the list. */
  readonly rows: number;
  /** Measured writes in each store. */
  readonly writes: number;
}

/** Maximum number of rows that one batch creates. */
const BATCH = 1000;
const PAGE = 1000;

type Row = Readonly<Record<string, string | number>>;
interface Part {
  readonly rows: readonly Row[];
  readonly verdicts: readonly string[];
}

const rounded = (value: number, digits = 1): number => Number(value.toFixed(digits));

const judge = (
  name: string,
  { value, unit, bound, most }: { value: number; unit: string; bound: number; most: boolean },
) =>
  `${name}: ${value}${unit} (bound ${most ? "at most" : "at least"} ${bound}${unit}: ${
    (most ? value <= bound : value >= bound) ? "met" : "MISSED"
  })`;

/** Starts the store of this name, empty, calls `run` with the address of its admin API, and stops it. */
async function within<Result>(store: string, run: (admin: string) => Promise<Result>): Promise<Result> {
  const found = writableStores.find(({ name }) => name === store);
  if (!found) throw new Error(`no store '${store}' among ${writableStores.map(({ name }) => name).join(", ")}`);
  const running = await found.start();
  try {
    return await run(running.admin);
  } finally {
    await running.stop();
  }
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await run();
  return performance.now() - began;
}

/** Measures decK with its default parallelism of 10: the sync of a file into an empty store, and the diff after it. */
async function syncPart(admin: string, services: number): Promise<Part> {
  const folder = temporaryFolder("bench-deck");
  try {
    const deck = createDeck(admin, join(folder.path, "deck"));
    const file = fileOfSize(services);
    const writes = Object.values(countEntities(file)).reduce((sum, count) => sum + count, 0);
    // This first run is not measured, because it reads the program from the disk.
    await deck.change("diff", emptyKongFile);
    const synced = await timed(() => deck.change("sync", file));
    const diffed = await timed(async () => {
      const { created, updated, deleted } = await deck.change("diff", file);
      const left = created.length + updated.length + deleted.length;
      if (left > 0) throw new Error(`a diff right after the sync has ${left} changes`);
    });
    const [rate, seconds] = [rounded((writes / synced) * 1000, 0), rounded(diffed / 1000, 2)];
    return {
      rows: [
        {
          what: `decK sync of ${writes} entities into an empty store, whole run`,
          figure: `${rounded(synced / 1000)} s`,
        },
        { what: "decK diff after the sync, whole run", figure: `${seconds} s` },
      ],
      verdicts: [
        judge("writes/s of decK's sync", { value: rate, unit: "", bound: 400, most: false }),
        judge("decK's diff after the sync", { value: seconds, unit: " s", bound: 3, most: true }),
      ],
    };
  } finally {
    folder.remove();
  }
}

async function fill(admin: string, rows: number): Promise<void> {
  for (let start = 0; start < rows; start += BATCH) {
    const writes = Array.from({ length: Math.min(BATCH, rows - start) }, (_, index) => ({
      method: "POST",
      path: "/consumers",
      body: { username: `row-${start + index}` },
    }));
    const answer = await fetch(`${admin}/batch`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ writes }),
    });
    if (!answer.ok) throw new Error(`the batch was answered ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  }
}

/** Requests for the first and the last page alternate, so that both run under the same conditions. */
async function pagesPart(admin: string, rows: number): Promise<Part> {
  await fill(admin, rows);
  const page = async (path: string) => {
    const answer = await fetch(`${admin}${path}`);
    return (await answer.json()) as { data: unknown[]; next: string | null };
  };
  const first = `/consumers?size=${PAGE}`;
  let last = first;
  for (let next: string | null = first; next !== null; ) {
    last = next;
    ({ next } = await page(next));
  }
  const [firsts, lasts]: [number[], number[]] = [[], []];
  for (let round = 0; round < 20; round++) {
    firsts.push(await timed(() => page(first)));
    lasts.push(await timed(() => page(last)));
  }
  const ratio = rounded(median(lasts.map((time, round) => time / (firsts[round] ?? Number.NaN))), 2);
  return {
    rows: [
      { what: `first page of ${PAGE} of ${rows} rows, median`, figure: `${rounded(median(firsts))} ms` },
      { what: "last page, median", figure: `${rounded(median(lasts))} ms` },
    ],
    verdicts: [judge("last page / first page", { value: ratio, unit: "", bound: 1.2, most: true })],
  };
}

/** The duration of an entry of `Server-Timing`, in milliseconds (W3C Server Timing). */
function timingOf(answer: Response, name: string): number {
  const [, duration] = new RegExp(`${name};dur=([\\d.]+)`).exec(answer.headers.get("server-timing") ?? "") ?? [];
  if (duration === undefined) throw new Error(`the response has no time for '${name}' in Server-Timing`);
  return Number(duration);
}

interface Waits {
  readonly store: string;
  readonly writes: number;
}

/** Milliseconds of each write: the wait for the nodes, and the total. */
async function waitsOf(admin: string, { store, writes }: Waits) {
  const waits: number[] = [];
  const wholes: number[] = [];
  // The first ten writes are warm-up.
  for (let count = -10; count < writes; count++) {
    const began = performance.now();
    const answer = await fetch(`${admin}/services/wait`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ host: `host-${count + 10}.test` }),
    });
    await answer.arrayBuffer();
    if (answer.headers.get("x-sluice-programmed") !== "true") throw new Error(`${store}: not programmed`);
    if (count < 0) continue;
    wholes.push(performance.now() - began);
    waits.push(timingOf(answer, "nodes"));
  }
  return { waits, wholes };
}

/** The node that executes the writes waits until the other node has acknowledged them. */
async function otherNodePart(writes: number): Promise<Part> {
  const running = await startSeveralNodes();
  const what = "another node of the same Postgres";
  try {
    const { waits } = await waitsOf(running.admin, { store: what, writes });
    const most = rounded(Math.max(...waits));
    return {
      rows: [
        {
          what: `${what}: from the commit of a write until that node has acknowledged it, median and maximum of ${writes}`,
          figure: `${rounded(median(waits))} ms, ${most} ms`,
        },
      ],
      verdicts: [judge(`the longest wait for ${what}`, { value: most, unit: " ms", bound: 100, most: true })],
    };
  } finally {
    await running.stop();
  }
}

async function waitPart(admin: string, { store, writes }: Waits): Promise<Part> {
  const { waits, wholes } = await waitsOf(admin, { store, writes });
  const wait = rounded(median(waits), 1);
  return {
    rows: [
      { what: `${store}: a write's wait for its nodes, median of ${writes}`, figure: `${wait} ms` },
      { what: `${store}: the whole write, median`, figure: `${rounded(median(wholes))} ms` },
    ],
    verdicts: [
      judge(`wait in ${store}`, { value: wait, unit: " ms", bound: store === "cluster" ? 80 : 20, most: true }),
    ],
  };
}

export async function benchAdmin({ services, rows, writes }: AdminBenchOptions): Promise<BenchReport> {
  const parts = [
    await within("database", (admin) => syncPart(admin, services)),
    await within("database", (admin) => pagesPart(admin, rows)),
  ];
  for (const store of ["database", "directory", "cluster"])
    parts.push(await within(store, (admin) => waitPart(admin, { store, writes })));
  parts.push(await otherNodePart(100));
  return {
    title: "The admin API",
    method:
      "decK syncs and diffs with the embedded database of one `sluice start`; the times include the start of decK. " +
      "Pages have 1,000 rows; first and last page are requested in turn. Waits are those of the header Server-Timing; " +
      "writes are sent one after the other. The store database has the node of its own process; the stores directory and " +
      "cluster have two nodes and the operator. All processes run on one machine.",
    rows: parts.flatMap((part) => part.rows),
    verdicts: parts.flatMap((part) => part.verdicts),
  };
}
