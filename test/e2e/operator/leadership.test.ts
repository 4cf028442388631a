/**
 * Leaders that are killed, ended, stopped or robbed of their Lease, and two that never alternate a node's document: quick
 * enough to run with `npm test`, where they stand, and a part of this list of faults.
 */
import "../../product/cluster/leadership.test.ts";
