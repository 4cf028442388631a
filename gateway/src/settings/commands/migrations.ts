/** Start-up settings of `sluice migrations`. */
import { defineSettings, logFormat } from "@sluice/model/serving";
import { databaseSettings } from "../database.ts";
import { logLevel } from "./gateway.ts";

export const migrationsSettings = defineSettings({ ...databaseSettings, logLevel, logFormat });
