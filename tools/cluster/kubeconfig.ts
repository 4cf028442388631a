/** The credential of a client: a bearer token, or a client certificate and its key (PEM). */
export type ClientIdentity = { readonly token: string } | { readonly certificate: string; readonly key: string };

/**
 * The text of a kubeconfig with one cluster, one user and one context. It is JSON, which is valid YAML, and embeds all
 * data, so that it works from any working directory.
 */
export function kubeconfig(access: { server: string; authority: string; identity: ClientIdentity }): string {
  const { server, authority, identity } = access;
  const user =
    "token" in identity
      ? { token: identity.token }
      : { "client-certificate-data": base64(identity.certificate), "client-key-data": base64(identity.key) };
  return JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster: { server, "certificate-authority-data": base64(authority) } }],
      users: [{ name: "test", user }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
      "current-context": "test",
    },
    undefined,
    2,
  );
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
