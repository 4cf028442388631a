/** Polls `GET /access-log` while the user watches requests. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, failureText, read } from "../../api/client.ts";
import { type LiveRequest, type LiveRequestList, noLiveRequests, withNewRequests } from "./live-request-list.ts";

/** The filter of the list as the user typed it. An empty member selects all requests. */
export interface WatchFilter {
  readonly route: string;
  readonly status: string;
  readonly min_latency: string;
}

interface WatchBody {
  readonly watch: string;
  readonly data: readonly LiveRequest[];
  readonly missed: number;
  readonly unanswered: readonly { readonly node: string; readonly reason: string }[];
}

interface RequestWatchState {
  readonly list: LiveRequestList;
  readonly failure: string | undefined;
  /** The nodes whose requests are missing, with the reason. */
  readonly unanswered: readonly string[];
}

/** Nodes keep 500 requests between two polls, and end a watch after ten seconds without one. */
const INTERVAL = 1000;

const beginning: RequestWatchState = { list: noLiveRequests, failure: undefined, unanswered: [] };

/** @param filter Null: the watch is stopped, and the list stays. A new filter begins a new list. */
export function useRequestWatch(filter: WatchFilter | null): RequestWatchState {
  const [state, setState] = useState(beginning);
  const wanted = filter && JSON.stringify(Object.entries(filter).filter(([, value]) => value !== ""));

  useEffect(() => {
    if (wanted === null) return;
    const abort = new AbortController();
    const query = new URLSearchParams(JSON.parse(wanted));
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isBusy = false;
    setState(beginning);

    async function poll(): Promise<void> {
      clearTimeout(timer);
      if (isBusy || document.hidden) return;
      isBusy = true;
      try {
        const { watch, unanswered, ...added } = await read<WatchBody>(`access-log?${query}`, abort.signal);
        query.set("watch", watch);
        setState(({ list }) => ({
          list: withNewRequests(list, added),
          failure: undefined,
          unanswered: unanswered.map(({ node, reason }) => `${node} (${reason})`),
        }));
      } catch (error) {
        if (abort.signal.aborted) return;
        setState((before) => ({ ...before, failure: failureText(error) }));
        // An invalid filter stays invalid.
        if (error instanceof ApiError && error.status === 400) return;
      }
      isBusy = false;
      if (!abort.signal.aborted) timer = setTimeout(poll, INTERVAL);
    }
    void poll();
    // While the page is hidden no timer runs.
    document.addEventListener("visibilitychange", poll);
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", poll);
    };
  }, [wanted]);
  return state;
}
