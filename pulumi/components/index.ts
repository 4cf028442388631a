/** Component resources for an installation of Sluice and its parts. */
export { AdminComponent, GatewayComponent, OperatorComponent, PostgresComponent, RedisComponent } from "./parts.ts";
export { Sluice, type SluiceOptions } from "./sluice.ts";
export { UserApiComponent, type UserApiOptions } from "./user-api.ts";
