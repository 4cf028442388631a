/**
 * Leaders that are killed, shut down or suspended, or that lose their Lease. These tests are fast enough for
 * `npm test`, so they are defined in test/product. They are imported here because the suite of this folder covers all
 * faults.
 */
import "../../product/cluster/leadership.test.ts";
