/**
 * Node's reason phrases. They are not imported, because an import of `node:http` evaluates all its exports, including
 * WebSocket, for which Node loads an HTTP client of 5 MB into every thread.
 */
export const { STATUS_CODES } = process.getBuiltinModule("node:http");
