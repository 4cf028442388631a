/** Loads data for a component, and loads it again at an interval. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { failureText } from "./client.ts";

interface Loaded<Data> {
  /** Undefined before the first success. The last data stays while later loads fail. */
  readonly data: Data | undefined;
  readonly failure: string | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface LoadOptions {
  /** Loads again when this changes; the old data is dropped. */
  readonly key: string;
  /** Milliseconds between two loads while the page is visible. Absent: the data is loaded once. */
  readonly every?: number;
}

export function useLoaded<Data>(
  load: (signal: AbortSignal) => Promise<Data>,
  { key, every }: LoadOptions,
): Loaded<Data> {
  const [state, setState] = useState<{ key: string; data?: Data; error?: unknown; isLoading: boolean }>({
    key,
    isLoading: true,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;

  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    setState((before) => ({ ...(before.key === key ? before : {}), key, isLoading: true }));

    async function once(): Promise<void> {
      try {
        if (!document.hidden || every === undefined) {
          const data = await latest.current(abort.signal);
          if (!abort.signal.aborted) setState({ key, data, isLoading: false });
        }
      } catch (error) {
        if (!abort.signal.aborted) setState((before) => ({ ...before, key, error, isLoading: false }));
      }
      if (every !== undefined && !abort.signal.aborted) timer = setTimeout(once, every);
    }
    void once();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, every, round]);

  const reload = useCallback(() => setRound((before) => before + 1), []);
  const isCurrent = state.key === key;
  const error = isCurrent ? state.error : undefined;
  return {
    data: isCurrent ? state.data : undefined,
    error,
    failure: error === undefined ? undefined : failureText(error),
    isLoading: !isCurrent || state.isLoading,
    reload,
  };
}
