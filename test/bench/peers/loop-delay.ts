/** Preloaded into a process: at SIGUSR2 it tells the longest turn of its event loop since the last time, in ms. */
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds. */
const resolution = 1;
const delay = monitorEventLoopDelay({ resolution });
delay.enable();

process.on("SIGUSR2", () => {
  console.log(`longest turn ${(delay.max / 1e6 - resolution).toFixed(1)}`);
  delay.reset();
});
