// A program that uses Kong's Go client to run every operation on every entity, as programs of Kong's users do.
//
// usage: go-kong http://127.0.0.1:8001
//
// The configuration behind the admin listener must be empty. Each step is one line of JSON on stdout:
// {"step": "services: ...", "ok": true} or {"step": "...", "ok": false, "error": "..."}. The exit code is 1 when a
// step has failed, 2 when the arguments are invalid.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/kong/go-kong/kong"
)

// run holds the state of one pass through all steps.
type run struct {
	ctx    context.Context
	client *kong.Client
	failed bool
}

type line struct {
	Step  string `json:"step"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// step runs one step and reports its result.
func (r *run) step(name string, work func() error) {
	report := line{Step: name, OK: true}
	if err := guarded(work); err != nil {
		report = line{Step: name, Error: err.Error()}
		r.failed = true
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		panic(err)
	}
}

// guarded turns the panic of an unexpected nil in a response into an error of the step.
func guarded(work func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("a value is missing, in the response or because an earlier step failed: %v", reason)
		}
	}()
	return work()
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go-kong ADDRESS")
		os.Exit(2)
	}
	client, err := kong.NewClient(&os.Args[1], nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	r := &run{ctx: context.Background(), client: client}
	r.information()
	r.services()
	r.routes()
	r.consumers()
	r.keyAuths()
	r.basicAuths()
	r.hmacAuths()
	r.jwtAuths()
	r.acls()
	r.mtlsAuths()
	r.consumerGroups()
	r.plugins()
	r.upstreams()
	r.targets()
	r.certificates()
	r.caCertificates()
	r.vaults()
	r.tagsOfAll()
	if r.failed {
		os.Exit(1)
	}
}
