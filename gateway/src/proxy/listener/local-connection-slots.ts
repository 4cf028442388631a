/** Connection slots of a listener that does not share them with other threads. */
import type { ConnectionSlots } from "../engine.ts";
import type { ProxySettings } from "../settings.ts";

export function createLocalConnectionSlots(
  limits: Pick<ProxySettings, "maxConnections" | "maxConnectionsPerAddress">,
): ConnectionSlots {
  const { maxConnections, maxConnectionsPerAddress } = limits;
  const counts = new Map<string, number>();
  let left = maxConnections;
  return {
    acquire(address) {
      if (left === 0) return false;
      if (maxConnectionsPerAddress > 0) {
        const count = counts.get(address) ?? 0;
        if (count >= maxConnectionsPerAddress) return false;
        counts.set(address, count + 1);
      }
      left--;
      return true;
    },
    release(address) {
      left++;
      const count = counts.get(address) ?? 0;
      if (count > 1) counts.set(address, count - 1);
      else counts.delete(address);
    },
  };
}
