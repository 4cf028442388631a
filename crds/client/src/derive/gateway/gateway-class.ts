/** Decides which Gateways belong to an installation. */
import { gatewayController } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import { gatewaySpecOf } from "./gateway-api.ts";

/** Whether a GatewayClass belongs to the installation with this class. */
export const isOwnGatewayClass = ({ spec }: Resource, className: string): boolean =>
  spec?.controllerName === gatewayController(className);

/**
 * Whether a Gateway belongs to the installation with this class: the GatewayClass that it names has the controller of
 * the installation or, if no such GatewayClass is known, has the name of the installation's class. Operators with
 * rights in some namespaces only cannot read GatewayClasses.
 *
 * @param gatewayClass Looks up a GatewayClass by its name.
 */
export function isOwnGateway(
  gateway: Resource,
  className: string,
  gatewayClass: (name: string) => Resource | undefined,
): boolean {
  const { gatewayClassName } = gatewaySpecOf(gateway);
  const found = gatewayClass(gatewayClassName);
  return found ? isOwnGatewayClass(found, className) : gatewayClassName === className;
}
