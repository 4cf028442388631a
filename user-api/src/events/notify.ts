/** Messages through the database's own LISTEN and NOTIFY, by one connection besides the store's. */
import { Client } from "pg";
import { HEARTBEAT, type OpenTransport, pause } from "./transport.ts";

export interface NotifyTransportOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Default 5 s. */
  readonly heartbeatMilliseconds?: number;
}

/** A channel belongs to its database, so one name does for all directories. */
const CHANNEL = "sluice_user_api";
const QUERY_TIMEOUT = 2_000;

export function openNotify({ url, heartbeatMilliseconds = HEARTBEAT }: NotifyTransportOptions): OpenTransport {
  return (listener) => {
    let current: Client | undefined;
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
      let over = false;
      const end = (error: Error): void => {
        if (over) return;
        over = true;
        clearInterval(heartbeat);
        client.end().catch(() => undefined);
        again(error);
      };
      const heartbeat = setInterval(() => void client.query("select 1").catch(end), heartbeatMilliseconds).unref();
      client.on("error", end);
      client.on("end", () => end(new Error("the connection to the database is closed")));
      client.on("notification", ({ payload }) => {
        if (payload !== undefined) listener.message(payload);
      });
      client
        .connect()
        .then(() => client.query(`listen ${CHANNEL}`))
        .then(() => {
          if (over) return;
          if (closed) return end(new Error("closed"));
          failures = 0;
          current = client;
          listener.connected();
        })
        .catch(end);
    }
    connect();

    return {
      async publish(text) {
        if (current === undefined) throw new Error("there is no connection to the database");
        await current.query("select pg_notify($1, $2)", [CHANNEL, text]);
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
