/** Component resources for a Sluice and its parts. */
export { AdminComponent } from "./admin.ts";
export { GatewayComponent } from "./gateway.ts";
export { OperatorComponent } from "./operator.ts";
export { PostgresComponent } from "./postgres.ts";
export { RedisComponent } from "./redis.ts";
export { Sluice, type SluiceOptions } from "./sluice.ts";
export { UserApiComponent, type UserApiOptions } from "./user-api.ts";
