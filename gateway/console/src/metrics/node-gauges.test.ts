import assert from "node:assert/strict";
import { test } from "node:test";
import { readFleetGauges } from "./node-gauges.ts";

const read = (...lines: readonly string[]) =>
  readFleetGauges(new Response(`${lines.join("\n")}\n`).body ?? assert.fail());

for (const prefix of ["sluice_", "kong_"]) {
  test(`the state of each node is read from metrics that begin with ${prefix}`, async () => {
    const { nodes, unscraped, entities, missingPlugins } = await read(
      "# TYPE process_resident_memory_bytes gauge",
      'process_resident_memory_bytes{node_id="a"} 1e8',
      'nodejs_eventloop_lag_p99_seconds{node_id="a",worker="0"} 0.01',
      'nodejs_eventloop_lag_p99_seconds{node_id="a",worker="1"} 0.5',
      `${prefix}config_last_reload_successful{node_id="b"} 0`,
      `${prefix}node_scraped{node="10.0.0.3:8007"} 0`,
      `${prefix}${prefix === "kong_" ? "db_entities_total" : "entities"}{node_id="a",kind="routes"} 3`,
      `${prefix}plugins_missing{node_id="a",plugin="gre\\"et"} 1`,
      `${prefix}plugins_missing{node_id="a",plugin="cors"} 0`,
    );
    assert.deepEqual(Object.fromEntries(nodes), { a: { memory: 1e8, lag: 0.5 }, b: { isConfigCurrent: false } });
    assert.deepEqual(
      [[...unscraped], [...entities], [...missingPlugins]],
      [["10.0.0.3:8007"], [["routes", 3]], ['gre"et']],
    );
  });
}

test("a line that is split between two pieces of the response is read as one", async () => {
  const pieces = ['process_resident_memory_bytes{node_id="é', 'a"} 12', "3\n"].map((text) =>
    new TextEncoder().encode(text),
  );
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const { nodes } = await readFleetGauges(body);
  assert.equal(nodes.get("éa")?.memory, 123);
});
