package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// bodyLimit is how much may be resident while a body of any size passes, in MiB.
const bodyLimit = 64

// bodies sends one large body in by push and by uri, and out by GET.
func (b *bench) bodies(ctx context.Context) error {
	ref, err := b.program(ctx)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	outside := b.sub("outside")
	if err := os.Mkdir(outside, 0o777); err != nil {
		return err
	}
	pushed, named := filepath.Join(outside, "pushed"), filepath.Join(outside, "named")
	for _, name := range []string{pushed, named} {
		if err := writeBody(name, b.body); err != nil {
			return err
		}
	}
	store := b.sub("bodies")
	if _, err := watch(ctx, ref, "-b", store, "start"); err != nil {
		return err
	}
	emit := fmt.Sprintf(`cat >/dev/null; echo '{"name":"named","uri":"file://%s"}'`, named)
	for _, step := range []struct {
		what    string
		command []string
	}{
		{"push", []string{"push", pushed}},
		{"uri", []string{"run", "--once", "--allow-uri", outside, "--", "sh", "-c", emit}},
		{"GET, of both", []string{"run", "--once", "--", self, childVerb, "fetch"}},
	} {
		p, err := watch(ctx, append([]string{ref, "-b", store}, step.command...)...)
		if err != nil {
			return err
		}
		b.limited(fmt.Sprintf("%.0f MiB by %s, %.1f s: resident", mebibytes(b.body), step.what, p.took.Seconds()),
			mebibytes(p.memory), bodyLimit, "MiB")
	}
	p, err := watch(ctx, ref, "-b", store, "log")
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("name %d", 2*b.body); !strings.Contains(p.stdout, want) {
		return fmt.Errorf("the handler did not get all bytes: want %q in\n%s", want, p.stdout)
	}
	return nil
}

// writeBody writes a file whose every block differs, so that no file system can
// make it smaller; the name makes it a body of its own.
func writeBody(name string, size int64) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.CopyN(file, &numbers{name: filepath.Base(name)}, size)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// numbers is an endless text of numbered lines.
type numbers struct {
	name  string
	count int
	rest  []byte
}

func (n *numbers) Read(p []byte) (int, error) {
	for len(n.rest) < len(p) && len(n.rest) < 1<<16 {
		n.rest = fmt.Appendf(n.rest, "%s %015d %s\n", n.name, n.count, strings.Repeat("x", 4000))
		n.count++
	}
	copied := copy(p, n.rest)
	n.rest = n.rest[copied:]
	return copied, nil
}
