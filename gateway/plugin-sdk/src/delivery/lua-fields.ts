/** The member `custom_fields_by_lua` of Kong's log plugins, which must be empty: Sluice runs no Lua. */
import { mapping, nullable, text } from "../schema/member.ts";
import { isEmptyValue, type RecordRule } from "../schema/rules.ts";

const MAX_LUA = 65_536;

export const luaFields = nullable(
  mapping(text({ description: "A Lua expression.", maxLength: MAX_LUA }), {
    description: "Not supported: must be unset or empty.",
  }),
);

export const refuseLuaFields: RecordRule = ({ custom_fields_by_lua: fields }) =>
  isEmptyValue(fields)
    ? []
    : [
        {
          path: ["custom_fields_by_lua"],
          message:
            "Lua is not supported: change the fields in the log server, or in a plugin that calls " +
            "exchange.setLogField(name, value) in its access phase",
        },
      ];
