/** Preloaded into a process: on SIGUSR2 it prints the longest event loop iteration since the last signal, in ms. */
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds. */
const resolution = 1;
const delay = monitorEventLoopDelay({ resolution });
delay.enable();

process.on("SIGUSR2", () => {
  console.log(`longest iteration ${(delay.max / 1e6 - resolution).toFixed(1)}`);
  delay.reset();
});
