import { createTestingStore } from "../../../gateway/src/admin/testing-store.ts";
import { adminOver } from "./over.ts";
import { describeAdmin } from "./suite.ts";

describeAdmin("memory", () => adminOver(createTestingStore()));
