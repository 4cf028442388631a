import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { createDirectoryClient } from "@sluice/crds";
import { describeForeignKinds } from "./foreign-kinds.ts";
import { quietLog } from "./log.ts";
import { describeResourceClient } from "./suite.ts";

const directory = mkdtempSync(join(tmpdir(), "sluice-directory-"));
after(() => rmSync(directory, { recursive: true }));

let namespaces = 0;
const holder = () => ({
  client: () => createDirectoryClient({ directory, log: quietLog }),
  namespace: async () => `case-${++namespaces}`,
});
describeResourceClient("a directory", holder);
describeForeignKinds("a directory", holder);
