/**
 * The number of random cases of a property test: `usual` in `npm test`, and the multiple of it that `npm run fuzz` sets.
 * For properties whose cases take long: each run of `npm test` tries a few new ones, and the long run tries many.
 */
import fc from "fast-check";

/** The environment variable with the factor. */
export const CASES_FACTOR = "TEST_CASES_FACTOR";

/** The environment variable with the seed of all properties of a file. Without it, each property has a new one. */
export const CASES_SEED = "TEST_CASES_SEED";

const seed = process.env[CASES_SEED];
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });

export const randomCases = (usual: number): number => usual * Number(process.env[CASES_FACTOR] ?? 1);
