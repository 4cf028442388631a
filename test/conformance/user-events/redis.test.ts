import { after, before, describe } from "node:test";
import { Redis } from "ioredis";
import { openEvents } from "../../../user-api/src/events/events.ts";
import { openRedis } from "../../../user-api/src/events/redis.ts";
import { eventsSuite } from "../../../user-api/src/events/suite.ts";
import { type Redis as Server, startRedis } from "../../tools/redis.ts";
import { type Link, openLink } from "./link.ts";

describe("Redis", () => {
  let server: Server;
  let link: Link;
  let stranger: Redis;
  before(async () => {
    server = await startRedis();
    link = await openLink(server.port);
    stranger = new Redis(server.url);
  });
  after(async () => {
    stranger?.disconnect();
    await link?.cut();
    await server?.stop();
  });

  eventsSuite({
    name: "a real Redis",
    open: async (options) =>
      openEvents({
        ...options,
        through: "redis",
        open: openRedis({ url: `redis://127.0.0.1:${link.port}`, channel: "users", heartbeatMilliseconds: 200 }),
      }),
    between: {
      cut: () => link.cut(),
      freeze: () => link.freeze(),
      mend: () => link.mend(),
      say: async (text) => void (await stranger.publish("users", text)),
    },
  });
});
