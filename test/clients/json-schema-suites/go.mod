// Copies of the JSON Schema Test Suite (MIT). Only these files of the modules are used; nothing is built.
module sluice.dev/test/clients/json-schema-suites

go 1.26.0

require (
	github.com/xeipuuv/gojsonschema v1.2.0 // indirect
	golang.org/x/tools v0.41.0 // indirect
)
