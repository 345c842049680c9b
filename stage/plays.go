package stage

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/result"
)

// scripted is what handlers play, one list for each invocation; played is how many
// invocations the runs that are over have made of it.
type scripted struct {
	turns  [][]fakehandler.Op
	played int
}

// lay is the folder of one run: the scripts that its handlers play, and their
// transcripts.
type lay struct {
	dir, records string
	script       *scripted
	names        []string // of the handlers with a name
	// taken is how many transcripts were taken in; over tells that the run has ended.
	taken int
	over  bool
	// killed tells that the runtime was killed under the run, and whole of which of its
	// invocations the whole input was seen before.
	killed bool
	whole  []bool
}

func (l *lay) file(name string) string {
	if name != "" {
		name = "-" + name
	}
	return filepath.Join(l.dir, "script"+name+".json")
}

// Script says what the scripted handler does from the next run on.
func (w *World) Script(at At, file string, turns [][]fakehandler.Op) error {
	w.note(at, "script", file)
	turns, err := w.expanded(turns)
	w.script = &scripted{turns: turns}
	return err
}

// Handler gives the runs that follow a handler with a name, and says what it does.
// Every run begins with its first list.
func (w *World) Handler(at At, name, file string, turns [][]fakehandler.Op) error {
	w.note(at, "handler", name, file)
	turns, err := w.expanded(turns)
	w.named[name] = &scripted{turns: turns}
	return err
}

// expanded puts the IDs of sessions and the URIs of files in the places of their
// names.
func (w *World) expanded(turns [][]fakehandler.Op) ([][]fakehandler.Op, error) {
	all := make([][]fakehandler.Op, len(turns))
	for i, turn := range turns {
		all[i] = slices.Clone(turn)
		for k, op := range turn {
			if op.Emit == nil {
				continue
			}
			emit := *op.Emit
			emit.Session = w.expand(emit.Session)
			if name, ok := fakehandler.FileOf(emit.URI); ok {
				uri, err := w.file(name)
				if err != nil {
					return nil, err
				}
				emit.URI = uri
			}
			all[i][k].Emit = &emit
		}
	}
	return all, nil
}

// file writes a file of the story beside the store, and returns its URI.
func (w *World) file(name string) (string, error) {
	dir := filepath.Join(filepath.Dir(w.store), "files")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(name))
	uri := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	return uri.String(), os.WriteFile(path, w.files[name], 0o666)
}

// lay makes the folder of a run.
func (w *World) lay() (*lay, error) {
	dir := filepath.Join(w.runs, fmt.Sprint(len(w.lays)+1))
	l := &lay{dir: dir, records: filepath.Join(dir, "invocations"), script: w.script, names: slices.Sorted(maps.Keys(w.named))}
	if err := os.MkdirAll(l.records, 0o777); err != nil {
		return nil, err
	}
	if err := l.write("", fakehandler.Script{Turns: w.script.turns, First: -w.script.played}); err != nil {
		return nil, err
	}
	for _, name := range l.names {
		if err := l.write(name, fakehandler.Script{Turns: w.named[name].turns}); err != nil {
			return nil, err
		}
	}
	for _, point := range w.points {
		if err := l.release(point); err != nil {
			return nil, err
		}
	}
	w.lays = append(w.lays, l)
	return l, nil
}

func (l *lay) write(name string, s fakehandler.Script) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("script: %w", err)
	}
	return os.WriteFile(l.file(name), data, 0o666)
}

// collect takes in the transcripts of invocations of runs that are over. A run's
// invocations are its own, whatever went on beside it; one that a runtime makes after
// its run has ended counts for the step that finds it.
func (w *World) collect() error {
	for _, l := range w.lays {
		if !l.over {
			continue
		}
		transcripts, err := fakehandler.ReadRecords(l.records)
		if err != nil {
			return fmt.Errorf("the scripted handler's records: %w", err)
		}
		for i := l.taken; i < len(transcripts); i++ {
			// The script of the case is at fault, not the runtime that ran it.
			if fault := fakehandler.Fault(&transcripts[i]); fault != "" {
				return fmt.Errorf("the scripted handler: %s", fault)
			}
			l.taken++
			l.script.played++
			if !l.tells(i) {
				continue
			}
			w.evidence.Invocations = append(w.evidence.Invocations, result.Invocation{
				Step: len(w.evidence.Steps), Transcript: transcripts[i],
			})
			w.seen++
		}
	}
	return nil
}
