package main

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/kong/go-kong/kong"
)

// crud describes how one kind of entity is created, read and changed. A nil member is an operation that the kind lacks.
type crud[T any] struct {
	what string
	// fresh returns a new entity without an id; a different index gives a different key.
	fresh  func(index int, tags []*string) *T
	id     func(*T) **string
	key    func(*T) *string
	tags   func(*T) []*string
	create func(*T) (*T, error)
	get    func(idOrKey *string) (*T, error)
	list   func(*kong.ListOpt) ([]*T, *kong.ListOpt, error)
	// update sends an entity with its id and the members that `change` set.
	update func(*T) (*T, error)
	change func(*T)
	remove func(idOrKey *string) error
	// ignore clears the members in which two responses may differ, such as the time of the last change.
	ignore func(*T)
	// nested kinds have no tag filter, and deleting an absent entity fails.
	nested bool
	// repeatable kinds have no unique key, so a second create with the same members succeeds.
	repeatable bool
}

const (
	firstID  = "6f1d1c52-8e2c-4b6e-9a53-0d6c0f5a1b01"
	absentID = "6f1d1c52-8e2c-4b6e-9a53-0d6c0f5a1bff"
)

// steps runs all operations of the kind and deletes the entities that it created.
func steps[T any](r *run, c crud[T]) {
	one, both := kong.StringSlice("one"), kong.StringSlice("one", "two words")
	var first, second *T
	step := func(name string, work func() error) { r.step(c.what+": "+name, work) }

	step("create without an id", func() (err error) {
		if first, err = c.create(c.fresh(1, one)); err != nil {
			return err
		}
		return all(
			same("tags", c.tags(first), one),
			holds("an id", *c.id(first) != nil && len(**c.id(first)) == 36),
			same("key", c.key(first), c.key(orKey(c.fresh(1, one), first, c))),
		)
	})
	step("create with an id", func() (err error) {
		wanted := c.fresh(2, both)
		*c.id(wanted) = kong.String(firstID)
		if second, err = c.create(wanted); err != nil {
			return err
		}
		return all(same("id", *c.id(second), kong.String(firstID)), same("tags", c.tags(second), both))
	})
	step("create with an existing id replaces the entity", func() error {
		wanted := c.fresh(2, both)
		*c.id(wanted) = kong.String(firstID)
		again, err := c.create(wanted)
		if err != nil {
			return err
		}
		return c.equal(again, second)
	})
	if !c.repeatable {
		step("create with an existing key is a conflict", func() error {
			_, err := c.create(c.fresh(1, nil))
			return hasStatus(err, http.StatusConflict)
		})
	}
	if c.get != nil {
		step("get by id", func() error {
			found, err := c.get(*c.id(first))
			if err != nil {
				return err
			}
			return c.equal(found, first)
		})
		step("get by key", func() error {
			found, err := c.get(c.key(second))
			if err != nil {
				return err
			}
			return c.equal(found, second)
		})
		step("get of an absent entity answers 404", func() error {
			_, err := c.get(kong.String(absentID))
			return hasStatus(err, http.StatusNotFound)
		})
	}
	step("list", func() error { return c.lists(nil, first, second) })
	step("list in pages of one entity", func() error {
		var seen []*T
		for opt := (&kong.ListOpt{Size: 1}); opt != nil; {
			page, next, err := c.list(opt)
			if err != nil {
				return err
			}
			if len(page) != 1 {
				return fmt.Errorf("a page of %d", len(page))
			}
			seen, opt = append(seen, page...), next
		}
		return c.sameSet(seen, first, second)
	})
	if !c.nested {
		step("list by tags, all of them", func() error {
			return c.lists(&kong.ListOpt{Tags: both, MatchAllTags: true}, second)
		})
		step("list by tags, any of them", func() error { return c.lists(&kong.ListOpt{Tags: both}, first, second) })
		step("list by an unknown tag", func() error {
			return c.lists(&kong.ListOpt{Tags: kong.StringSlice("none")})
		})
	}
	step("update changes only the members that were sent", func() error {
		sent := new(T)
		*c.id(sent) = *c.id(first)
		c.change(sent)
		updated, err := c.update(sent)
		if err != nil {
			return err
		}
		c.change(first)
		if err := c.equal(updated, first); err != nil {
			return err
		}
		return c.lists(nil, first, second)
	})
	step("delete by id", func() error { return c.deletes(*c.id(second), first) })
	step("delete by key", func() error { return c.deletes(c.key(first)) })
	step("delete an absent entity", func() error {
		err := c.remove(kong.String(absentID))
		if c.nested {
			return hasStatus(err, http.StatusNotFound)
		}
		return err
	})
}

// deletes an entity and checks the remaining ones.
func (c crud[T]) deletes(idOrKey *string, left ...*T) error {
	if err := c.remove(idOrKey); err != nil {
		return err
	}
	if c.get != nil {
		_, err := c.get(idOrKey)
		if err := hasStatus(err, http.StatusNotFound); err != nil {
			return err
		}
	}
	return c.lists(nil, left...)
}

func (c crud[T]) lists(opt *kong.ListOpt, wanted ...*T) error {
	found, next, err := c.list(opt)
	if err != nil {
		return err
	}
	return all(c.sameSet(found, wanted...), holds("no further page", next == nil))
}

// sameSet compares in any order: Kong lists by id.
func (c crud[T]) sameSet(found []*T, wanted ...*T) error {
	if len(found) != len(wanted) {
		return fmt.Errorf("%d entities instead of %d", len(found), len(wanted))
	}
	for _, one := range wanted {
		at := slices.IndexFunc(found, func(other *T) bool { return **c.id(other) == **c.id(one) })
		if at < 0 {
			return fmt.Errorf("%s is missing", **c.id(one))
		}
		if err := c.equal(found[at], one); err != nil {
			return err
		}
	}
	return nil
}

func (c crud[T]) equal(found, wanted *T) error {
	a, b := *found, *wanted
	if c.ignore != nil {
		c.ignore(&a)
		c.ignore(&b)
	}
	return same(c.what, a, b)
}

// orKey returns the expected entity: if the server generates the key, the key of the response is expected.
func orKey[T any](sent, answered *T, c crud[T]) *T {
	if c.key(sent) == nil {
		return answered
	}
	return sent
}
