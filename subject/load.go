package subject

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"gopkg.in/yaml.v3"
)

// FileName is what the subject file of a folder is called.
const FileName = "subject.yaml"

// maxFile is how many bytes a subject file may have. They have a few hundred.
const maxFile = 1 << 20

// Load reads a subject file. The error is a *FileError when the file is there
// and wrong; it then names every problem with its place.
func Load(path string) (*File, error) {
	// Asked before it is opened: to open a named pipe waits for whoever writes to it.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("subject file: %s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("subject file: %w", err)
	}
	defer f.Close()
	return read(path, f)
}

// LoadFS is Load of a file in fsys.
func LoadFS(fsys fs.FS, name string) (*File, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("subject file: %w", err)
	}
	defer f.Close()
	return read(name, f)
}

func read(name string, from io.Reader) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("subject file %s: %w", name, err)
	}
	return Parse(name, data)
}

// Parse is Load of a file whose content is at hand; name stands in the problems.
func Parse(name string, data []byte) (*File, error) {
	d := &document{file: name, nodes: map[string]*yaml.Node{}}
	if len(data) > maxFile {
		d.fault(nil, "over %d bytes: no subject file", maxFile)
		return nil, &FileError{d.found}
	}
	f := &File{}
	if root := d.parse(data); root != nil {
		d.decode(root, f)
		if resolve(root).Kind == yaml.MappingNode {
			check{d, root, f}.all()
		}
	}
	if len(d.found) > 0 {
		return nil, &FileError{sorted(d.found)}
	}
	return f, nil
}

// decode fills f. The keys are those of the yaml tags of File.
func (d *document) decode(root *yaml.Node, f *File) {
	text := func(into *string) func(string, *yaml.Node) {
		return func(place string, n *yaml.Node) { *into = d.text(place, n) }
	}
	args := func(into *Args) func(string, *yaml.Node) {
		return func(place string, n *yaml.Node) { *into = d.args(place, n) }
	}
	command := func(into **CommandTransport) func(string, *yaml.Node) {
		return func(place string, n *yaml.Node) {
			*into = &CommandTransport{}
			d.mapping(place, n, fields{"command": args(&(*into).Command)})
		}
	}
	d.mapping("", root, fields{
		"name":           text(&f.Name),
		"kind":           text(&f.Kind),
		"version":        args(&f.Version),
		"driver":         args(&f.Driver),
		"known-failures": text(&f.KnownFailures),
		"features":       func(place string, n *yaml.Node) { f.Features = d.list(place, n) },
		"mask":           func(place string, n *yaml.Node) { f.Mask = d.list(place, n) },
		"setup":          func(place string, n *yaml.Node) { f.Setup = d.setup(place, n) },
		"commands": func(place string, n *yaml.Node) {
			f.Commands = map[string]Args{}
			known := fields{}
			for _, op := range CommandNames() {
				known[op] = func(place string, n *yaml.Node) { f.Commands[op] = d.args(place, n) }
			}
			d.mapping(place, n, known)
		},
		"transports": func(place string, n *yaml.Node) {
			d.mapping(place, n, fields{
				TransportSubprocess: command(&f.Transports.Subprocess),
				TransportRPC:        command(&f.Transports.RPC),
				TransportHTTP: func(place string, n *yaml.Node) {
					h := &HTTPTransport{}
					f.Transports.HTTP = h
					d.mapping(place, n, fields{"url": text(&h.URL), "command": args(&h.Command)})
				},
			})
		},
	})
}

// setup is a list of commands.
func (d *document) setup(place string, n *yaml.Node) []Args {
	n = resolve(n)
	if n.Kind != yaml.SequenceNode {
		d.fault(n, "`%s`: want a list of commands, got %s", place, what(n))
		return nil
	}
	lines := make([]Args, 0, len(n.Content))
	for i, line := range n.Content {
		at := setupPlace(i)
		d.nodes[at] = line
		lines = append(lines, d.args(at, line))
	}
	return lines
}

// setupPlace names a line of setup; lines count from 1.
func setupPlace(i int) string { return fmt.Sprintf("setup.%d", i+1) }
