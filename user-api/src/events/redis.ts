/** Messages through Redis' publish and subscribe: it carries each to whoever listens at that moment, and keeps none. */
import { Redis, type RedisOptions } from "ioredis";
import { HEARTBEAT, type OpenTransport, pause } from "./transport.ts";

export interface RedisTransportOptions {
  /** `redis://user:password@host:port` or `rediss://…`. */
  readonly url: string;
  /** Replicas of one directory share it. Redis knows no databases here: two directories need two channels. */
  readonly channel: string;
  /** Default 5 s. */
  readonly heartbeatMilliseconds?: number;
}

/** Half of a heartbeat at most, so that the next one finds the first decided. */
const COMMAND_TIMEOUT = 2_000;

/** Two connections: one that subscribes may do nothing else. */
export function openRedis({ url, channel, heartbeatMilliseconds = HEARTBEAT }: RedisTransportOptions): OpenTransport {
  return (listener) => {
    const options: RedisOptions = {
      retryStrategy: pause,
      connectTimeout: COMMAND_TIMEOUT,
      commandTimeout: COMMAND_TIMEOUT,
      // A connection that is ended in order waits for the other side, and a silent one says nothing to that either.
      socketTimeout: COMMAND_TIMEOUT,
      // What cannot be sent now fails now: a message of minutes ago is read from the store, not sent late.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      autoResubscribe: false,
    };
    const speaker = new Redis(url, options);
    const hearer = new Redis(url, options);
    let hearing = false;
    let cause = new Error("the connection to Redis is closed");

    const check = (): void => {
      if (hearing && speaker.status === "ready") listener.connected();
    };
    const lost = (): void => {
      listener.lost(cause);
    };
    for (const connection of [speaker, hearer]) {
      connection.on("error", (error: Error) => {
        cause = error;
      });
      connection.on("close", lost);
    }
    speaker.on("ready", check);
    hearer.on("close", () => {
      hearing = false;
    });
    hearer.on("ready", () => {
      hearer.subscribe(channel).then(
        () => {
          hearing = true;
          check();
        },
        () => hearer.disconnect(true),
      );
    });
    hearer.on("message", (_channel: string, text: string) => listener.message(text));

    const heartbeat = setInterval(() => {
      for (const connection of [speaker, hearer]) {
        if (connection.status !== "ready") continue;
        connection.ping().catch(() => {
          if (connection.status === "ready") connection.disconnect(true);
        });
      }
    }, heartbeatMilliseconds).unref();

    return {
      async publish(text) {
        await speaker.publish(channel, text);
      },
      connected: () => hearing && speaker.status === "ready",
      async close() {
        clearInterval(heartbeat);
        for (const connection of [speaker, hearer]) {
          connection.off("close", lost);
          connection.disconnect();
        }
      },
    };
  };
}
