/** Validates the messages of peers. A peer is authenticated, but may have another version or a fault. */
import { type Counter, type Period, periods, type SlidingWindow } from "@sluice/plugin-sdk";
import type { Account } from "../counters/fleet/accounts.ts";
import type {
  HandoverReceipt,
  HandoverReport,
  LeaseAsk,
  LeaseGrant,
  LeaseRecall,
  PeerMessage,
  ReportedCounter,
} from "../counters/fleet/messages.ts";
import { MAX_COUNTERS } from "../counters/fleet/window-table.ts";

/** Maximum length of a list, and of the name of a counter. */
const MOST = 10_000;

/** Maximum number of parts of a report: one for each counter that a node leases or owns. */
const MAX_PARTS = 2 * MAX_COUNTERS + 1;

/** @throws when the message is invalid */
export function parsePeerMessage(value: unknown): PeerMessage {
  const message = recordOf(value);
  return {
    asks: listOf(message.asks, askOf),
    grants: listOf(message.grants, grantOf),
    recalls: listOf(message.recalls, recallOf),
    reports: listOf(message.reports, reportOf),
    receipts: listOf(message.receipts, receiptOf),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function recordOf(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("expected an object");
  return value as Fields;
}

function listOf<Item>(value: unknown, parse: (item: unknown) => Item): readonly Item[] {
  if (!Array.isArray(value) || value.length > MOST) throw new Error(`expected a list of at most ${MOST} items`);
  return value.map(parse);
}

function textOf(value: unknown): string {
  if (typeof value !== "string" || value.length > MOST) throw new Error("expected a text");
  return value;
}

/** A whole number of at least 0. */
function countOf(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new Error("expected a whole number");
  return value as number;
}

/** A number from 0 to 1. */
function partOf(value: unknown): number {
  if (typeof value !== "number" || !(value >= 0 && value <= 1)) throw new Error("expected a number from 0 to 1");
  return value;
}

function flagOf(value: unknown): boolean {
  if (typeof value !== "boolean") throw new Error("expected true or false");
  return value;
}

function periodOf(value: unknown): Period {
  const period = periods.find((each) => each === value);
  if (period === undefined) throw new Error("expected a period");
  return period;
}

function limitOf(value: unknown): number {
  if (typeof value !== "number" || !(value >= 0)) throw new Error("expected a limit");
  return value;
}

function counterOf(value: unknown): Counter {
  const { name, scope, period, windowStart, expires, limit, sliding } = recordOf(value);
  return {
    name: textOf(name),
    scope: textOf(scope),
    period: periodOf(period),
    windowStart: countOf(windowStart),
    expires: countOf(expires),
    limit: limitOf(limit),
    ...(sliding !== undefined && { sliding: slidingOf(sliding) }),
  };
}

function slidingOf(value: unknown): SlidingWindow {
  const { previousStart, end, weight } = recordOf(value);
  return { previousStart: countOf(previousStart), end: countOf(end), weight: partOf(weight) };
}

function accountOf(value: unknown): Account {
  const { generation, before, granted, returned, used, added } = recordOf(value);
  return {
    generation: countOf(generation),
    before: countOf(before),
    granted: countOf(granted),
    returned: countOf(returned),
    used: countOf(used),
    added: countOf(added),
  };
}

function askOf(value: unknown): LeaseAsk {
  const { counter, account, pending, extra, sequence } = recordOf(value);
  return {
    counter: counterOf(counter),
    account: accountOf(account),
    pending: countOf(pending),
    extra: countOf(extra),
    sequence: countOf(sequence),
  };
}

function grantOf(value: unknown): LeaseGrant {
  const { counter, generation, granted, added, total, previous, exhausted, isFinal, sequence } = recordOf(value);
  return {
    counter: counterOf(counter),
    generation: countOf(generation),
    granted: countOf(granted),
    added: countOf(added),
    total: countOf(total),
    previous: countOf(previous),
    exhausted: flagOf(exhausted),
    isFinal: flagOf(isFinal),
    sequence: countOf(sequence),
  };
}

function recallOf(value: unknown): LeaseRecall {
  const { counter, generation, granted, wanted, share } = recordOf(value);
  return {
    counter: counterOf(counter),
    generation: countOf(generation),
    granted: countOf(granted),
    wanted: countOf(wanted),
    share: partOf(share),
  };
}

/** @throws when the counter is invalid */
export function reportedOf(value: unknown): ReportedCounter {
  const { counter, accounts, seen, overshoot } = recordOf(value);
  return {
    counter: counterOf(counter),
    accounts: listOf(accounts, (each) => {
      const [node, account] = listOf(each, (part) => part);
      return [textOf(node), accountOf(account)] as const;
    }),
    seen: seen === undefined ? undefined : seenOf(seen),
    overshoot: countOf(overshoot),
  };
}

function seenOf(value: unknown): ReportedCounter["seen"] {
  const { epoch, total } = recordOf(value);
  return { epoch: countOf(epoch), total: countOf(total) };
}

function reportOf(value: unknown): HandoverReport {
  const { parts: given, awaited, counters } = recordOf(value);
  const parts = countOf(given);
  if (parts > MAX_PARTS) throw new Error(`expected at most ${MAX_PARTS} parts`);
  return {
    ...receiptOf(value),
    parts,
    awaited: listOf(awaited, textOf),
    counters: listOf(counters, reportedOf),
  };
}

function receiptOf(value: unknown): HandoverReceipt {
  const { epoch, final, part } = recordOf(value);
  return { epoch: countOf(epoch), final: flagOf(final), part: countOf(part) };
}
