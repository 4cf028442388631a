/** bot-detection: refuses bots by their User-Agent (docs/reference/kong-compatibility.md#bot-detection). */
import { compileRegex, type DirectResponse, definePlugin, type Regex, StringCache } from "@sluice/plugin-sdk";
import { isKnownBot } from "./known-bots.ts";
import { botDetectionFacts } from "./schema.ts";

const repeated: DirectResponse = { status: 400, message: "Only one User-Agent header allowed" };
const refused: DirectResponse = { status: 403, message: "Forbidden" };

/** Throws for an invalid regular expression, which the check of the config has already refused. */
function compiled(source: string): Regex {
  const { value, violations } = compileRegex(source);
  if (value === undefined) throw new Error(`bot-detection: ${violations[0]?.message}`);
  return value;
}

export const botDetection = definePlugin({
  ...botDetectionFacts,
  phases(config) {
    const allow = config.allow.map(compiled);
    const deny = config.deny.map(compiled);

    function decide(agent: string): "allowed" | "refused" {
      if (allow.some((regex) => regex.test(agent))) return "allowed";
      return deny.some((regex) => regex.test(agent)) || isKnownBot(agent) ? "refused" : "allowed";
    }

    // Cached, because most requests come from a few kinds of clients.
    const decisions = new StringCache((agent) => decide(agent.trim()));
    return {
      access({ request }) {
        const values = request.headerValues("user-agent");
        const agent = values[0];
        if (agent === undefined) return undefined;
        if (values.length > 1) return repeated;
        return decisions.of(agent) === "refused" ? refused : undefined;
      },
    };
  },
});
