/**
 * Records which plugin this thread runs. A phase and what it calls run with the plugin's number in a word of shared
 * memory. The control thread reads this word when the event loop is blocked.
 *
 * JavaScript has no hook for the moment at which the code of a plugin continues after an await. So the number is set
 * when a phase returns a promise, and when a promise of the node's services settles. It is cleared after the microtasks
 * that are due at that moment have run. In these microtasks the plugin continues, unless it awaits a promise that is
 * neither settled nor from these services.
 */
import { type PluginWords, TICK_MILLISECONDS } from "../shared-memory/heartbeat.ts";

/** A plugin that runs this many milliseconds without a pause counts as blocking: the worker serves no other request. */
export const BLOCKING_MILLISECONDS = 100;
/** When this many ticks have passed, at least BLOCKING_MILLISECONDS lie between the first and the last of them. */
const BLOCKING_TICKS = BLOCKING_MILLISECONDS / TICK_MILLISECONDS + 1;

let words: PluginWords = { running: new Int32Array(1), ticks: new Int32Array(1) };
let report: (plugin: number, milliseconds: number) => void = () => {};

/**
 * @param given The words of this thread in shared memory
 * @param onBlocked Called when a plugin has blocked the event loop in code that follows an await
 */
export function trackPlugins(given: PluginWords, onBlocked: typeof report): void {
  words = given;
  report = onBlocked;
}

export const pluginWords = (): PluginWords => words;

/** Milliseconds for which the event loop has been blocked since the tick; null: fewer than BLOCKING_MILLISECONDS. */
export function blockedSince(tick: number): number | null {
  const passed = (words.ticks[0] as number) - tick;
  return passed < BLOCKING_TICKS ? null : (passed - 1) * TICK_MILLISECONDS;
}

/** The plugin whose continuation ends when the microtasks have run; 0: none. */
let continuing = 0;

/** Records the plugin as running until all microtasks that are due now have run. */
export function continuePlugin(plugin: number): void {
  words.running[0] = plugin;
  if (continuing === plugin) return;
  continuing = plugin;
  const tick = words.ticks[0] as number;
  // A nextTick callback that is added by a microtask runs after all microtasks. Added by another nextTick callback, it
  // would run before them.
  queueMicrotask(() => process.nextTick(endContinuation, plugin, tick));
}

function endContinuation(plugin: number, tick: number): void {
  if (words.running[0] === plugin) words.running[0] = 0;
  if (continuing === plugin) continuing = 0;
  const milliseconds = blockedSince(tick);
  if (milliseconds !== null) report(plugin, milliseconds);
}

/**
 * Returns a promise whose continuation counts as code of the plugin with this number. Default: the plugin that runs; if
 * none runs, the given promise is returned.
 */
export function attributeToPlugin<Value>(promise: Promise<Value>, plugin = words.running[0] as number): Promise<Value> {
  if (plugin === 0) return promise;
  return promise.then(
    (value) => {
      continuePlugin(plugin);
      return value;
    },
    (error: unknown) => {
      continuePlugin(plugin);
      throw error;
    },
  );
}
