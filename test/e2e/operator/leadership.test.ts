/**
 * Leaders that are killed, ended, stopped or lose their Lease, and two leaders that never alternate a node's document. These
 * tests are fast enough for `npm test` and are defined there; they are imported here because this suite covers all faults.
 */
import "../../product/cluster/leadership.test.ts";
