/** Mounts the certificates of one side of the push into its pods. */
import { objectName, type Release } from "./names.ts";

/**
 * The Secret with the certificates of both sides. By default the operator creates it, and the Secret of the authority.
 */
export const pushSecret = (release: Release): string =>
  release.values.push.existingSecret || objectName(release, "push");

const mountPath = "/etc/sluice/push";

/** The volume with the certificate of one side, its mount, and the settings that name the files. */
export function pushVolume(secretName: string, side: "operator" | "gateway") {
  const files = ["ca.crt", `${side}.crt`, `${side}.key`] as const;
  return {
    volume: {
      name: "push",
      secret: { secretName, defaultMode: 0o440, items: files.map((file) => ({ key: file, path: file })) },
    },
    mount: { name: "push", mountPath, readOnly: true },
    env: ["CA", "CERT", "KEY"].map((what, index) => ({
      name: `SLUICE_PUSH_TLS_${what}`,
      value: `${mountPath}/${files[index]}`,
    })),
  };
}
