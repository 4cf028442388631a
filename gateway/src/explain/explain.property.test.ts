import assert from "node:assert/strict";
import { test } from "node:test";
import { explainsAsTheProxyDoes, REQUESTS } from "./testing-differential.ts";

const SEED = 20_261_128;
const DOCUMENTS = 30;

test(`for ${DOCUMENTS * REQUESTS} random requests, an explanation names the route, the status and the request that the proxy then sends, and changes nothing`, async () => {
  const tally = await explainsAsTheProxyDoes({ documents: DOCUMENTS, seed: SEED });
  for (const kind of ["forwarded", "401", "404", "413", "429", "503"])
    assert.ok((tally.get(kind) ?? 0) > 0, `no request was ${kind}: ${[...tally].join(" ")}`);
});
