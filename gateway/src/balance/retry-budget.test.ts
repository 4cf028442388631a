import assert from "node:assert/strict";
import { test } from "node:test";
import { RetryBudget } from "./retry-budget.ts";

const budgetOf = (percent: number, min_concurrency: number, previous: RetryBudget | null = null) => {
  const budget = RetryBudget.of({ retry_budget: { percent, min_concurrency } }, previous);
  assert.ok(budget);
  return budget;
};

/** The limits, the number of requests in progress, and how many of them may be sent again at the same time. */
const table: readonly (readonly [percent: number, least: number, active: number, retried: number])[] = [
  [20, 3, 10, 3],
  [20, 3, 30, 6],
  [20, 0, 4, 1],
  [100, 0, 5, 5],
  [0, 0, 5, 0],
  [0, 2, 5, 2],
];
for (const [percent, least, active, retried] of table)
  test(`a budget of ${percent} percent and at least ${least} lets ${retried} of ${active} requests be sent again`, () => {
    const budget = budgetOf(percent, least);
    const requests = Array.from({ length: active }, () => budget.begin());
    const count = () => requests.filter((request) => request.mayRetry()).length;
    // A request that is being sent again may be sent again once more.
    assert.deepEqual([count(), count()], [retried, retried]);
  });

test("a request that has ended makes room for another one, once", () => {
  const budget = budgetOf(0, 1);
  const [first, second, third] = [budget.begin(), budget.begin(), budget.begin()];
  assert.deepEqual([first.mayRetry(), second.mayRetry()], [true, false]);
  first.end();
  first.end();
  assert.deepEqual([second.mayRetry(), third.mayRetry()], [true, false]);
});

test("a service keeps the counts of its budget as long as the limits are unchanged", () => {
  const budget = budgetOf(20, 1);
  assert.equal(budgetOf(20, 1, budget), budget);
  assert.notEqual(budgetOf(20, 2, budget), budget);
  assert.equal(RetryBudget.of({ retry_budget: null }, budget), null);
});
