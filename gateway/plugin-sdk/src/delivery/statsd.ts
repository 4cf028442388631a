/** Metrics in the text format of StatsD, for the plugins statsd and datadog. */
import { isRecord } from "../schema/node.ts";
import { conditionalViolations, type RecordMembers } from "../schema/rules.ts";
import type { Violation } from "../violation.ts";

/** The types of metrics and their codes. */
export const statTypes = {
  counter: "c",
  gauge: "g",
  histogram: "h",
  meter: "m",
  set: "s",
  timer: "ms",
  distribution: "d",
} as const;

export type StatType = keyof typeof statTypes;

/** Whether a metric of the config lacks the rate that its type requires. */
const lacksRate = ({ stat_type: type, sample_rate: rate }: RecordMembers): boolean =>
  (type === "counter" || type === "gauge") && (rate === null || rate === undefined);

/** Checks that metrics of the types counter and gauge have a `sample_rate`. */
export const checkSampleRates = (metrics: unknown): readonly Violation[] =>
  (Array.isArray(metrics) ? metrics : []).flatMap((metric, at) =>
    isRecord(metric) && lacksRate(metric)
      ? conditionalViolations("stat_type", ["sample_rate"], "required field missing").map(({ path, message }) => ({
          path: ["metrics", at, ...path],
          message,
        }))
      : [],
  );

/** Characters that have a meaning in the format, and white space. */
const UNSAFE = /[\s:|@#,]/g;

/** Replaces characters of an entity's name or id that would change the format of a line. */
export const statsdText = (value: string): string => value.replace(UNSAFE, "_");

export interface StatsdSample {
  readonly value: number | string;
  readonly type: StatType;
  /** Null or 1: the line contains no rate. */
  readonly sampleRate: number | null;
}

/**
 * The value, type and sample rate in a line. As in Kong, a line is sent for every request, whatever the rate: the
 * server may scale the value by the rate.
 */
export const statsdSampleText = ({ value, type, sampleRate }: StatsdSample): string =>
  `:${value}|${statTypes[type]}${sampleRate === null || sampleRate === 1 ? "" : `|@${sampleRate}`}`;
