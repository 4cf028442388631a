import { after, before, describe } from "node:test";
import { Client } from "pg";
import { type Postgres, startPostgres } from "../../../tools/programs/servers/postgres.ts";
import { openEvents } from "../../../user-api/src/events/events.ts";
import { openNotify } from "../../../user-api/src/events/notify.ts";
import { type CuttableLink, openLink } from "./link.ts";
import { eventsSuite } from "./suite.ts";

describe("LISTEN and NOTIFY", () => {
  let server: Postgres;
  let link: CuttableLink;
  let otherClient: Client;
  before(async () => {
    server = await startPostgres();
    link = await openLink(server.port);
    otherClient = new Client(server.url);
    await otherClient.connect();
  });
  after(async () => {
    await otherClient?.end();
    await link?.cut();
    await server?.stop();
  });

  eventsSuite({
    name: "a real Postgres",
    open: async (options) => {
      const url = new URL(server.url);
      url.port = `${link.port}`;
      return openEvents({
        ...options,
        through: "database",
        open: openNotify({ url: url.href, heartbeatMilliseconds: 200 }),
      });
    },
    between: {
      cut: () => link.cut(),
      freeze: () => link.freeze(),
      mend: () => link.mend(),
      say: async (text) => void (await otherClient.query("select pg_notify('sluice_user_api', $1)", [text])),
    },
  });
});
