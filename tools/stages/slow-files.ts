/**
 * Test files that take long. In a clean clone, which has no durations of an earlier run, they start first: a long file
 * that started last would run alone on one of two cores. Each takes more than a thirtieth of its stage's processor time
 * or waits for intervals most of the time. Shared processes are not listed: they start before the other files.
 */
export const slowFiles: ReadonlySet<string> = new Set([
  "gateway/src/commands/start.test.ts",
  "gateway/src/plugin-harness/middleware.test.ts",
  "test/cluster/classes.test.ts",
  "test/cluster/ownership.test.ts",
  "test/conformance/database/embedded.test.ts",
  "test/conformance/engine/http1.test.ts",
  "test/conformance/store/cluster.test.ts",
  "test/conformance/store/database-embedded.test.ts",
  "test/product/browser.test.ts",
  "test/product/cluster/product.test.ts",
  "test/product/console.test.ts",
  "tools/build/build.test.ts",
  "user-api/src/main.test.ts",
]);
