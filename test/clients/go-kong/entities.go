package main

import (
	"fmt"

	"github.com/kong/go-kong/kong"
)

func (r *run) services() {
	s := r.client.Services
	steps(r, crud[kong.Service]{
		what: "services",
		fresh: func(index int, tags []*string) *kong.Service {
			return &kong.Service{Name: named(index), Host: kong.String("example.test"), Tags: tags}
		},
		id:     func(e *kong.Service) **string { return &e.ID },
		key:    func(e *kong.Service) *string { return e.Name },
		tags:   func(e *kong.Service) []*string { return e.Tags },
		create: func(e *kong.Service) (*kong.Service, error) { return s.Create(r.ctx, e) },
		get:    func(key *string) (*kong.Service, error) { return s.Get(r.ctx, key) },
		list: func(opt *kong.ListOpt) ([]*kong.Service, *kong.ListOpt, error) {
			return s.List(r.ctx, opt)
		},
		update: func(e *kong.Service) (*kong.Service, error) { return s.Update(r.ctx, e) },
		change: func(e *kong.Service) { e.Port, e.Path = kong.Int(8443), kong.String("/changed") },
		remove: func(key *string) error { return s.Delete(r.ctx, key) },
		ignore: func(e *kong.Service) { e.UpdatedAt = nil },
	})
	r.step("services: create from a url", func() error {
		made, err := s.Create(r.ctx, &kong.Service{Name: named(3), URL: kong.String("https://example.test:8443/base")})
		if err != nil {
			return err
		}
		found := []any{*made.Protocol, *made.Host, *made.Port, *made.Path, *made.Retries, *made.Enabled}
		return all(
			same("members", found, []any{"https", "example.test", 8443, "/base", 5, true}),
			s.Delete(r.ctx, made.ID),
		)
	})
}

func (r *run) routes() {
	var service *kong.Service
	r.step("routes: create a service for the following steps", func() (err error) {
		service, err = r.client.Services.Create(r.ctx, &kong.Service{Name: named(1), Host: kong.String("example.test")})
		return err
	})
	s := r.client.Routes
	fresh := func(index int, tags []*string) *kong.Route {
		return &kong.Route{
			Name:    named(index),
			Paths:   kong.StringSlice(fmt.Sprintf("/path-%d", index)),
			Hosts:   kong.StringSlice("example.test", "*.example.test"),
			Methods: kong.StringSlice("GET", "POST"),
			Headers: map[string][]string{"x-version": {"1", "2"}},
			Service: &kong.Service{ID: service.ID},
			Tags:    tags,
		}
	}
	steps(r, crud[kong.Route]{
		what:   "routes",
		fresh:  fresh,
		id:     func(e *kong.Route) **string { return &e.ID },
		key:    func(e *kong.Route) *string { return e.Name },
		tags:   func(e *kong.Route) []*string { return e.Tags },
		create: func(e *kong.Route) (*kong.Route, error) { return s.Create(r.ctx, e) },
		get:    func(key *string) (*kong.Route, error) { return s.Get(r.ctx, key) },
		list: func(opt *kong.ListOpt) ([]*kong.Route, *kong.ListOpt, error) {
			return s.List(r.ctx, opt)
		},
		update: func(e *kong.Route) (*kong.Route, error) { return s.Update(r.ctx, e) },
		change: func(e *kong.Route) { e.Paths, e.StripPath = kong.StringSlice("~/changed/[0-9]+$"), kong.Bool(false) },
		remove: func(key *string) error { return s.Delete(r.ctx, key) },
		ignore: func(e *kong.Route) { e.UpdatedAt = nil },
	})
	r.step("routes: create one in a service, list those of the service, get the service of a route", func() error {
		sent := fresh(3, nil)
		sent.Service = nil
		made, err := s.CreateInService(r.ctx, service.ID, sent)
		if err != nil {
			return err
		}
		found, next, err := s.ListForService(r.ctx, service.Name, nil)
		if err != nil {
			return err
		}
		parent, err := r.client.Services.GetForRoute(r.ctx, made.ID)
		if err != nil {
			return err
		}
		return all(
			same("routes of the service", found, []*kong.Route{made}),
			holds("no further page", next == nil),
			same("service of the route", parent.ID, service.ID),
		)
	})
	r.step("routes: validate describes the error", func() error {
		good, _, err := s.Validate(r.ctx, fresh(4, nil))
		if err != nil {
			return err
		}
		bad := fresh(4, nil)
		bad.Paths = kong.StringSlice("no-slash")
		passed, message, err := s.Validate(r.ctx, bad)
		if err != nil {
			return err
		}
		return all(
			holds("the valid one to pass", good),
			holds("the invalid one to fail", !passed),
			same("message", message, "schema violation (paths.1: should start with: / (fixed path) or ~/ (regex path))"),
		)
	})
	r.step("routes: a service with a route cannot be deleted", func() error {
		return all(
			hasStatus(r.client.Services.Delete(r.ctx, service.ID), 400),
			s.Delete(r.ctx, named(3)),
			r.client.Services.Delete(r.ctx, service.ID),
		)
	})
}

// named returns the key of an entity, with characters that Kong allows in names and Kubernetes does not.
func named(index int) *string {
	return kong.String(fmt.Sprintf("Go_Kong.%d~x", index))
}
