/** For each alert, the series with which it fires. */

/** Values in the notation of promtool, by series. A series is written without the labels that its target adds. */
export type SeriesValues = Readonly<Record<string, string>>;

export interface RuleCase {
  readonly alert: string;
  readonly what: string;
  /** The series that differ from those of a healthy installation; an empty text: the series does not exist. */
  readonly series: SeriesValues;
  /** The time at which this alert fires and no other alert does. */
  readonly at: string;
  /** Whether only the rules for one namespace have this alert. */
  readonly onlyInNamespace?: true;
}

const certificate =
  'sluice_certificate_expiry_timestamp_seconds{node_id="n1",certificate="c1",server_name="a.example"}';
const failures = (one: string) => `sluice_acme_certificate_failures{certificate="${one}"}`;
const push = 'sluice_push_certificate_expiry_timestamp_seconds{node_id="n1"}';
const ofOperator = (name: string) => `sluice_operator_certificate_expiry_timestamp_seconds{certificate="${name}"}`;
const nodes = (state: string) => `sluice_operator_nodes{state="${state}"}`;
const writes = (outcome: string) => `sluice_operator_state_writes_total{outcome="${outcome}"}`;
const saved = "sluice_operator_document_kept_timestamp_seconds";
const term = "sluice_operator_term";
const reloaded = 'sluice_config_last_reload_successful{node_id="n1"}';
const replaced = "sluice_rate_limit_counters_replaced_total";
const lag = 'nodejs_eventloop_lag_p99_seconds{node_id="n1",worker="1"}';
const openDescriptors = 'process_open_fds{node_id="n1"}';

const requests = (code: string, source: string): string =>
  `sluice_http_requests_total{service="s",route="r",code="${code}",source="${source}",workspace="default",consumer=""}`;

/** Promtool's time begins at 0. */
const days = (count: number): string => `${count * 86_400}x6000`;

/** A series has a value each minute, for more than four days. */
export const healthySeries: SeriesValues = {
  [reloaded]: "1x6000",
  [nodes("current")]: "2x6000",
  [nodes("lagging")]: "0x6000",
  [nodes("silent")]: "0x6000",
  [term]: "3x6000",
  [saved]: "60x6000",
  [writes("written")]: "0+1x6000",
  [writes("failed")]: "0x6000",
  [certificate]: days(90),
  [failures("default/shop")]: "0 1 2 0x6000",
  [push]: days(90),
  [ofOperator("push")]: days(90),
  [ofOperator("webhook")]: days(90),
  [requests("200", "service")]: "0+60000x6000",
  [requests("429", "gateway")]: "0+60000x6000",
  [requests("503", "gateway")]: "0+3x6000",
  [replaced]: "0x6000",
  [lag]: "0.01x6000",
  [openDescriptors]: "100x6000",
  'process_max_fds{node_id="n1"}': "1000x6000",
};

export const ruleCases: readonly RuleCase[] = [
  { alert: "SluiceConfigurationRefused", what: "a node refuses a document", series: { [reloaded]: "0x60" }, at: "6m" },
  {
    alert: "SluiceNodeLagging",
    what: "a node does not take a document",
    series: { [nodes("lagging")]: "1x60" },
    at: "6m",
  },
  { alert: "SluiceNodeSilent", what: "a node does not answer", series: { [nodes("silent")]: "1x60" }, at: "3m" },
  {
    alert: "SluiceCertificateExpires",
    what: "a served certificate expires soon",
    series: { [certificate]: days(13) },
    at: "11m",
  },
  {
    alert: "SluiceCertificateOrdersFail",
    what: "a certificate is ordered again and again",
    series: { [failures("default/mail")]: "3x60" },
    at: "6m",
  },
  {
    alert: "SluicePushCertificateExpires",
    what: "a node's certificate expires soon",
    series: { [push]: days(13) },
    at: "11m",
  },
  {
    alert: "SluicePushCertificateExpires",
    what: "the operator's certificate for the nodes expires soon",
    series: { [ofOperator("push")]: days(13) },
    at: "11m",
  },
  {
    alert: "SluicePushCertificateExpires",
    what: "the certificate of the webhook expires soon",
    series: { [ofOperator("webhook")]: days(13) },
    at: "11m",
  },
  {
    alert: "SluiceErrorBudgetBurnsFast",
    what: "2 % of the requests fail",
    series: { [requests("503", "gateway")]: "0+2400x60" },
    at: "10m",
  },
  {
    alert: "SluiceErrorBudgetBurnsSlowly",
    what: "0.4 % of the requests fail",
    series: { [requests("503", "gateway")]: "0+480x60" },
    at: "30m",
  },
  {
    alert: "SluiceErrorBudgetBurnsSlowly",
    what: "0.15 % of the requests fail for days",
    series: { [requests("503", "gateway")]: "0+180x6000" },
    at: "73h",
  },
  { alert: "SluiceRateLimitCountersFull", what: "counters are replaced", series: { [replaced]: "0+9x60" }, at: "5m" },
  { alert: "SluiceNoLeader", what: "no operator leads", series: { [term]: "0x60" }, at: "3m" },
  {
    alert: "SluiceOperatorAbsent",
    what: "there is no operator",
    series: Object.fromEntries(
      [nodes("current"), nodes("lagging"), nodes("silent"), term, saved, writes("written"), writes("failed")].map(
        (name) => [name, ""],
      ),
    ),
    at: "6m",
    onlyInNamespace: true,
  },
  { alert: "SluiceStateNotSaved", what: "the leader has never saved", series: { [saved]: "0x60" }, at: "11m" },
  {
    alert: "SluiceStateNotSaved",
    what: "writes fail",
    series: { [writes("failed")]: "0+2x60", [writes("written")]: "5x60" },
    at: "20m",
  },
  { alert: "SluiceEventLoopDelayed", what: "a thread is blocked", series: { [lag]: "0.5x60" }, at: "6m" },
  { alert: "SluiceDescriptorsShort", what: "many are open", series: { [openDescriptors]: "900x60" }, at: "6m" },
];
