/** The clocks and the waiting times of the protocol. */

export interface FleetClock {
  /** Milliseconds from any start; never set back. For waiting times. */
  now(): number;
  /** Unix milliseconds. For the ends of windows. */
  wallTime(): number;
}

/**
 * Milliseconds after the end of a window in which its counters are kept, because the clocks of other nodes may be
 * behind. A node whose clock is further behind gets no tokens.
 */
export const WINDOW_GRACE = 15_000;

/** Milliseconds between two attempts to send what was not answered. */
export const RETRY = 20;

/** Milliseconds without an answer after which an owner counts as absent. */
export const OWNER_PATIENCE = 500;

/**
 * Milliseconds until a large part of a report is sent again; doubles with each attempt up to HANDOVER_PATIENCE. A peer
 * needs longer for such a part than for other messages, and copies would delay it further.
 */
export const RESEND_PART = 250;

/** Milliseconds without a new part of a report after which a new owner waits no longer for those of other nodes. */
export const HANDOVER_PATIENCE = 1000;

/** Milliseconds for which an owner waits for the tokens that it has recalled. */
export const RECALL_PATIENCE = 200;

/** Milliseconds for which a node refuses requests by itself after the owner has said that no token is left. */
export const REFUSAL_MEMORY = 100;

/** Milliseconds for which half of the tokens that a node leases in advance should last. */
export const HORIZON = 50;

/** As HORIZON, if the window lasts an hour or longer. */
export const LONG_HORIZON = 200;
