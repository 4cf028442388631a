/** The connection for LISTEN: reconnects when it is lost, and then informs all its listeners. */
import type pg from "pg";
import type { OnNotification } from "./driver.ts";

/** Milliseconds before the first attempt to reconnect; doubled for each further attempt. Jitter adds up to 100 %. */
const FIRST = 50;
/** The longest time between attempts in milliseconds, without jitter. */
const LONGEST = 2500;

/** @param connect Returns a new client, not yet connected. */
export function createPostgresListener(connect: () => pg.Client, onLost: (reason: string) => void) {
  const channels = new Map<string, Set<OnNotification>>();
  let client: pg.Client | undefined;
  let connecting: Promise<pg.Client> | undefined;
  let failure: string | null = null;
  let timer: NodeJS.Timeout | undefined;
  let wait = FIRST;
  let closed = false;

  const notify = (channel: string, payload: string | null) => {
    for (const onSignal of channels.get(channel) ?? []) onSignal(payload);
  };

  function lost(which: pg.Client, reason: string): void {
    if (client !== which) return;
    client = undefined;
    void which.end().catch(() => undefined);
    if (closed) return;
    failure = `notifications of changes are interrupted: ${reason}`;
    onLost(failure);
    scheduleReconnect();
  }

  async function open(): Promise<pg.Client> {
    const made = connect();
    made.on("error", (error) => lost(made, error.message));
    made.on("end", () => lost(made, "the connection ended"));
    made.on("notification", ({ channel, payload }) => notify(channel, payload ?? ""));
    try {
      await made.connect();
      for (const channel of channels.keys()) await made.query(`LISTEN ${made.escapeIdentifier(channel)}`);
    } catch (error) {
      void made.end().catch(() => undefined);
      throw error;
    }
    client = made;
    wait = FIRST;
    failure = null;
    return made;
  }

  /** All callers share one attempt. */
  function attach(): Promise<pg.Client> {
    connecting ??= open().finally(() => {
      connecting = undefined;
    });
    return connecting;
  }

  /** Retries until there is a connection, and then informs all listeners: notifications may have been missed. */
  function scheduleReconnect(): void {
    clearTimeout(timer);
    const pause = wait * (1 + Math.random());
    wait = Math.min(wait * 2, LONGEST);
    timer = setTimeout(() => {
      attach().then(
        () => {
          for (const channel of channels.keys()) notify(channel, null);
        },
        (error: Error) => {
          failure = `notifications of changes are interrupted: ${error.message}`;
          if (!closed) scheduleReconnect();
        },
      );
    }, pause);
  }

  return {
    /** As in `Database`. */
    async listen(channel: string, onSignal: OnNotification): Promise<() => void> {
      const known = channels.get(channel);
      const all = known ?? new Set();
      channels.set(channel, all);
      all.add(onSignal);
      try {
        if (!client) await attach();
        else if (!known) await client.query(`LISTEN ${client.escapeIdentifier(channel)}`);
      } catch (error) {
        all.delete(onSignal);
        throw error;
      }
      return () => void all.delete(onSignal);
    },
    /** Why no notifications arrive at present; null without a problem. */
    failure: () => failure,
    async close() {
      closed = true;
      clearTimeout(timer);
      await connecting?.catch(() => undefined);
      await client?.end();
    },
  };
}
