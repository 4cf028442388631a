/** Plans over a file: they do not depend on the operator. The directory runs all tables; the other stores, in e2e. */
import { holdFile } from "./over.ts";
import { planningTable } from "./rows/planning.ts";
import { describeAdmin } from "./suite.ts";

describeAdmin("a file that may be written", holdFile, { tables: [planningTable] });
