import assert from "node:assert/strict";
import { test } from "node:test";
import { explainsAsTheProxyDoes, REQUESTS } from "./testing-differential.ts";

const SEED = 20_261_128;
const DOCUMENTS = 30;

/** What the random requests must include, so that the test compares more than requests without a route. */
const statuses = ["forwarded", "302", "400", "401", "404", "429", "503"];
const features = ["listener", "consumer", "of a route", "of a service", "of a consumer", "of a consumer_group"];

test(`for ${DOCUMENTS * REQUESTS} random requests, an explanation names the route, the status and the request that the proxy then sends, and changes nothing`, async () => {
  const tally = await explainsAsTheProxyDoes({ documents: DOCUMENTS, seed: SEED });
  for (const kind of [...statuses, ...features])
    assert.ok((tally.get(kind) ?? 0) > 0, `no request was ${kind}: ${[...tally].join(" ")}`);
});
