/**
 * The number of random cases of a property test: `usual` in `npm test`, and the multiple of it that `npm run fuzz` sets.
 * For properties whose cases take long: each run of `npm test` tries a few new ones, and the long run tries many.
 */
export const randomCases = (usual: number): number => usual * Number(process.env[CASES_FACTOR] ?? 1);

/** The environment variable with the factor. */
export const CASES_FACTOR = "TEST_CASES_FACTOR";
