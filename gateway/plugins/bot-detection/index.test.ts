import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeExchangeOptions, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, filledBotDetection } from "../../../test/plugins/filled-configs.ts";
import { botDetection } from "./index.ts";
import type { BotDetectionConfig } from "./schema.ts";

function statusOf(config: Partial<BotDetectionConfig>, headers: FakeExchangeOptions["headers"]): number {
  const plugin = botDetection.phases({ allow: [], deny: [], ...config }, fakeContext());
  const response = plugin.access?.(fakeExchange({ headers }));
  assert.ok(!(response instanceof Promise));
  return response?.status ?? 200;
}

const browser = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_5) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/50.0";
const facebook = "facebookexternalhit/1.1";
const google = "Googlebot/2.1 (+http://www.google.com/bot.html)";

type Variant = readonly [agent: string, config: Partial<BotDetectionConfig>, status: number];

const variants: readonly Variant[] = [
  [browser, {}, 200],
  ["HelloWorld", {}, 200],
  ["curl/7.43.0", {}, 200],
  ["", {}, 200],
  [google, {}, 403],
  [facebook, {}, 403],
  [` ${google}\t`, {}, 403],
  ["HelloWorld", { deny: ["HelloWorld"] }, 403],
  ["helloworld", { deny: ["HelloWorld"] }, 200],
  [" HelloWorld ", { deny: ["^HelloWorld$"] }, 403],
  [facebook, { allow: [facebook] }, 200],
  [google, { allow: [facebook] }, 403],
  ["HelloWorld", { allow: ["World"], deny: ["Hello"] }, 200],
];

/** One agent for each kind of rule, and similar agents that are not bots. */
const agents: readonly (readonly [agent: string, isBot: boolean])[] = [
  ["Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)", true],
  ["Mozilla/5.0 Google (+https://developers.google.com/+/web/snippet/)", true],
  ["Twitterbot/1.0", true],
  ["aws-sdk-nodejs/2.1 linux", true],
  ["Boto3/1.9.2", true],
  ["aws-sdk-other/2.1", false],
  ["Mozilla/5.0 Chrome/50 PTST/180", true],
  ["Mozilla/5.0 PTST/180 more", false],
  ["Mozilla/5.0 (compatible)/SomeBot 1.0", true],
  ["Grub/2.0", true],
  ["Grub", false],
  ["xGrub/2.0", false],
  ["Mozilla/2.0 (compatible; MSIE 4.0; Windows; MSIECrawler)", true],
  ["okhttp/4.9", true],
  ["Go-http-client/1.1", true],
  ["NewSpider", true],
  ["someindexer/3", true],
  ["my bot", false],
  ["my bot 2", true],
  ["robot", false],
  ["CUBOT X18", false],
  ["vortex", true],
  ["a vortex", false],
  ["Mozilla/5.0 (compatible; YandexBot/3.0)", true],
  ["Yandex", false],
];

describe("bot-detection", () => {
  for (const [agent, config, status] of variants) {
    it(`answers ${status} to '${agent}' with ${JSON.stringify(config)}`, () => {
      assert.equal(statusOf(config, { "user-agent": agent }), status);
    });
  }

  for (const [agent, isBot] of agents) {
    it(`${isBot ? "refuses" : "admits"} '${agent}'`, () => {
      assert.equal(statusOf({}, { "user-agent": agent }), isBot ? 403 : 200);
    });
  }

  it("admits a request without User-Agent whatever is denied", () => assert.equal(statusOf({ deny: [".*"] }, {}), 200));

  it("answers 400 to a request with two User-Agent headers, whatever their values", () => {
    const plugin = botDetection.phases({ allow: [browser], deny: [] }, fakeContext());
    for (const agents of [
      [browser, browser],
      [browser, google],
      [google, browser],
    ]) {
      const answer = plugin.access?.(fakeExchange({ headers: { "user-agent": agents } }));
      assert.deepEqual(answer, { status: 400, message: "Only one User-Agent header allowed" });
    }
  });

  it("refuses a denied User-Agent and admits another one in the first and in later requests", () => {
    const plugin = botDetection.phases({ allow: [], deny: ["x"] }, fakeContext());
    const answers = ["x", "y", "x", "y"].map((agent) =>
      plugin.access?.(fakeExchange({ headers: { "user-agent": agent } })),
    );
    const refused = { status: 403, message: "Forbidden" };
    assert.deepEqual(answers, [refused, undefined, refused, undefined]);
  });

  it("decides in time proportional to the length of the User-Agent", () => {
    const started = performance.now();
    assert.equal(statusOf({}, { "user-agent": "Google archive Microsoft ".repeat(600) }), 200);
    assert.ok(performance.now() - started < 2000);
  });

  it("refuses an invalid regular expression", () => {
    assert.match(String(configViolations("bot-detection", { deny: ["(bot"] })), /^deny\.0: not a valid regex: \(bot/);
  });

  it("has no allowed and no denied agents by default", () => {
    assert.deepEqual(filledBotDetection, { allow: [], deny: [] });
  });
});
