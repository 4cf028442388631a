/** The facts of a plugin that does not come with Sluice and has its own type of credentials. */
import { definePluginFacts, nullable, record, text } from "@sluice/plugin-sdk";

export const deviceTokenFacts = definePluginFacts({
  name: "device-token",
  version: "1.0.0",
  priority: 1100,
  protects: true,
  schema: record({}, { description: "Requires the token of a device." }),
  credentials: {
    key: text({ description: "The device's token.", minLength: 4, maxLength: 64 }),
    schema: record(
      {
        model: text({ description: "The device's model.", default: "any", maxLength: 32 }),
        pin: nullable(text({ description: "A secret.", maxLength: 64, secret: true })),
      },
      { description: "A device." },
    ),
    check: ({ model, pin }) =>
      model === "locked" && pin === null ? [{ path: ["pin"], message: "required for locked devices" }] : [],
  },
});
