package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pugmark.dev/conform/result"
)

// missing names the members that a report has to have and does not.
func missing(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	return missingAt("", value, reflect.TypeFor[result.Run]())
}

func missingAt(place string, value any, t reflect.Type) error {
	switch t.Kind() {
	case reflect.Slice:
		items, _ := value.([]any)
		var all []error
		for i, item := range items {
			all = append(all, missingAt(fmt.Sprintf("%s/%d", place, i), item, t.Elem()))
		}
		return errors.Join(all...)
	case reflect.Struct:
		object, ok := value.(map[string]any)
		if !ok {
			return nil // the strict reading has said so
		}
		var all []error
		for _, field := range reflect.VisibleFields(t) {
			name, rest, _ := strings.Cut(field.Tag.Get("json"), ",")
			member, found := object[name]
			switch {
			case found:
				all = append(all, missingAt(place+"/"+name, member, field.Type))
			case !strings.Contains(rest, "omit"):
				all = append(all, fmt.Errorf("at '%s': missing property '%s'", place, name))
			}
		}
		return errors.Join(all...)
	}
	return nil
}

// unknownVerdicts names the verdicts of a report that are no words of ours.
func unknownVerdicts(run *result.Run) error {
	var all []error
	check := func(v result.Verdict, known []result.Verdict, place string, at ...any) {
		if !slices.Contains(known, v) {
			all = append(all, fmt.Errorf("at '%s/verdict': value must be one of %q, not %q", fmt.Sprintf(place, at...), known, v))
		}
	}
	ofCheck := []result.Verdict{result.Pass, result.Fail, result.Warn, result.NotRun}
	ofCase := append(slices.Clone(ofCheck), result.Crash, result.Hang, result.NotApplicable, result.NotTestable,
		result.HarnessError, result.KnownFailure, result.UnexpectedPass, result.Flaky)
	check(run.Verdict, []result.Verdict{result.Conformant, result.AsExpected, result.NotConformant, result.Incomplete}, "")
	for i, c := range run.Cases {
		check(c.Verdict, ofCase, "/cases/%d", i)
		for n, k := range c.Checks {
			check(k.Verdict, ofCheck, "/cases/%d/checks/%d", i, n)
		}
	}
	for i, r := range run.Requirements {
		check(r.Verdict, append(slices.Clone(ofCase), result.Untested), "/requirements/%d", i)
	}
	return errors.Join(all...)
}
