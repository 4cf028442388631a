/** Component resources for a Sluice and its parts. */
export { AdminListener } from "./admin-listener.ts";
export { Database } from "./database.ts";
export { Gateway } from "./gateway.ts";
export { Operator } from "./operator.ts";
export { Redis } from "./redis.ts";
export { Sluice, type SluiceOptions } from "./sluice.ts";
export { UserApi, type UserApiOptions } from "./user-api.ts";
