/** Polls /metrics while a page shows traffic. The history stays in memory until the tab is closed. */
import { useEffect, useState } from "preact/hooks";
import { describeFailure, send } from "../api/client.ts";
import { TrafficHistory } from "./traffic-history.ts";
import { readSnapshot } from "./traffic-snapshot.ts";

const history = new TrafficHistory();
const watchers = new Set<() => void>();
let failure: string | undefined;
let isPolling = false;

const INTERVAL = 5000;

/** The second poll follows soon, because a rate needs two. */
const FIRST_INTERVAL = 1000;

/** The response of a configuration with 10,000 routes has tens of megabytes: at most a tenth of the time is spent on it. */
const PAUSE_FACTOR = 10;

async function poll(): Promise<void> {
  if (watchers.size === 0) {
    isPolling = false;
    return;
  }
  const began = performance.now();
  try {
    if (!document.hidden) {
      const { body } = await send("metrics");
      if (body) history.add(await readSnapshot(body, performance.now()));
      failure = undefined;
    }
  } catch (error) {
    failure = describeFailure(error);
  }
  for (const watcher of watchers) watcher();
  const interval = history.depth < 2 ? FIRST_INTERVAL : INTERVAL;
  setTimeout(poll, Math.max(interval, (performance.now() - began) * PAUSE_FACTOR));
}

export interface Traffic {
  readonly history: TrafficHistory;
  readonly failure: string | undefined;
}

/** The component renders again after each poll. */
export function useTraffic(): Traffic {
  const [, setRound] = useState(0);
  useEffect(() => {
    const watcher = () => setRound((before) => before + 1);
    watchers.add(watcher);
    if (!isPolling) {
      isPolling = true;
      void poll();
    }
    return () => void watchers.delete(watcher);
  }, []);
  return { history, failure };
}
