/** Messages through LISTEN and NOTIFY of Postgres, on a connection of its own beside the store's pool. */
import { Client } from "pg";
import { HEARTBEAT, type OpenTransport, pause } from "./transport.ts";

export interface NotifyTransportOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Default 5 s. */
  readonly heartbeatMilliseconds?: number;
}

/** A channel belongs to its database, so one name is enough for all directories. */
const CHANNEL = "sluice_user_api";
const QUERY_TIMEOUT = 2_000;
/** Messages per statement. Each may have up to 2,000 bytes. */
const MAX_BATCH = 500;

export function openNotify({ url, heartbeatMilliseconds = HEARTBEAT }: NotifyTransportOptions): OpenTransport {
  return (listener) => {
    let current: { notify(text: string): Promise<unknown>; end(): Promise<void> } | undefined;
    let timer: NodeJS.Timeout | undefined;
    let failures = 0;
    let closed = false;

    function again(error: Error): void {
      current = undefined;
      if (closed) return;
      listener.lost(error);
      failures += 1;
      timer = setTimeout(connect, pause(failures)).unref();
    }

    function connect(): void {
      const client = new Client({
        connectionString: url,
        application_name: "sluice-user-api events",
        connectionTimeoutMillis: 5_000,
        query_timeout: QUERY_TIMEOUT,
        keepAlive: true,
      });
      // A pg client accepts one statement at a time.
      let last: Promise<unknown> = Promise.resolve();
      const runQuery = (text: string, values?: () => unknown[]): Promise<unknown> => {
        const queried = last.then(() => client.query(text, values?.()));
        // A new connection costs little, and the messages that this one lost are read from the store.
        last = queried.catch(end);
        return queried;
      };
      /** Collects messages for the next statement; one statement per message would be too slow for bursts. */
      let next: { readonly texts: string[]; readonly sent: Promise<unknown> } | undefined;
      const notify = (text: string): Promise<unknown> => {
        if (next === undefined || next.texts.length >= MAX_BATCH) {
          const texts: string[] = [];
          const sent = runQuery("select pg_notify($1, text) from unnest($2::text[]) as text", () => {
            next = undefined;
            return [CHANNEL, texts];
          });
          next = { texts, sent };
        }
        next.texts.push(text);
        return next.sent;
      };
      let over = false;
      const end = (error: Error): void => {
        if (over) return;
        over = true;
        clearInterval(heartbeat);
        client.end().catch(() => undefined);
        again(error);
      };
      const heartbeat = setInterval(
        () => void runQuery("select 1").catch(() => undefined),
        heartbeatMilliseconds,
      ).unref();
      client.on("error", end);
      client.on("end", () => end(new Error("the connection to the database is closed")));
      client.on("notification", ({ payload }) => {
        if (payload !== undefined) listener.message(payload);
      });
      client
        .connect()
        .then(() => runQuery(`listen ${CHANNEL}`))
        .then(() => {
          if (over) return;
          if (closed) return end(new Error("closed"));
          failures = 0;
          current = { notify, end: () => client.end() };
          listener.connected();
        })
        .catch(end);
    }
    connect();

    return {
      async publish(text) {
        if (current === undefined) throw new Error("there is no connection to the database");
        await current.notify(text);
      },
      connected: () => current !== undefined,
      async close() {
        closed = true;
        clearTimeout(timer);
        await current?.end();
      },
    };
  };
}
