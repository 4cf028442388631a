package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/kong/go-kong/kong"
)

func (r *run) information() {
	r.step("information: the version is 3.9", func() error {
		info, err := r.client.Info.Get(r.ctx)
		if err != nil {
			return err
		}
		version, err := kong.ParseSemanticVersion(info.Version)
		if err != nil {
			return err
		}
		return all(
			same("version", []uint64{version.Major(), version.Minor()}, []uint64{3, 9}),
			holds("no enterprise version", !version.IsKongGatewayEnterprise()),
			holds("a database or off", info.Configuration.Database == "postgres" || info.Configuration.Database == "off"),
		)
	})
	r.step("information: root and the server's name", func() error {
		root, err := r.client.Root(r.ctx)
		if err != nil {
			return err
		}
		server, err := r.client.Server(r.ctx)
		return all(
			err,
			holds("a tagline", root["tagline"] != nil),
			holds("Sluice's name and version, not "+server, strings.HasPrefix(server, "sluice/")),
		)
	})
	r.step("information: status counts requests", func() error {
		status, err := r.client.Status(r.ctx)
		if err != nil {
			return err
		}
		return holds("requests", status.Server.TotalRequests >= 0 && status.Server.ConnectionsActive >= 0)
	})
	r.step("information: tags exist", func() error {
		exist, err := r.client.Tags.Exists(r.ctx)
		return all(err, holds("tags to exist", exist))
	})
	for _, entity := range []string{
		"services", "routes", "plugins", "consumers", "keyauth_credentials", "upstreams", "targets", "certificates", "snis",
	} {
		r.step("information: schema of "+entity, func() error {
			schema, err := r.client.Schemas.Get(r.ctx, entity)
			if err != nil {
				return err
			}
			fields, ok := schema["fields"].([]any)
			return holds("fields, of which one is the id", ok && hasField(fields, "id"))
		})
	}
	r.step("information: the schema of an unknown entity is not found", func() error {
		_, err := r.client.Schemas.Get(r.ctx, "no_such")
		return hasStatus(err, http.StatusNotFound)
	})
	r.step("information: validate describes all errors", func() error {
		good, message, err := r.client.Schemas.Validate(r.ctx, kong.EntityTypeServices, kong.Service{Host: kong.String("a.test")})
		if err != nil {
			return err
		}
		passed, faults, err := r.client.Schemas.Validate(
			r.ctx, kong.EntityTypeServices, kong.Service{Port: kong.Int(99999), Path: kong.String("x")},
		)
		return all(
			err,
			same("message", message, ""),
			same("results", []bool{good, passed}, []bool{true, false}),
			same("faults", faults, "3 schema violations (host: required field missing; path: should start with: /; "+
				"port: value should be between 0 and 65535)"),
		)
	})
}

// hasField searches Kong's list of fields, whose items are objects with one member each.
func hasField(fields []any, name string) bool {
	for _, field := range fields {
		if object, ok := field.(map[string]any); ok && object[name] != nil {
			return true
		}
	}
	return false
}

// tagsOfAll lists the tags of all kinds; go-kong has no typed call for this response.
func (r *run) tagsOfAll() {
	type tagged struct {
		Data []struct {
			Tag        string `json:"tag"`
			EntityName string `json:"entity_name"`
			EntityID   string `json:"entity_id"`
		} `json:"data"`
	}
	list := func(path string) (*tagged, error) {
		request, err := r.client.NewRequest("GET", path, nil, nil)
		if err != nil {
			return nil, err
		}
		answer := new(tagged)
		_, err = r.client.Do(r.ctx, request, answer)
		return answer, err
	}
	r.step("tags: list all tags, one tag, and an unknown tag", func() error {
		service, err := r.client.Services.Create(r.ctx, &kong.Service{
			Host: kong.String("a.test"), Tags: kong.StringSlice("one", "two words"),
		})
		if err != nil {
			return err
		}
		consumer, err := r.client.Consumers.Create(r.ctx, &kong.Consumer{
			Username: kong.String("ann"), Tags: kong.StringSlice("one"),
		})
		if err != nil {
			return err
		}
		found, err := list("/tags")
		if err != nil {
			return err
		}
		words, err := list("/tags/two%20words")
		if err != nil {
			return err
		}
		none, err := list("/tags/none")
		if err != nil {
			return err
		}
		if len(words.Data) != 1 {
			return fmt.Errorf("%d entities with a tag of two words", len(words.Data))
		}
		return all(
			same("numbers", []int{len(found.Data), len(none.Data)}, []int{3, 0}),
			same("kind", words.Data[0].EntityName, "services"),
			same("id", words.Data[0].EntityID, *service.ID),
			r.client.Services.Delete(r.ctx, service.ID),
			r.client.Consumers.Delete(r.ctx, consumer.ID),
		)
	})
}
