import { createConcurrencyMemory, sharedConcurrency } from "../../../gateway/src/counters/concurrency.ts";
import { concurrencySuite } from "./suite.ts";

concurrencySuite("slots that workers share", () => {
  const memory = createConcurrencyMemory(2, 200);
  return [sharedConcurrency(memory, 1), sharedConcurrency(memory, 2)];
});
