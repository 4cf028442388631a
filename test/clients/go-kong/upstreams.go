package main

import (
	"fmt"
	"net/http"

	"github.com/kong/go-kong/kong"
)

func (r *run) upstreams() {
	s := r.client.Upstreams
	steps(r, crud[kong.Upstream]{
		what: "upstreams",
		fresh: func(index int, tags []*string) *kong.Upstream {
			return &kong.Upstream{Name: kong.String(fmt.Sprintf("upstream-%d.test", index)), Tags: tags}
		},
		id:     func(e *kong.Upstream) **string { return &e.ID },
		key:    func(e *kong.Upstream) *string { return e.Name },
		tags:   func(e *kong.Upstream) []*string { return e.Tags },
		create: func(e *kong.Upstream) (*kong.Upstream, error) { return s.Create(r.ctx, e) },
		get:    func(key *string) (*kong.Upstream, error) { return s.Get(r.ctx, key) },
		list: func(opt *kong.ListOpt) ([]*kong.Upstream, *kong.ListOpt, error) {
			return s.List(r.ctx, opt)
		},
		update: func(e *kong.Upstream) (*kong.Upstream, error) { return s.Update(r.ctx, e) },
		change: func(e *kong.Upstream) { e.Algorithm, e.Slots = kong.String("least-connections"), kong.Int(100) },
		remove: func(key *string) error { return s.Delete(r.ctx, key) },
	})
	r.step("upstreams: create keeps the given health check settings and fills in defaults", func() error {
		checks := &kong.Healthcheck{
			Active: &kong.ActiveHealthcheck{
				HTTPPath: kong.String("/health"),
				Healthy:  &kong.Healthy{Interval: kong.Int(0), Successes: kong.Int(2)},
			},
			Threshold: kong.Float64(12.5),
		}
		made, err := s.Create(r.ctx, &kong.Upstream{Name: kong.String("checked.test"), Healthchecks: checks})
		if err != nil {
			return err
		}
		found := made.Healthchecks
		return all(
			same("path", found.Active.HTTPPath, kong.String("/health")),
			same("successes", found.Active.Healthy.Successes, kong.Int(2)),
			same("statuses", found.Active.Healthy.HTTPStatuses, []int{200, 302}),
			same("threshold", found.Threshold, kong.Float64(12.5)),
			s.Delete(r.ctx, made.ID),
		)
	})
}

func (r *run) targets() {
	var upstream *kong.Upstream
	r.step("targets: create an upstream for the following steps", func() (err error) {
		upstream, err = r.client.Upstreams.Create(r.ctx, &kong.Upstream{Name: kong.String("upstream.test")})
		return err
	})
	s := r.client.Targets
	fresh := func(index int, tags []*string) *kong.Target {
		return &kong.Target{Target: kong.String(fmt.Sprintf("127.0.0.%d:8080", index)), Tags: tags}
	}
	steps(r, crud[kong.Target]{
		what:   "targets",
		fresh:  fresh,
		id:     func(e *kong.Target) **string { return &e.ID },
		key:    func(e *kong.Target) *string { return e.Target },
		tags:   func(e *kong.Target) []*string { return e.Tags },
		create: func(e *kong.Target) (*kong.Target, error) { return s.Create(r.ctx, upstream.ID, e) },
		list: func(opt *kong.ListOpt) ([]*kong.Target, *kong.ListOpt, error) {
			return s.List(r.ctx, upstream.Name, opt)
		},
		// go-kong updates a target by PUT, which replaces it.
		update: func(e *kong.Target) (*kong.Target, error) {
			whole := fresh(1, kong.StringSlice("one"))
			whole.Weight = e.Weight
			return s.Update(r.ctx, upstream.ID, e.ID, whole)
		},
		change: func(e *kong.Target) { e.Weight = kong.Int(7) },
		remove: func(key *string) error { return s.Delete(r.ctx, upstream.ID, key) },
		nested: true,
	})
	r.step("targets: the health of each target is listed", func() error {
		made, err := s.Create(r.ctx, upstream.Name, &kong.Target{Target: kong.String("127.0.0.1")})
		if err != nil {
			return err
		}
		found, err := r.client.UpstreamNodeHealth.ListAll(r.ctx, upstream.Name)
		if err != nil {
			return err
		}
		return all(
			same("target with the default port", made.Target, kong.String("127.0.0.1:8000")),
			same("number", len(found), 1),
			same("target", found[0].Target, made.Target),
			same("health without health checks", found[0].Health, kong.String("HEALTHCHECKS_OFF")),
		)
	})
	r.step("targets: are deleted with their upstream", func() error {
		if err := r.client.Upstreams.Delete(r.ctx, upstream.Name); err != nil {
			return err
		}
		_, err := s.ListAll(r.ctx, upstream.ID)
		return hasStatus(err, http.StatusNotFound)
	})
}
