import { holdFile } from "../../conformance/admin/over.ts";
import { describeAdmin } from "../../conformance/admin/suite.ts";

describeAdmin("a file that may be written", holdFile);
