package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kong/go-kong/kong"
)

// all returns the first error.
func all(found ...error) error {
	for _, err := range found {
		if err != nil {
			return err
		}
	}
	return nil
}

func holds(what string, condition bool) error {
	if condition {
		return nil
	}
	return fmt.Errorf("expected %s", what)
}

// same compares values as JSON, because go-kong reads the numbers of a config into different types in Get and in List.
func same(what string, found, wanted any) error {
	if asJSON(found) == asJSON(wanted) {
		return nil
	}
	return fmt.Errorf("%s: %s instead of %s", what, asJSON(found), asJSON(wanted))
}

// hasStatus returns nil if the error is a response with this status.
func hasStatus(err error, status int) error {
	var answer *kong.APIError
	if errors.As(err, &answer) && answer.Code() == status {
		return nil
	}
	return fmt.Errorf("expected status %d, not %v", status, err)
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
