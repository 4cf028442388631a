/**
 * Measures the web console with many routes in a real Chromium: the time until a page shows them, and the longest time
 * for which the page could not react (long tasks) while it loads, scrolls and filters.
 */
import type { Page } from "playwright-core";
import { startConsole } from "../product/console-pages.ts";
import { atMost, type BenchReport } from "./report.ts";

/** Milliseconds of the longest task: while the page loads, and while the user scrolls or types. */
const BOUNDS = { load: 500, use: 100 };

/** Steps of the scroll from the top to the bottom, one per frame. */
const STEPS = 200;

interface ConsoleUse {
  readonly name: string;
  readonly bound: number;
  run(page: Page): Promise<unknown>;
}

export async function benchConsole({ routes }: { readonly routes: number }): Promise<BenchReport> {
  const services = Array.from({ length: routes / 10 }, (_, service) => ({
    name: `service-${service}`,
    url: "http://127.0.0.1:9",
    routes: Array.from({ length: 10 }, (_, route) => ({
      name: `route-${service}-${route}`,
      hosts: [`host-${service}.example`],
      paths: [`/${service}/${route}`],
    })),
  }));
  const rig = await startConsole({ services });
  try {
    const page = await rig.open();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.evaluate(OBSERVER);
    const shown = new Intl.NumberFormat("en").format(routes);
    const last = `/${routes / 10 - 1}/7`;
    const uses: readonly ConsoleUse[] = [
      {
        name: "topology: load",
        bound: BOUNDS.load,
        async run() {
          await page.getByRole("link", { name: "Topology" }).click();
          await page.getByText(`${shown} routes`).waitFor();
        },
      },
      { name: "topology: scroll to the end", bound: BOUNDS.use, run: () => page.evaluate(SCROLL) },
      { name: "topology: type a filter", bound: BOUNDS.use, run: () => typeInto(page, last, "1 service, 1 route") },
      {
        name: "list of routes: load",
        bound: BOUNDS.load,
        async run() {
          await page.getByRole("link", { name: "Entities" }).click();
          await page.getByRole("link", { name: "Routes", exact: true }).click();
          await page.getByText(`${shown} routes`).waitFor();
        },
      },
      { name: "list of routes: type a search", bound: BOUNDS.use, run: () => typeInto(page, last, `1 of ${shown}`) },
    ];
    const measured = [];
    for (const { name, bound, run } of uses) {
      await page.evaluate("longTasks.length = 0");
      const began = performance.now();
      await run(page);
      const milliseconds = performance.now() - began;
      const tasks = await page.evaluate<readonly number[]>("longTasks");
      measured.push({ name, bound, milliseconds, tasks: tasks.length, longest: Math.max(0, ...tasks) });
    }
    return {
      title: `The console with ${shown} routes`,
      method: `Chromium over \`sluice start\` with a file of ${shown} routes in ${routes / 10} services. A long task takes more than 50 ms; during it the page does not react. The scroll goes from the top to the bottom in ${STEPS} frames.`,
      rows: measured.map(({ name, milliseconds, tasks, longest }) => ({
        name,
        ms: Math.round(milliseconds),
        "long tasks": tasks,
        "longest, ms": Math.round(longest),
      })),
      verdicts: measured.map(({ name, longest, bound }) =>
        atMost(`${name}: the longest task`, longest, { bound, unit: " ms" }),
      ),
    };
  } finally {
    await rig.close();
  }
}

// The code that runs in the page is a string, because a function would need the types of the DOM.

const OBSERVER = `
  globalThis.longTasks = [];
  new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: "longtask" });`;

const SCROLL = `new Promise((resolve) => {
  const area = document.querySelector(".topology");
  let step = 0;
  const next = () => {
    area.scrollTop = (area.scrollHeight * ++step) / ${STEPS};
    if (step < ${STEPS}) requestAnimationFrame(next);
    else resolve();
  };
  next();
})`;

async function typeInto(page: Page, text: string, result: string): Promise<void> {
  await page.getByRole("searchbox").pressSequentially(text);
  await page.getByText(result).waitFor();
}
