/**
 * Reason phrases of Node. Not by an import: that asks `node:http` for all that it has, WebSocket among it, for which Node
 * loads an HTTP client of 5 MB into every thread.
 */
export const { STATUS_CODES } = process.getBuiltinModule("node:http");
