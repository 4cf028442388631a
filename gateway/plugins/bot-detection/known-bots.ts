/**
 * The bots that Kong 3.9 refuses. The names come from the list of the project uap-core
 * (https://github.com/ua-parser/uap-core), without the parts that only extract versions.
 */
import { compileRegex, type Regex } from "@sluice/plugin-sdk";

/** Names that identify a bot wherever they occur. Names with "spider" or "crawl" need not be listed: see `patterns`. */
const names = [
  // HTTP client libraries
  ...["Google-HTTP-Java-Client", "Apache-HttpClient", "Go-http-client", "scalaj-http", "http%20client"],
  ...["Python-urllib", "HttpMonitor", "TLSProber", "WinHTTP", "JNLP", "okhttp", "aihttp", "reqwest", "axios"],
  ...["unirest-java", "unirest-python", "unirest-ruby", "unirest-nodejs", "unirest-php", "unirest-net"],
  // Bots
  ...["Cityreview Robot", "Finderbots", "Job Roboter", "SiteCat Webbot", "BotName/$BotVersion", "50.nu", "Aboundex"],
  ...["AdsBot-Google", "altavista", "AppEngine-Google", "archiver", "Ask Jeeves", "bingbot", "BingPreview"],
  ...["blitzbot", "BlogBridge", "Bloglovin", "BoardReader Blog Indexer", "BoardReader Favicon Fetcher", "BotSeer"],
  ...["BUbiNG", "favicon", "Catchpoint", "Charlotte", "charlotte", "Checklinks", "clumboot", "Comodo-Webinspector"],
  ...["CRAWL-E", "Daumoa", "Feed Seeker Bot", "Feedbin", "findlinks", "Flamingo_SearchEngine", "FollowSite Bot"],
  ...["furlbot", "Genieo", "gigabot", "GomezAgent", "gonzo1", "Googlebot", "Google SketchUp", "grub-client"],
  ...["gsa-crawler", "heritrix", "HiddenMarket", "holmes", "HooWWWer", "htdig", "ia_archiver", "Icarus6j", "ichiro"],
  ...["IconSurf", "IlTrovatore", "InfuzApp", "InternetArchive", "KaloogaBot", "Kraken", "Kurzor", "larbin", "LEIA"],
  ...["LesnikBot", "Linguee Bot", "LinkAider", "LinkedInBot", "Lite Bot", "Llaut", "lycos", "Mail.RU_Bot"],
  ...["masscan", "masidani_bot", "Mediapartners-Google", "mogimogi", "mozDex", "MJ12bot", "msnbot", "msrbot"],
  ...["Mtps Feed Aggregation System", "netresearch", "Netvibes", "NewsGator", "Nutch", "Nymesis", "ObjectsSearch"],
  ...["OgScrper", "Orbiter", "OOZBOT", "PagePeeker", "PagesInventory", "PaxleFramework", "Peeplo Screenshot Bot"],
  ...["PlantyNet_WebRobot", "Pompos", "Qwantify", "Read%20Later", "Reaper", "RedCarpet", "Retreiver", "Riddler"],
  ...["Rival IQ", "scooter", "Scrapy", "Scrubby", "searchsight", "seekbot", "semanticdiscovery", "SemrushBot"],
  ...["Simpy", "SimplePie", "SEOstats", "SimpleRSS", "SiteCon", "Slackbot-LinkExpanding", "Slack-ImgProxy", "Slurp"],
  ...["snappy", "Squrl Java", "Stringer", "TheUsefulbot", "ThumbShotsBot", "Thumbshots.ru", "Tiny Tiny RSS"],
  ...["Twitterbot", "WhatsApp", "URL2PNG", "Vagabondo", "VoilaBot", "Votay bot", "Web-sniffer", "WebThumb"],
  ...["WhatWeb", "WIRE", "WordPress", "Wotbox", "www.almaden.ibm.com", "Xenu Link Sleuth", "yacy", "YahooSeeker"],
  ...["YodaoBot", "YottaaMonitor", "Yowedo", "ZeBot_www.ze.bz", "ZooShot", "ZyBorg"],
];

/** Names that identify a bot if they begin a word and a version follows them. */
const versioned = [
  ...["008", "Altresium", "Argus", "BaiduMobaider", "BoardReader", "DNSGroup", "DataparkSearch", "EDI", "Goodzer"],
  ...["Grub", "INGRID", "Infohelfer", "LOOQ", "PathDefender", "Peew", "PostPost", "Steeler", "VSE", "WebZIP"],
  ...["Y!J-BR[A-Z]", "envolk", "sproose", "wminer", "WebCrunch"],
];

const patterns = [
  // Words that identify a bot, alone or with a version
  ...["[Ss][Pp][Ii][Dd][Ee][Rr]", "[Cc][Rr][Aa][Ww][Ll]", "[Ss]crape", "(?:[Aa]rchiver|[Ii]ndexer|[Bb]ot)[/ ][0-9]"],
  String.raw`/(?:[A-z]+[Bb]ot|Axtaris|fetchurl|Isara|ShopSalad|Tailsweep)[ \-][0-9]`,
  String.raw`\b(?:${versioned.join("|")})/[0-9]`,
  // Single products
  String.raw`Pingdom\.com_bot_version_[0-9]+\.[0-9]`,
  String.raw`facebookexternalhit/[0-9]+\.[0-9]`,
  String.raw`Google.*/\+/web/snippet`,
  String.raw` PTST/[0-9]+\.?[0-9]+$`,
  String.raw`\b(?:Boto3?|JetS3t|s3fs|aws-cli|aws-sdk-(?:cpp|go|java|nodejs|ruby2?|dotnet-(?:[0-9]{1,2}|core)))/[0-9]+\.[0-9]`,
  ...[
    "^NING",
    "^vortex",
    "^voyager",
    "^Zao",
    String.raw`\bYeti`,
    String.raw`jbot\b`,
    String.raw`archive.{0,30}\.org_bot`,
  ],
  ...["Accoona-[A-z]{1,30}-Agent", "IP2[a-z]{1,30}Bot", "Microsoft .{0,30} Bot", "Xerka [A-z]{1,30}Bot", "WeSEE:[A-z]"],
  ...[String.raw`Yandex\w`, "WASALive.Bot", "boitho.com-dc", "Xenu.s Link Sleuth"],
];

const escaped = (name: string) => name.replace(/[.$]/g, "\\$&");

function compile(): readonly Regex[] {
  return [names.map(escaped).join("|"), patterns.join("|")].map((source) => {
    const { value, violations } = compileRegex(source);
    if (value === undefined) throw new Error(`the list of bots is invalid: ${violations[0]?.message}`);
    return value;
  });
}

/** Compiled at the first request, because most nodes have no instance of this plugin. */
let regexes: readonly Regex[] | null = null;

/** @param agent The User-Agent without spaces at its ends. */
export function isKnownBot(agent: string): boolean {
  regexes ??= compile();
  return regexes.some((regex) => regex.test(agent));
}
