/**
 * `npm run generate`: writes every generated file of the repository. With `--check` it only lists the files that
 * differ, and exits with 1 if there are any.
 */
import { resolve } from "node:path";
import { generateModelFiles, staleFiles, writeGeneratedFiles } from "../../crds/model/src/generate/generate.ts";
import { alertFiles } from "./alerts/alert-files.ts";
import { chartValueFiles } from "./chart-values.ts";
import { dashboardFiles } from "./dashboards.ts";
import { knownVariablesFile } from "./known-variables.ts";
import { kongPluginsTable } from "./kong-plugins.ts";
import { commandLinePage } from "./pages/command-line-page.ts";
import { conformancePage } from "./pages/conformance-page.ts";
import { errorsPage } from "./pages/errors-page.ts";
import { gatewayApiConformancePage } from "./pages/gateway-api-conformance-page.ts";
import { gatewayApiPage } from "./pages/gateway-api-page.ts";
import { ingressPage } from "./pages/ingress-page.ts";
import { kongIngressControllerPage } from "./pages/kong-ingress-controller-page.ts";
import { metricsPage } from "./pages/metrics-page.ts";
import { pluginPages } from "./pages/plugin-pages.ts";
import { settingsPage } from "./pages/settings-page.ts";
import { speedPage } from "./pages/speed-page.ts";
import { thirdPartyLicenses } from "./third-party-licenses.ts";

const root = resolve(import.meta.dirname, "../..");
// Settings and benchmark results are not known to the model, so their pages are generated here.
const files = [
  ...generateModelFiles(),
  settingsPage(),
  commandLinePage(),
  knownVariablesFile(),
  kongPluginsTable(),
  ...pluginPages(),
  speedPage(),
  errorsPage(),
  gatewayApiPage(),
  ingressPage(),
  kongIngressControllerPage(),
  conformancePage(),
  gatewayApiConformancePage(),
  thirdPartyLicenses(),
  ...chartValueFiles(),
  ...dashboardFiles(),
  metricsPage(),
  ...alertFiles(),
];
const found = staleFiles(root, files);
if (!process.argv.includes("--check")) {
  writeGeneratedFiles(root, files);
  for (const { path } of found) console.log(`renewed ${path}`);
  if (found.length === 0) console.log("all generated files are up to date");
} else if (found.length > 0) {
  for (const { path, fault } of found) console.error(`${path} ${fault}`);
  console.error("Run `npm run generate`.");
  process.exitCode = 1;
}
