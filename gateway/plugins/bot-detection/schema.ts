/** Config of bot-detection: which clients are refused by their User-Agent. */
import { array, definePluginFacts, record, type Static, text } from "@sluice/plugin-sdk";

const patterns = (description: string) =>
  array(text({ description: "A regular expression for any part of User-Agent.", rule: "regex", maxLength: 1024 }), {
    description,
    default: [],
    maxItems: 256,
  });

const schema = record(
  {
    allow: patterns(
      "Regular expressions. A User-Agent that matches one is allowed, even if another rule refuses it. Default: none.",
    ),
    deny: patterns(
      "Regular expressions. A User-Agent that matches one is refused, in addition to well-known bots. Default: none.",
    ),
  },
  { description: "Refuses requests of well-known bots with 403, by their User-Agent header." },
);

export type BotDetectionConfig = Static<typeof schema>;

export const botDetectionFacts = definePluginFacts({
  name: "bot-detection",
  version: "0.1.0",
  priority: 2500,
  protects: true,
  refuses: ["consumer"],
  schema,
});
