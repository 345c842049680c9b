package mutants

import (
	"slices"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/runner"
)

// plan is which cases are run on which transport.
type plan map[string][]*casefile.Case

// byCost is the transports in the order of what a case costs on them: http needs no
// process.
func byCost() []string {
	return []string{protocol.TransportHTTP, protocol.TransportSubprocess, protocol.TransportRPC}
}

func orAll(transports []string) []string {
	if len(transports) == 0 {
		return byCost()
	}
	return transports
}

// usable is the transports of a case that the subject offers, the cheapest first.
func usable(c *casefile.Case, offered []string) (list []string) {
	for _, t := range byCost() {
		if slices.Contains(offered, t) && c.Supports(t) {
			list = append(list, t)
		}
	}
	return list
}

func cheapest(cases []*casefile.Case, offered []string) plan {
	p := plan{}
	for _, c := range cases {
		if list := usable(c, offered); len(list) > 0 {
			p[list[0]] = append(p[list[0]], c)
		}
	}
	return p
}

func others(cases []*casefile.Case, offered []string) plan {
	p := plan{}
	for _, c := range cases {
		if list := usable(c, offered); len(list) > 1 {
			for _, t := range list[1:] {
				p[t] = append(p[t], c)
			}
		}
	}
	return p
}

func rotating(cases []*casefile.Case, offered []string, from int) plan {
	p := plan{}
	for i, c := range cases {
		if list := usable(c, offered); len(list) > 0 {
			t := list[(from+i)%len(list)]
			p[t] = append(p[t], c)
		}
	}
	return p
}

func everywhere(cases []*casefile.Case, offered []string) plan {
	p := plan{}
	for _, c := range cases {
		for _, t := range usable(c, offered) {
			p[t] = append(p[t], c)
		}
	}
	return p
}

// withBaseline adds the baseline to a plan for a handler, since it is played anyway
// and may be what catches.
func (p plan) withBaseline(under runner.Subject, all []*casefile.Case) plan {
	is := func(c *casefile.Case) bool { return c.ID == runner.Baseline }
	at := slices.IndexFunc(all, is)
	if under.Handler == nil || at < 0 {
		return p
	}
	for t, cases := range p {
		if !slices.ContainsFunc(cases, is) {
			p[t] = append([]*casefile.Case{all[at]}, cases...)
		}
	}
	return p
}
