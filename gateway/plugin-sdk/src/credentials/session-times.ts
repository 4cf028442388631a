/** The three timeouts of a session that is kept in a cookie, with the meaning that Kong's plugins give them. */

/** Unix seconds. */
export interface SessionTimes {
  readonly created: number;
  /** When the session was created or last renewed. */
  readonly renewed: number;
  /**
   * The last recorded use. With an idle timeout, a use is recorded if the previous record is at least a minute old, or
   * at least half of the timeout if that is shorter. Renewal records a use as well.
   */
  readonly used: number;
}

/** Seconds; 0 switches a limit off. */
export interface SessionTimeouts {
  /** How long a session may be unused. */
  readonly idling: number;
  /** After how long a session ends, unless a use in the last quarter of this time has renewed it. */
  readonly rolling: number;
  /** How long a session may exist, however often it is renewed. */
  readonly absolute: number;
}

/** A session is renewed only in the last quarter of its rolling timeout, so that few responses set its cookie. */
const RENEWED_AFTER = 0.75;
/** Minimum seconds between two cookies that only record the use of a session, unless the idle timeout is short. */
const USE_RECORDED_AFTER = 60;

export const newSession = (now: number): SessionTimes => ({ created: now, renewed: now, used: now });

/** The times after a use: the same object if the cookie need not be set again. Null: the session has ended. */
export function useSession(
  times: SessionTimes,
  { idling, rolling, absolute }: SessionTimeouts,
  now: number,
): SessionTimes | null {
  const hasEnded = (since: number, timeout: number) => timeout > 0 && now - since >= timeout;
  const { created, renewed, used } = times;
  if (hasEnded(created, absolute) || hasEnded(renewed, rolling) || hasEnded(used, idling)) return null;
  if (hasEnded(renewed, rolling * RENEWED_AFTER)) return { created, renewed: now, used: now };
  const recordedAfter = Math.min(USE_RECORDED_AFTER, idling / 2);
  return idling > 0 && hasEnded(used, recordedAfter) ? { ...times, used: now } : times;
}
