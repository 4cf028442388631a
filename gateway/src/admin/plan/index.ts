/**
 * Plans: the effects of writes, done or not. Pure, except that `planOfWrites` reads routes and services.
 *
 * | member | content |
 * |---|---|
 * | created | entities, with the members that differ from their defaults |
 * | changed | entities, with `{ member, before, after }` for each member that differs |
 * | deleted | entities, with dependents that are removed too |
 * | requests | sample requests that another route would answer |
 */
export { combineEffects as combine, type EntitySet, pairsBetween } from "./entity-pairs.ts";
export { type ChangePlan, type PlanSummary as Summary, planBetween, planOfWrites, summaryOf } from "./plan.ts";
