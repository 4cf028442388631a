/** Doing what requests want written. */
import type { Effect, Store, WriteOutcome } from "../../stores/store.ts";
import { type HttpError, writeFaultError } from "../http/errors.ts";
import type { PreparedWrite } from "../requests.ts";

export interface PerformWritesOptions {
  /** Also what other managers own. */
  readonly force: boolean;
  /** Tell the effects, and write nothing. */
  readonly plan: boolean;
}

export interface PerformedWrites<One extends PreparedWrite> {
  readonly steps: readonly One[];
  /** Of each step's writes. */
  readonly effects: readonly (readonly Effect[])[];
  readonly programmed?: WriteOutcome["programmed"];
}

/** How often somebody else may be quicker. */
const ATTEMPTS = 24;

/**
 * Works steps out and writes them, all or none; anew from what there is by then when somebody else was quicker.
 *
 * @param workOut called with the ids that the store said to be taken.
 * @param told the refusal of a step, as its request shall be answered.
 * @throws HttpError.
 */
export async function performWrites<One extends PreparedWrite>(
  store: Store,
  workOut: (taken: ReadonlySet<string>) => Promise<readonly One[]>,
  {
    told = (error) => error,
    ...options
  }: PerformWritesOptions & { readonly told?: (error: HttpError, step: One) => HttpError },
): Promise<PerformedWrites<One>> {
  const taken = new Set<string>();
  for (let attempt = 1; ; attempt++) {
    const steps = await workOut(taken);
    const writes = steps.flatMap((step) => step.writes);
    const outcome: WriteOutcome = writes.length === 0 ? { effects: [] } : await store.write(writes, options);
    if (!outcome.fault) {
      const effects = distribute(steps, outcome.effects);
      return { steps, effects, ...(outcome.programmed && { programmed: outcome.programmed }) };
    }
    const { fault, index } = outcome;
    const step = stepOf(steps, index);
    if (fault.kind === "primary-key") taken.add(fault.id);
    if (attempt < ATTEMPTS && (await step.isRetryable(fault))) continue;
    throw told(writeFaultError(fault, step.attempt), step);
  }
}

function distribute(steps: readonly PreparedWrite[], effects: readonly Effect[]): readonly (readonly Effect[])[] {
  const rest = [...effects];
  return steps.map(({ writes }) => rest.splice(0, writes.length));
}

function stepOf<One extends PreparedWrite>(steps: readonly One[], index: number): One {
  let from = 0;
  for (const step of steps) {
    from += step.writes.length;
    if (index < from) return step;
  }
  throw new TypeError(`the store tells of a write ${index} that it was not given`);
}
