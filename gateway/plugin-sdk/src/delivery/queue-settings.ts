/** The member `queue` in the config of plugins that send records or metrics, as in Kong. */
import { choice, decimal, integer, nullable, record, type Static } from "../schema/member.ts";

const MAX_ENTRIES = 1_000_000;
/** The limit of bytes where `max_bytes` is unset: a server that does not answer must not fill the node's memory. */
export const DEFAULT_MAX_BYTES = 32 * 1024 * 1024;

/** @param options.maxBatchSize The default of `max_batch_size`; 1 if omitted. */
export const queueSettings = ({ maxBatchSize = 1 }: { readonly maxBatchSize?: number } = {}) =>
  record(
    {
      max_batch_size: integer({
        description: "Maximum number of entries that are sent together.",
        default: maxBatchSize,
        minimum: 1,
        maximum: MAX_ENTRIES,
      }),
      max_coalescing_delay: decimal({
        description: "Maximum number of seconds that the first entry of a batch waits for others.",
        default: 1,
        minimum: 0,
        maximum: 3600,
      }),
      max_entries: integer({
        description: "Maximum number of waiting entries; above it, the oldest are dropped.",
        default: 10_000,
        minimum: 1,
        maximum: MAX_ENTRIES,
      }),
      max_bytes: nullable(
        integer({
          description:
            "Maximum number of bytes of the waiting entries; above it, the oldest are dropped. Unset: 32 MiB.",
          minimum: 1,
        }),
      ),
      max_retry_time: decimal({
        description: "Seconds after which a batch that cannot be delivered is dropped; -1 never repeats a delivery.",
        default: 60,
      }),
      initial_retry_delay: decimal({
        description: "Seconds before the first retry of a delivery; doubled with each further retry.",
        default: 0.01,
        minimum: 0.001,
        maximum: MAX_ENTRIES,
      }),
      max_retry_delay: decimal({
        description: "Maximum number of seconds between two attempts to deliver a batch.",
        default: 60,
        minimum: 0.001,
        maximum: MAX_ENTRIES,
      }),
      concurrency_limit: choice([-1, 1], {
        description:
          "1 delivers one batch after the other; -1 sends each entry immediately and alone, up to max_entries at a " +
          "time, and drops further ones.",
        default: 1,
      }),
    },
    { description: "The queue of entries in each worker of a node.", default: {} },
  );

export type QueueSettings = Static<ReturnType<typeof queueSettings>>;

/** Deprecated members of a plugin's config that members of `queue` replace, as in Kong. */
export const deprecatedQueueMembers = [
  { name: "queue_size", replacedBy: ["queue", "max_batch_size"] },
  { name: "flush_timeout", replacedBy: ["queue", "max_coalescing_delay"] },
] as const;

/**
 * Settings for plugins whose config has no queue: a delivery is not repeated, and entries that wait are sent together
 * as soon as the previous delivery has ended.
 */
export const fixedQueueSettings: QueueSettings = {
  max_batch_size: 1000,
  max_coalescing_delay: 0,
  max_entries: 10_000,
  max_bytes: null,
  max_retry_time: -1,
  initial_retry_delay: 0.01,
  max_retry_delay: 60,
  concurrency_limit: 1,
};
