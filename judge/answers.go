package judge

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/script"
)

// loaded is the body of conform/loaded.
type loaded struct {
	Name   string         `json:"name"`
	As     string         `json:"as"`
	Found  *bool          `json:"found"`
	Text   *string        `json:"text"`
	JSON   jsontext.Value `json:"json"`
	Base64 *string        `json:"base64"`
	Error  string         `json:"error"`
}

// memoryAnswer is the body of conform/memory.
type memoryAnswer struct {
	Key   string  `json:"key"`
	Body  *string `json:"body"`
	Error string  `json:"error"`
}

// readAll reads all answers of one name.
func readAll[T any](v *invocation, name string) (list []T, f *finding) {
	for _, r := range v.answer(name) {
		var a T
		if err := readAnswer(r, &a); err != nil {
			return nil, &finding{where: v.where(fmt.Sprintf("%s, record %d, byte %d", v.output(), r.number, r.offset)),
				want: name + " as the agreement has it", got: err.Error() + ": " + quoteBytes(r.data().bytes)}
		}
		list = append(list, a)
	}
	if len(list) == 0 {
		return nil, &finding{where: v.where(v.output()), want: "the Output " + name, got: "none: the handler " + v.endWithStderr()}
	}
	return list, nil
}

func checkLoaded(want []casefile.LoadedMatch) func(*invocation) outcome {
	return func(v *invocation) outcome {
		got, f := readAll[loaded](v, nameLoaded)
		if f != nil {
			return failed(*f)
		}
		return sequence{
			what: "answer", want: len(want), got: len(got),
			where:     func(place string) string { return v.where(nameLoaded + ", " + place) },
			compare:   func(i, k int) comparison { return compareLoaded(want[i], got[k]) },
			labelWant: func(i int) string { return quote(want[i].Name) },
			labelGot:  func(k int) string { return quote(got[k].Name) },
		}.judge()
	}
}

func compareLoaded(want casefile.LoadedMatch, got loaded) (c comparison) {
	c.text("name", &want.Name, got.Name)
	if want.Found != nil {
		found := got.Found != nil && *got.Found
		c.add("found", fmt.Sprint(*want.Found), fmt.Sprint(found), *want.Found == found)
	}
	if want.Error {
		c.add("error", "any", orAbsent(got.Error), got.Error != "")
		return c
	}
	problem := ""
	if got.Error != "" {
		problem = "the error " + quote(got.Error)
	}
	// An answer that gives no value can only be judged by whether it is an error.
	if want.Found != nil && *want.Found && want.Text == nil && want.Bytes == nil && want.JSON == nil {
		c.add("error", "none", orAbsent(got.Error), got.Error == "")
	}
	text := func(name string, want, got *string) {
		switch {
		case want == nil:
		case got == nil:
			c.add(name, quote(*want), describeProblem(problem), false)
		default:
			c.add(name, quote(*want), quote(*got), *want == *got)
		}
	}
	text("text", want.Text, got.Text)
	if want.Bytes != nil {
		wanted := script.Body{Base64: want.Bytes}
		if got.Base64 == nil {
			c.body(&wanted, nil, describeProblem(problem), exactBody)
		} else {
			data, faults := decodeData(*got.Base64)
			if len(faults) > 0 {
				problem = "text that is no base64: " + faults[0].what
			}
			c.body(&wanted, data, problem, exactBody)
		}
	}
	if want.JSON != nil {
		shown := describeProblem(problem)
		if len(got.JSON) > 0 {
			shown = clip(string(got.JSON), 400)
		}
		c.add("json", clip(string(want.JSON), 400), shown, len(got.JSON) > 0 && sameJSON(want.JSON, got.JSON))
	}
	return c
}

func describeProblem(problem string) string {
	if problem == "" {
		return "absent"
	}
	return problem
}

func checkMemory(want []casefile.MemoryMatch) func(*invocation) outcome {
	return func(v *invocation) outcome {
		got, f := readAll[memoryAnswer](v, nameMemory)
		if f != nil {
			return failed(*f)
		}
		return sequence{
			what: "answer", want: len(want), got: len(got),
			where: func(place string) string { return v.where(nameMemory + ", " + place) },
			compare: func(i, k int) (c comparison) {
				c.text("key", &want[i].Key, got[k].Key)
				e := observedEntry{Body: got[k].Body, Error: got[k].Error}
				data, problem := e.body()
				if want[i].Error {
					c.add("body", "an error", describeOr(problem, data), e.Error != "")
					return c
				}
				if e.Body == nil && problem == "" {
					problem = "absent"
				}
				c.body(want[i].Body, data, problem, exactBody)
				return c
			},
			labelWant: func(i int) string { return quote(want[i].Key) },
			labelGot:  func(k int) string { return quote(got[k].Key) },
		}.judge()
	}
}
