/**
 * The budget of a service's retries (`retry_budget`), as in Envoy: a limit on how many requests are being retried at the
 * same time, as a share of all requests in flight. So retries cannot multiply the load of an upstream that fails.
 */
import type { Service } from "@sluice/model";

type Limits = NonNullable<Service["retry_budget"]>;

export class RetryBudget {
  readonly #limits: Limits;
  #active = 0;
  #retrying = 0;

  private constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** The budget of a service; null: it has none. The previous budget is kept, with its counts, if its limits are equal. */
  static of({ retry_budget: limits }: Pick<Service, "retry_budget">, previous: RetryBudget | null): RetryBudget | null {
    if (limits === null) return null;
    const before = previous === null ? null : previous.#limits;
    const isSame = before?.percent === limits.percent && before.min_concurrency === limits.min_concurrency;
    return isSame ? previous : new RetryBudget(limits);
  }

  begin(): BudgetedRequest {
    this.#active++;
    return new BudgetedRequest(this);
  }

  /** @returns false if another request must not be retried now */
  takeRetry(): boolean {
    const { percent, min_concurrency } = this.#limits;
    if (this.#retrying >= Math.max(min_concurrency, (this.#active * percent) / 100)) return false;
    this.#retrying++;
    return true;
  }

  end(isRetried: boolean): void {
    this.#active--;
    if (isRetried) this.#retrying--;
  }
}

/** One request in flight. It counts as a retried request from its first retry to its end. */
export class BudgetedRequest {
  #budget: RetryBudget | null;
  #isRetried = false;

  constructor(budget: RetryBudget) {
    this.#budget = budget;
  }

  mayRetry(): boolean {
    this.#isRetried ||= this.#budget?.takeRetry() ?? false;
    return this.#isRetried;
  }

  /** Further calls have no effect. */
  end(): void {
    this.#budget?.end(this.#isRetried);
    this.#budget = null;
  }
}
