/** Messages through LISTEN and NOTIFY of Postgres, on a separate connection outside the store's pool. */
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { retryDelay } from "../redis-options.ts";
import { batchQueries } from "../store/batch-queries.ts";
import { HEARTBEAT, type OpenTransport } from "./transport.ts";

export interface NotifyTransportOptions {
  readonly url: string;
  /** Milliseconds between checks of a connection. Default 5,000. */
  readonly heartbeatMilliseconds?: number;
}

/** A channel belongs to its database, so the user directories of different databases can have the same channel name. */
const CHANNEL = "sluice_user_api";
const QUERY_TIMEOUT = 2_000;
/** Messages per statement. A message has less than 2,000 bytes. */
const MAX_BATCH = 500;

export function openNotify({ url, heartbeatMilliseconds = HEARTBEAT }: NotifyTransportOptions): OpenTransport {
  return (listener) => {
    let current: { send(texts: readonly string[]): Promise<unknown>; end(): Promise<void> } | undefined;
    let failures = 0;
    const closing = new AbortController();

    /** Receives messages until the connection is lost, then rejects with the reason. Resolves if closing has begun. */
    async function receive(): Promise<void> {
      const client = new Client({
        connectionString: url,
        application_name: "sluice-user-api events",
        connectionTimeoutMillis: 5_000,
        query_timeout: QUERY_TIMEOUT,
        keepAlive: true,
      });
      const { promise: lost, reject } = Promise.withResolvers<never>();
      lost.catch(() => undefined);
      client.on("error", reject);
      client.on("end", () => reject(new Error("the connection to the database is closed")));
      client.on("notification", ({ payload }) => {
        if (payload !== undefined) listener.message(payload);
      });
      // One statement per message would be too slow for bursts, and a pg client executes one statement at a time.
      const send = batchQueries(
        async (texts) => {
          const sent = client.query("select pg_notify($1, text) from unnest($2::text[]) as text", [CHANNEL, texts]);
          // A failure closes the connection: a new one costs little, and users whose messages were lost are read from
          // the store.
          sent.catch(reject);
          await sent;
          return new Map<string, never>();
        },
        { maxQueries: 1, maxKeys: MAX_BATCH },
      );
      const heartbeat = setInterval(() => {
        if (current !== undefined) send([]).catch(() => undefined);
      }, heartbeatMilliseconds).unref();
      try {
        await client.connect();
        await Promise.race([client.query(`listen ${CHANNEL}`), lost]);
        if (closing.signal.aborted) return;
        failures = 0;
        current = { send, end: () => client.end() };
        listener.connected();
        await lost;
      } finally {
        current = undefined;
        clearInterval(heartbeat);
        client.end().catch(() => undefined);
      }
    }

    async function receiveAlways(): Promise<void> {
      while (!closing.signal.aborted) {
        await receive().catch((error: Error) => {
          if (!closing.signal.aborted) listener.lost(error);
        });
        failures += 1;
        await pause(retryDelay(failures), undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
      }
    }
    void receiveAlways();

    return {
      async publish(text) {
        if (current === undefined) throw new Error("there is no connection to the database");
        await current.send([text]);
      },
      connected: () => current !== undefined,
      async close() {
        closing.abort();
        await current?.end();
      },
    };
  };
}
