import { openProcessEvents } from "./events.ts";
import { eventsSuite } from "./suite.ts";

eventsSuite({ name: "this process alone", open: async () => openProcessEvents() });
