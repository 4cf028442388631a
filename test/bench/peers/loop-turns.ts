/** Preloaded into a process: at SIGUSR2 it tells how many turns its event loop has made. */
import { performance } from "node:perf_hooks";

process.on("SIGUSR2", () => console.log(`turns ${performance.nodeTiming.uvMetricsInfo.loopCount}`));
