/**
 * Counters with sliding windows, from counters with fixed ones: the part of the window before that counts is taken from
 * the limit of the present window. The window before has ended, so its value changes only by requests that were in
 * progress at its end, or whose node has a clock that is behind.
 */
import type { Counter, CounterOptions, CounterResult, Counters } from "@sluice/plugin-sdk";

type Values = readonly number[];

type SlidingOf = Pick<Counters, "incrementBelowLimit" | "addAmount">;

/** All counters of a call must have the member `sliding`. */
export function slidingCounters(counters: SlidingOf): SlidingOf {
  const previousOf = (wanted: readonly Counter[], options: CounterOptions): Values | Promise<Values> =>
    counters.addAmount(wanted.map(previousWindow), 0, options);

  function take(wanted: readonly Counter[], previous: Values, options: CounterOptions) {
    const carried = carriedOf(wanted, previous);
    const limited = wanted.map((counter, at) => ({ ...counter, limit: counter.limit - (carried[at] ?? 0) }));
    const estimate = ({ admitted, counts }: CounterResult): CounterResult => ({
      admitted,
      counts: sums(counts, carried),
      previous,
    });
    const result = counters.incrementBelowLimit(limited, options);
    return result instanceof Promise ? result.then(estimate) : estimate(result);
  }

  return {
    incrementBelowLimit(wanted, options) {
      const previous = previousOf(wanted, options);
      if (!(previous instanceof Promise)) return take(wanted, previous, options);
      return previous.then((values) => take(wanted, values, options));
    },
    addAmount(wanted, amount, options) {
      const previous = previousOf(wanted, options);
      const own = counters.addAmount(wanted, amount, options);
      if (!(previous instanceof Promise) && !(own instanceof Promise)) return sums(own, carriedOf(wanted, previous));
      return Promise.all([own, previous]).then(([counts, before]) => sums(counts, carriedOf(wanted, before)));
    },
  };
}

function previousWindow(counter: Counter): Counter {
  const { windowStart, sliding } = counter;
  return { ...counter, windowStart: sliding?.previousStart ?? windowStart };
}

const carriedOf = (wanted: readonly Counter[], previous: Values): Values =>
  wanted.map(({ sliding }, at) => Math.ceil((previous[at] ?? 0) * (sliding?.weight ?? 0)));

const sums = (counts: Values, carried: Values): Values => counts.map((count, at) => count + (carried[at] ?? 0));
