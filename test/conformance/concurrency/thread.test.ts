import { ThreadConcurrency } from "../../../gateway/src/counters/concurrency.ts";
import { concurrencySuite } from "./suite.ts";

concurrencySuite("slots of a single worker", () => [new ThreadConcurrency()]);
