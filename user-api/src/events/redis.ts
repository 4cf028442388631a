/** Messages through publish and subscribe of Redis, which delivers to current subscribers and stores nothing. */
import { Redis, type RedisOptions } from "ioredis";
import { failFastOptions } from "../redis-options.ts";
import { HEARTBEAT, type OpenTransport } from "./transport.ts";

export interface RedisTransportOptions {
  /** `redis://user:password@host:port` or `rediss://…`. */
  readonly url: string;
  /**
   * Shared by the replicas of one user directory. Channels are not scoped by database: two user directories need two
   * channels.
   */
  readonly channel: string;
  /** Milliseconds between checks of a connection. Default 5,000. */
  readonly heartbeatMilliseconds?: number;
}

/** At most half a heartbeat interval, so that each ping is answered or has failed before the next one. */
const COMMAND_TIMEOUT = 2_000;

/** Uses two connections, because a connection that subscribes cannot publish. */
export function openRedis({ url, channel, heartbeatMilliseconds = HEARTBEAT }: RedisTransportOptions): OpenTransport {
  return (listener) => {
    const options: RedisOptions = { ...failFastOptions(COMMAND_TIMEOUT), autoResubscribe: false };
    const publisher = new Redis(url, options);
    const subscriber = new Redis(url, options);
    let subscribed = false;
    let cause = new Error("the connection to Redis is closed");

    const check = (): void => {
      if (subscribed && publisher.status === "ready") listener.connected();
    };
    const lost = (): void => {
      listener.lost(cause);
    };
    for (const connection of [publisher, subscriber]) {
      connection.on("error", (error: Error) => {
        cause = error;
      });
      connection.on("close", lost);
    }
    publisher.on("ready", check);
    subscriber.on("close", () => {
      subscribed = false;
    });
    subscriber.on("ready", () => {
      subscriber.subscribe(channel).then(
        () => {
          subscribed = true;
          check();
        },
        () => subscriber.disconnect(true),
      );
    });
    subscriber.on("message", (_channel: string, text: string) => listener.message(text));

    const heartbeat = setInterval(() => {
      for (const connection of [publisher, subscriber]) {
        if (connection.status !== "ready") continue;
        connection.ping().catch(() => {
          if (connection.status === "ready") connection.disconnect(true);
        });
      }
    }, heartbeatMilliseconds).unref();

    return {
      async publish(text) {
        await publisher.publish(channel, text);
      },
      connected: () => subscribed && publisher.status === "ready",
      async close() {
        clearInterval(heartbeat);
        for (const connection of [publisher, subscriber]) {
          connection.off("close", lost);
          connection.disconnect();
        }
      },
    };
  };
}
