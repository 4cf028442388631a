/** Waits for the nodes after a write, in database mode. */
import type { WaitResponse } from "@sluice/model";
import type { Database } from "../../database/driver.ts";
import { NODES_CHANNEL, type RegisteredNode, readNodes } from "../../database/nodes.ts";

export interface RevisionWait {
  /**
   * Resolves when every node that is not silent serves the revision or a later one, or after `timeout` milliseconds
   * with the nodes that lag; null when the database does not answer, or `close` is called.
   */
  awaitRevision(revision: number, timeout: number): Promise<WaitResponse | null>;
  /** Reports the revision that a node of this process serves, without the delay of a notification. */
  reportServed(node: string, revision: number): void;
  /** Ends all waits: they resolve to null. */
  close(): void;
}

interface Waiter {
  readonly revision: number;
  /** In the time of performance.now(). */
  readonly until: number;
  readonly resolve: (answer: WaitResponse | null) => void;
}

/** Milliseconds between queries during a wait: a node may fall silent, and a notification may be lost. */
const POLL_INTERVAL = 100;

export function createRevisionWait(database: Database): RevisionWait {
  const waiters = new Set<Waiter>();
  /** The nodes as last read, updated by notifications; null: they must be read. */
  let nodes: Map<string, RegisteredNode> | null = null;
  const own = new Map<string, number>();
  let listening: Promise<(() => void) | undefined> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let querying = false;
  let queryAgain = false;
  let closed = false;

  function settle(waiter: Waiter, answer: WaitResponse | null): void {
    waiters.delete(waiter);
    waiter.resolve(answer);
    if (waiters.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function settleWaiters(): void {
    const now = performance.now();
    const known = nodes && [...nodes.values()];
    for (const waiter of [...waiters]) {
      const answer = known && answerOf(known, waiter.revision);
      if (answer?.programmed || now >= waiter.until) settle(waiter, answer);
    }
  }

  /** Runs one query at a time for all waits; a call during a query makes another query follow. */
  async function queryNodes(): Promise<void> {
    queryAgain = true;
    if (querying) return;
    querying = true;
    try {
      while (queryAgain && waiters.size > 0) {
        queryAgain = false;
        const read = await readNodes(database).catch(() => null);
        nodes =
          read && new Map(read.map((node) => [node.id, { ...node, revision: own.get(node.id) ?? node.revision }]));
        settleWaiters();
      }
    } finally {
      querying = false;
    }
  }

  /** A notification replaces a query if its node was known to be alive and no query is under way. */
  function handleNotification(payload: string | null): void {
    const [, revision, id = ""] = /^(\d+) (.+)$/s.exec(payload ?? "") ?? [];
    const node = nodes?.get(id);
    if (node && !node.silent && own.has(id)) return;
    if (node && !node.silent && !querying) {
      acknowledge(id, Number(revision));
      return;
    }
    nodes = null;
    if (waiters.size > 0) void queryNodes();
  }

  function acknowledge(id: string, revision: number): void {
    const node = nodes?.get(id);
    if (!node) return;
    nodes?.set(id, { ...node, revision });
    settleWaiters();
  }

  /** Starts to listen for notifications. The next wait retries a failed attempt; until then, waits only poll. */
  function listen(): void {
    listening ??= database.listen(NODES_CHANNEL, handleNotification).catch(() => {
      listening = undefined;
      return undefined;
    });
  }

  return {
    awaitRevision: (revision, timeout) =>
      new Promise((resolve) => {
        if (closed) {
          resolve(null);
          return;
        }
        waiters.add({ revision, until: performance.now() + timeout, resolve });
        listen();
        timer ??= setInterval(() => void queryNodes(), POLL_INTERVAL);
        if (nodes) settleWaiters();
        else void queryNodes();
      }),
    reportServed(id, revision) {
      own.set(id, revision);
      acknowledge(id, revision);
    },
    close() {
      closed = true;
      void listening?.then((end) => end?.());
      for (const waiter of [...waiters]) settle(waiter, null);
    },
  };
}

function answerOf(nodes: readonly RegisteredNode[], revision: number): WaitResponse {
  const live = nodes.filter(({ silent }) => !silent);
  const [acknowledged, lagging] = [true, false].map((has) =>
    live.filter((node) => node.revision >= revision === has).map(({ address }) => address),
  );
  return {
    programmed: lagging?.length === 0,
    revision,
    acknowledged: acknowledged ?? [],
    lagging: lagging ?? [],
    silent: nodes.filter(({ silent }) => silent).map(({ address }) => address),
    problems: [],
  };
}
