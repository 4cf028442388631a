/** Measures contestants in turn, round by round, so that changes in the machine's speed affect all alike. */

export interface RoundSample {
  /** Microseconds of CPU of the contestant per request. */
  readonly cpu: number;
  /** The median latency in milliseconds. */
  readonly p50: number;
  /** The 99th percentile of the latency in milliseconds. */
  readonly p99: number;
  readonly perSecond: number;
  /** Bytes of each request or response body, if the bench reports the throughput in MB/s. */
  readonly bytes?: number;
}

export interface Contestant {
  readonly name: string;
  readonly sample: () => Promise<RoundSample>;
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
};

/**
 * Measures the contestants in turn: once as a warm-up, then once in each of `rounds` rounds. Resolves to the samples of
 * these rounds by the contestant's name.
 */
export async function inTurn(contestants: readonly Contestant[], rounds: number): Promise<Map<string, RoundSample[]>> {
  const samples = new Map<string, RoundSample[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round++)
    for (const { name, sample } of contestants) {
      const measured = await sample();
      if (round > 0) samples.get(name)?.push(measured);
      console.log(
        `${round === 0 ? "warm-up" : `round ${round}`}  ${name.padEnd(32)} ${measured.cpu.toFixed(1)} us/request`,
      );
    }
  return samples;
}
