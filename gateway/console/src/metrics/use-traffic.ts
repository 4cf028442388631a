/** Polls /traffic while a page shows traffic. */
import { useEffect, useState } from "preact/hooks";
import { failureText, read } from "../api/client.ts";
import { TrafficMemory, type TrafficReport, type TrafficSubject } from "./traffic-memory.ts";

const memory = new TrafficMemory();
/** The components that show traffic, with what they show. */
const watchers = new Map<() => void, readonly TrafficSubject[]>();
let failure: string | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Milliseconds between two polls. Each report covers the last ten seconds. */
const INTERVAL = 5000;

/** Maximum number of entries that the admin API lists. It lists those with the most requests. */
const SIZE = 1000;

async function poll(): Promise<void> {
  const subjects = [...new Set([...watchers.values()].flat())];
  if (subjects.length > 0 && !document.hidden) {
    try {
      const load = async (by: TrafficSubject) =>
        [by, await read<TrafficReport>(`traffic?by=${by}&size=${SIZE}`)] as const;
      memory.add(new Map(await Promise.all(subjects.map(load))), performance.now());
      failure = undefined;
    } catch (error) {
      failure = failureText(error);
    }
    for (const watcher of watchers.keys()) watcher();
  }
  schedule(INTERVAL);
}

function schedule(pause: number): void {
  clearTimeout(timer);
  timer = watchers.size === 0 ? undefined : setTimeout(poll, pause);
}

export interface WatchedTraffic {
  readonly memory: TrafficMemory;
  readonly failure: string | undefined;
}

/** The component renders again after each poll. */
export function useTraffic(...subjects: readonly TrafficSubject[]): WatchedTraffic {
  const [, setRound] = useState(0);
  const wanted = subjects.join();
  useEffect(() => {
    const watcher = () => setRound((before) => before + 1);
    watchers.set(watcher, wanted.split(",") as TrafficSubject[]);
    schedule(0);
    return () => void watchers.delete(watcher);
  }, [wanted]);
  return { memory, failure };
}
