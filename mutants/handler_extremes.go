package mutants

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// handlerExtremes hold against entries that are empty, long or odd what no section
// holds against them.
func handlerExtremes() []Mutant {
	return []Mutant{
		editingInputs("drops-entries-without-a-body", "P3.2/missing-is-zero",
			"An entry with neither a url nor data in it is passed over.", func(o object) (object, error) {
				if o.isEntry() && o.text("url") == "" && o.text("data") == "" {
					return nil, nil
				}
				return o, nil
			}),
		giving("strips-control-characters", "P2/same-format",
			"Control characters in names are left out.", renamed(func(name string) string {
				return strings.Map(func(r rune) rune {
					if unicode.IsControl(r) {
						return -1
					}
					return r
				}, name)
			})),
		giving("cuts-long-names", "P2/same-format",
			"A name ends after 255 bytes.", renamed(func(name string) string { return name[:min(len(name), 255)] })),
		offering("loads-a-mebibyte", "P7/content-encoding",
			"A body that unpacks to more than 1 MiB can't be loaded.", sdk{latest: loadedAs(func(e fakehandler.Entry) fakehandler.Entry {
				read := e.Body
				e.Body = func(ctx context.Context) ([]byte, error) {
					body, err := read(ctx)
					if err == nil && e.ContentEncoding == protocol.CodingZstd && len(body) > 1<<20 {
						return nil, errors.New("a body that grows too far")
					}
					return body, err
				}
				return e
			})}),
	}
}

// renamed changes the name of an entry.
func renamed(change func(string) string) func(fakehandler.Entry) fakehandler.Entry {
	return func(e fakehandler.Entry) fakehandler.Entry {
		e.Name = change(e.Name)
		return e
	}
}
