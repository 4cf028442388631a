import { after } from "node:test";
import { createDirectoryStateBackend } from "@sluice/crds";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { stateBackendSuite } from "./suite.ts";

const folder = temporaryFolder("own-store");
after(() => folder.remove());

stateBackendSuite({ name: "directory", open: (name) => createDirectoryStateBackend(folder.path, name) });
