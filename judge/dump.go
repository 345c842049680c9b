package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
)

// inOrder is the snapshots of a dump in the order of their versions.
func inOrder(dump result.Dump) []result.Snapshot {
	return slices.SortedStableFunc(slices.Values(dump.Snapshots), func(a, b result.Snapshot) int { return cmp.Compare(a.Version, b.Version) })
}

// isType reports whether a snapshot's type is the wanted one (S3/types).
func isType(want, got string) bool {
	return want == got || want == casefile.TypePushed && (got == "provisional" || got == "queueing")
}

// checkSnapshots compares whole snapshots; their versions have no gap (S3/version-step).
func checkSnapshots(want []casefile.SnapshotMatch, session string, m *moment) outcome {
	dump, o := look[result.Dump](m.dumps, "inspect", session)
	if o != nil {
		return *o
	}
	got := inOrder(dump)
	where := "dump of " + session
	for i, s := range got {
		if s.Version != int64(i+1) {
			return failed(finding{where: where, want: fmt.Sprintf("version %d", i+1), got: fmt.Sprintf("version %d in its place", s.Version)})
		}
	}
	if dump.Version != int64(len(got)) {
		return failed(finding{where: where + ", version", want: fmt.Sprintf("%d, as there are snapshots", len(got)), got: fmt.Sprint(dump.Version)})
	}
	if len(want) != len(got) {
		return failed(finding{where: where, want: count(len(want), "snapshot"), got: count(len(got), "snapshot"), diff: snapshotDiff(want, got)})
	}
	for i, w := range want {
		place := fmt.Sprintf("%s, snapshot %d", where, i+1)
		if w.Type != "" && !isType(w.Type, got[i].Type) {
			return failed(finding{where: place + ", type", want: w.Type, got: got[i].Type})
		}
		if w.Entries == nil {
			continue
		}
		if o := m.entries(*w.Entries, got[i].Entries, place, session).judge(); o.verdict != result.Pass {
			return o
		}
	}
	return m.real(dump, session)
}

// checkRising wants the sequence numbers of each snapshot to rise (S4/sequence).
func checkRising(session string, m *moment) outcome {
	dump, o := look[result.Dump](m.dumps, "inspect", session)
	if o != nil {
		return *o
	}
	several := false
	for _, s := range inOrder(dump) {
		for i := 1; i < len(s.Entries); i++ {
			several = true
			if before, after := s.Entries[i-1].Sequence, s.Entries[i].Sequence; after <= before {
				return failed(finding{where: fmt.Sprintf("dump of %s, snapshot %d, entry %d", session, s.Version, i+1),
					want: fmt.Sprintf("a sequence number above %d", before), got: fmt.Sprint(after)})
			}
		}
	}
	if !several {
		return unseen("a snapshot with two entries", "none in the dump of "+session)
	}
	return m.real(dump, session)
}

func checkManifest(want casefile.ManifestMatch, session string, m *moment) outcome {
	dump, o := look[result.Dump](m.dumps, "inspect", session)
	if o != nil {
		return *o
	}
	var c comparison
	c.text("agent", want.Agent, dump.Agent)
	c.text("handler", want.Handler, dump.Handler)
	c.strings("metadata", want.Metadata, dump.Metadata)
	if len(c.differs()) > 0 {
		return failed(c.finding("dump of " + session + ", manifest"))
	}
	return m.real(dump, session)
}

func checkParentVersion(want int64, session string, m *moment) outcome {
	dump, o := look[result.Dump](m.dumps, "inspect", session)
	switch {
	case o != nil:
		return *o
	case dump.Parent == nil:
		return failed(finding{where: "dump of " + session + ", parent", want: fmt.Sprintf("version %d", want), got: "no parent"})
	case dump.Parent.Version != want:
		return failed(finding{where: "dump of " + session + ", parent version", want: fmt.Sprint(want), got: fmt.Sprint(dump.Parent.Version)})
	}
	return m.real(dump, session)
}

func checkVersion(want int64, session string, m *moment) outcome {
	dump, o := look[result.Dump](m.dumps, "inspect", session)
	switch {
	case o != nil:
		return *o
	case dump.Version != want:
		return failed(finding{where: "dump of " + session + ", version", want: fmt.Sprint(want), got: fmt.Sprint(dump.Version)})
	}
	return m.real(dump, session)
}

func checkTypes(want []string, session string, m *moment) outcome {
	dump, o := look[result.Dump](m.dumps, "inspect", session)
	if o != nil {
		return *o
	}
	snapshots := inOrder(dump)
	got := make([]string, 0, len(snapshots))
	for _, s := range snapshots {
		got = append(got, s.Type)
	}
	if !slices.EqualFunc(want, got, isType) {
		return failed(finding{where: "dump of " + session + ", snapshot types", want: strings.Join(want, ", "),
			got: orElse(strings.Join(got, ", "), "none"), diff: listDiff(want, got)})
	}
	return m.real(dump, session)
}

func checkParent(want, session string, m *moment) outcome {
	dump, o := look[result.Dump](m.dumps, "inspect", session)
	if o != nil {
		return *o
	}
	id, ok := m.id(want)
	switch {
	case !ok:
		return unseen("the ID of the session "+want, "none in the evidence")
	case dump.Parent == nil:
		return failed(finding{where: "dump of " + session + ", parent", want: want, got: "no parent"})
	case dump.Parent.Session != id:
		return failed(finding{where: "dump of " + session + ", parent", want: want + " (" + id + ")", got: m.name(dump.Parent.Session)})
	}
	return m.real(dump, session)
}

// real passes a dump that is of the session asked for: an empty object has the
// version 0 and no snapshots, too.
func (m *moment) real(dump result.Dump, session string) outcome {
	if id, ok := m.id(session); !ok || dump.Session != id {
		return failed(finding{where: "dump of " + session + ", session", want: orElse(id, session), got: orElse(dump.Session, "none")})
	}
	return passed()
}

// snapshotDiff is how the list of snapshots differs, of each its type and how many
// entries it has. What the case does not say of one is taken as it came.
func snapshotDiff(want []casefile.SnapshotMatch, got []result.Snapshot) string {
	label := func(kind string, entries int) string {
		return orElse(kind, "without a type") + ", " + count(entries, "entry")
	}
	var wanted, stored []string
	for _, s := range got {
		stored = append(stored, label(s.Type, len(s.Entries)))
	}
	for i, s := range want {
		kind, entries := s.Type, 0
		if i < len(got) {
			entries = len(got[i].Entries)
			if kind == "" || isType(kind, got[i].Type) {
				kind = got[i].Type
			}
		}
		line := label(orElse(kind, "any type"), entries)
		switch {
		case s.Entries != nil:
			line = label(orElse(kind, "any type"), len(*s.Entries))
		case i >= len(got):
			line = orElse(kind, "any type") + ", any entries"
		}
		wanted = append(wanted, line)
	}
	return listDiff(wanted, stored)
}
