import assert from "node:assert/strict";
import { test } from "node:test";
import { applyChange, emptySnapshot } from "@sluice/model";
import { handlers } from "../plugins/index.ts";
import { fakeExchange, fakeServices } from "../plugins/testing.ts";
import { compile } from "./compile.ts";

const id = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`;

test("an invalid rate limit answers 503 with its reason wherever it would act, and a narrower valid one still rules", async () => {
  const applied = applyChange(emptySnapshot, {
    put: {
      services: [{ id: id(1), host: "up.test" }],
      routes: [
        { id: id(2), paths: ["/closed"], service: { id: id(1) } },
        { id: id(3), paths: ["/open"], service: { id: id(1) } },
      ],
      plugins: [
        { id: id(4), name: "rate-limiting", service: { id: id(1) }, _sluice: { unavailable: "no minute" } },
        { id: id(5), name: "rate-limiting", route: { id: id(3) }, config: { minute: 5 } },
      ],
    },
    remove: {},
  });
  assert.equal(applied.violations, undefined);
  const runtime = compile(null, applied.value, { handlers, services: fakeServices() });
  const answerOf = async (path: string) => {
    const match = runtime.match({
      method: "GET",
      path,
      scheme: "http",
      host: "gateway.test",
      serverName: null,
      headerValues: () => [],
    });
    assert.ok(match);
    const [step] = match.part.chains.http.anonymous;
    return step?.instance.access?.(fakeExchange());
  };
  assert.deepEqual(await answerOf("/closed"), { status: 503, message: "no minute" });
  assert.equal(await answerOf("/open"), undefined);
});
