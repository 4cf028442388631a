/** The facts of a plugin that does not come with Sluice. */
import { definePluginFacts, integer, record } from "@sluice/plugin-sdk";

export const openingHoursFacts = definePluginFacts({
  name: "opening-hours",
  version: "1.0.0",
  priority: 900,
  protects: true,
  schema: record({ from: integer({ description: "The first open hour.", default: 8 }) }, { description: "Hours." }),
});
