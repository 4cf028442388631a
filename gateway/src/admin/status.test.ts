import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, test } from "node:test";
import { startRig } from "./testing.ts";

test("a connection on which nothing is asked counts as waiting, not as writing", async () => {
  const rig = await startRig();
  after(() => rig.close());
  const idle = connect(rig.admin.address.port, "127.0.0.1");
  after(() => idle.destroy());
  await once(idle, "connect");
  const { body } = await rig.ask("GET", "/status");
  const { server } = body as { server: Record<string, number> };
  assert.equal(server.connections_active, 2);
  assert.equal(server.connections_writing, 1);
  assert.equal(server.connections_waiting, 1);
});
