import { type Browser, chromium } from "playwright-core";
import { obtainTool } from "./tool.ts";

/**
 * No sandbox, because Chromium refuses to run as root with one, and all pages are our own. The last three flags disable
 * background network requests.
 */
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * Starts the machine's Chromium (installed when missing), headless, with an empty profile. Close it with `close()`;
 * Playwright ends it when this process ends.
 */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: await obtainTool("chromium"), args: flags, headless: true });
}
