/** The requests of a consumer that is left out must not be served as requests of another consumer or of none. */
import { type ProtectionTable, testProtection } from "./testing-protection.ts";

type Members = Readonly<Record<string, unknown>>;

const keyAuth = { name: "key-auth" };
const denyBanned = { name: "acl", config: { deny: ["banned"] } };
const caCertificate = `-----BEGIN CERTIFICATE-----
MIIBjjCCATOgAwIBAgIUHS+ewl+MXg8TsMLl8BQrs0mfH0cwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQZ29sZGVuIGF1dGhvcml0eTAgFw0yNjExMjgwMjA4NDVaGA8y
MTI2MTEwNDAyMDg0NVowGzEZMBcGA1UEAwwQZ29sZGVuIGF1dGhvcml0eTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABE5+UKDliRjFxEIwz3YU1licjD9Q3b26MNuo
BNMPmj7EsiVpBt9chAITrHTD4+N4OikVIjaWvM1UyQmSUZRqNaqjUzBRMB0GA1Ud
DgQWBBThA2p806nDMdox2Ug3Yhbbo/A8ATAfBgNVHSMEGDAWgBThA2p806nDMdox
2Ug3Yhbbo/A8ATAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDf
CwSRgTlojcAVc2wFfIQoGMqQGajTepogajezfaVE6QIhAIKVnGgf345LAwbQUhRO
lkfv2AdIJUQcAL45GqKYcDf5
-----END CERTIFICATE-----
`;
const authority = "0d3a1f0e-7c62-4d39-8b42-62a2a0a90001";
const caCertificates = [{ id: authority, cert: caCertificate }];
const mtlsAuth = (config: Members) => ({ name: "mtls-auth", config: { ca_certificates: [authority], ...config } });
const guestByDefault = mtlsAuth({ default_consumer: "guest" });
const openidConnect = {
  name: "openid-connect",
  config: {
    issuer: "https://i.example",
    auth_methods: ["bearer"],
    consumer_claim: ["sub"],
    consumer_optional: true,
    authenticated_groups_claim: ["groups"],
  },
};
const mallory = { username: "mallory", of_the_future: 1 };
const banned = { ...mallory, acls: [{ group: "banned" }] };

const table: ProtectionTable = [
  [
    "mtls-auth with default_consumer answers 503 if a consumer is left out, because it would admit the consumer as the default one",
    { ca_certificates: caCertificates, plugins: [guestByDefault], consumers: [{ username: "guest" }, mallory] },
    {
      closed: ["mtls-auth"],
      left: { consumers: 1 },
      outcomes: ["left out consumers.1.of_the_future", "closed plugins.0.config"],
    },
  ],
  [
    "mtls-auth with anonymous answers 503 if a credential for a subject name is left out",
    {
      ca_certificates: caCertificates,
      plugins: [mtlsAuth({ anonymous: "guest" })],
      consumers: [
        { username: "guest" },
        { username: "mallory", mtls_auth_credentials: [{ subject_name: "m", of_the_future: 1 }] },
      ],
    },
    { closed: ["mtls-auth"], left: { consumers: 2, mtls_auth_credentials: 0 } },
  ],
  [
    "mtls-auth that admits only known consumers is served unchanged if a consumer is left out",
    { ca_certificates: caCertificates, plugins: [mtlsAuth({})], consumers: [mallory] },
    { closed: [], left: { consumers: 0, plugins: 1 } },
  ],
  [
    "mtls-auth and the plugins of a consumer that is left out answer 503 if mtls-auth could admit the consumer's certificate",
    {
      ca_certificates: caCertificates,
      plugins: [
        { ...guestByDefault, route: "open" },
        { name: "request-termination", consumer: "mallory" },
      ],
      consumers: [{ username: "guest" }, mallory],
    },
    { closed: ["mtls-auth of route", "unavailable-request-termination"] },
  ],
  [
    "acl answers 503 if a denied consumer is left out and openid-connect could admit the consumer's tokens",
    { plugins: [openidConnect, { ...denyBanned, service: "s" }], consumers: [banned] },
    { closed: ["acl of service"], left: { acls: 0, consumers: 0, plugins: 2 } },
  ],
  [
    "acl answers 503 if a denied consumer is left out and a plugin could admit it as anonymous",
    {
      plugins: [{ ...keyAuth, config: { anonymous: "guest" } }, denyBanned],
      consumers: [{ username: "guest" }, { ...banned, keyauth_credentials: [{ key: "k" }] }],
    },
    { closed: ["acl"], left: { consumers: 1, plugins: 2 } },
  ],
  [
    "acl and mtls-auth answer 503 if a denied consumer is left out and mtls-auth could admit it as another consumer",
    {
      ca_certificates: caCertificates,
      plugins: [guestByDefault, denyBanned],
      consumers: [{ username: "guest" }, banned],
    },
    { closed: ["acl", "mtls-auth"], left: { consumers: 1 } },
  ],
  [
    "plugins of a group answer 503 if one of its consumers is left out and a plugin could admit that consumer as anonymous",
    {
      plugins: [{ ...keyAuth, config: { anonymous: "guest" } }],
      consumer_groups: [{ name: "free", plugins: [{ name: "request-termination" }] }],
      consumers: [{ username: "guest" }, { ...mallory, groups: [{ name: "free" }] }],
    },
    { closed: ["unavailable-request-termination"], left: { consumer_groups: 1, consumers: 1 } },
  ],
];

testProtection(table);
