package main

import (
	"fmt"
	"net/http"

	"github.com/kong/go-kong/kong"
)

func (r *run) plugins() {
	var service *kong.Service
	var route *kong.Route
	r.step("plugins: create a service and a route for the following steps", func() (err error) {
		service, err = r.client.Services.Create(r.ctx, &kong.Service{Name: named(1), Host: kong.String("example.test")})
		if err != nil {
			return err
		}
		route, err = r.client.Routes.Create(r.ctx, &kong.Route{
			Name: named(1), Paths: kong.StringSlice("/"), Service: &kong.Service{ID: service.ID},
		})
		return err
	})
	s := r.client.Plugins
	configs := map[int]kong.Plugin{
		1: {Name: kong.String("rate-limiting"), Config: kong.Configuration{"minute": 60, "policy": "local"}},
		2: {Name: kong.String("cors"), Config: kong.Configuration{"origins": []string{"https://example.test"}}},
	}
	steps(r, crud[kong.Plugin]{
		what: "plugins",
		fresh: func(index int, tags []*string) *kong.Plugin {
			plugin := configs[index]
			plugin.InstanceName, plugin.Tags = named(index), tags
			plugin.Service = &kong.Service{ID: service.ID}
			return &plugin
		},
		id:     func(e *kong.Plugin) **string { return &e.ID },
		key:    func(e *kong.Plugin) *string { return e.InstanceName },
		tags:   func(e *kong.Plugin) []*string { return e.Tags },
		create: func(e *kong.Plugin) (*kong.Plugin, error) { return s.Create(r.ctx, e) },
		get:    func(key *string) (*kong.Plugin, error) { return s.Get(r.ctx, key) },
		list: func(opt *kong.ListOpt) ([]*kong.Plugin, *kong.ListOpt, error) {
			return s.List(r.ctx, opt)
		},
		update: func(e *kong.Plugin) (*kong.Plugin, error) { return s.Update(r.ctx, e) },
		change: func(e *kong.Plugin) { e.Enabled, e.Protocols = kong.Bool(false), kong.StringSlice("https") },
		remove: func(key *string) error { return s.Delete(r.ctx, key) },
	})
	r.step("plugins: defaults are filled in, and an update merges the config", func() error {
		made, err := s.CreateForService(r.ctx, service.Name, &kong.Plugin{
			Name: kong.String("rate-limiting"), Config: kong.Configuration{"minute": 60},
		})
		if err != nil {
			return err
		}
		updated, err := s.UpdateForService(r.ctx, service.ID, &kong.Plugin{
			ID: made.ID, Config: kong.Configuration{"hour": 600},
		})
		if err != nil {
			return err
		}
		found := []any{updated.Config["minute"], updated.Config["hour"], updated.Config["limit_by"]}
		ofService, err := s.ListAllForService(r.ctx, service.ID)
		return all(
			err,
			same("config", found, []any{60.0, 600.0, "consumer"}),
			same("plugins of the service", ofService, []*kong.Plugin{updated}),
			s.DeleteForService(r.ctx, service.ID, made.ID),
		)
	})
	r.step("plugins: create for a route, update, list and delete there", func() error {
		made, err := s.CreateForRoute(r.ctx, route.Name, &kong.Plugin{Name: kong.String("key-auth")})
		if err != nil {
			return err
		}
		updated, err := s.UpdateForRoute(r.ctx, route.ID, &kong.Plugin{
			ID: made.ID, Config: kong.Configuration{"hide_credentials": true},
		})
		if err != nil {
			return err
		}
		found, err := s.ListAllForRoute(r.ctx, route.ID)
		return all(
			err,
			same("route", updated.Route.ID, route.ID),
			same("plugins of the route", found, []*kong.Plugin{updated}),
			s.DeleteForRoute(r.ctx, route.ID, made.ID),
		)
	})
	r.step("plugins: create for a consumer and list there", func() error {
		consumer, err := r.client.Consumers.Create(r.ctx, &kong.Consumer{Username: named(1)})
		if err != nil {
			return err
		}
		made, err := s.Create(r.ctx, &kong.Plugin{
			Name:     kong.String("rate-limiting"),
			Consumer: &kong.Consumer{ID: consumer.ID},
			Config:   kong.Configuration{"second": 5},
		})
		if err != nil {
			return err
		}
		found, err := s.ListAllForConsumer(r.ctx, consumer.Username)
		return all(
			err,
			same("plugins of the consumer", found, []*kong.Plugin{made}),
			r.client.Consumers.Delete(r.ctx, consumer.ID),
			isGone(s.Get(r.ctx, made.ID)),
		)
	})
	r.step("plugins: an unknown plugin and an invalid config are refused", func() error {
		_, unknown := s.Create(r.ctx, &kong.Plugin{Name: kong.String("no-such-plugin")})
		_, wrong := s.Create(r.ctx, &kong.Plugin{
			Name: kong.String("rate-limiting"), Config: kong.Configuration{"minute": "many"},
		})
		return all(hasStatus(unknown, http.StatusBadRequest), hasStatus(wrong, http.StatusBadRequest))
	})
	r.step("plugins: validate", func() error {
		good, message, err := s.Validate(r.ctx, &kong.Plugin{Name: kong.String("key-auth")})
		if err != nil {
			return err
		}
		bad, _, err := s.Validate(r.ctx, &kong.Plugin{
			Name: kong.String("key-auth"), Config: kong.Configuration{"no_such": 1},
		})
		return all(err, same("message", message, ""), same("results", []bool{good, bad}, []bool{true, false}))
	})
	r.step("plugins: schemas of all", func() error {
		for _, name := range []string{"rate-limiting", "key-auth", "cors", "prometheus"} {
			schema, err := s.GetFullSchema(r.ctx, &name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if _, ok := schema["fields"].([]any); !ok {
				return fmt.Errorf("%s: no list of fields", name)
			}
		}
		return nil
	})
	r.step("plugins: are deleted with their route", func() error {
		made, err := s.CreateForRoute(r.ctx, route.ID, &kong.Plugin{Name: kong.String("cors")})
		if err != nil {
			return err
		}
		return all(
			r.client.Routes.Delete(r.ctx, route.ID),
			isGone(s.Get(r.ctx, made.ID)),
			r.client.Services.Delete(r.ctx, service.ID),
		)
	})
}

// isGone expects that a get answers 404.
func isGone(_ *kong.Plugin, err error) error {
	return hasStatus(err, http.StatusNotFound)
}
