/** Preloaded into a process: on SIGUSR2 it prints the number of its event loop iterations so far. */
import { performance } from "node:perf_hooks";

process.on("SIGUSR2", () => console.log(`iterations ${performance.nodeTiming.uvMetricsInfo.loopCount}`));
