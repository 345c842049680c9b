package mutants

import (
	"context"
	"errors"
	"io"
	"strings"

	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeManifests keep manifests otherwise than the S2 rules have.
func runtimeManifests() []Mutant {
	storing := func(change func(m *storage.Manifest)) func() *stage.Reference {
		return keeping(func(b storage.Bucket) storage.Bucket {
			return altered{Bucket: b, manifest: func(_ shelf, m *storage.Manifest) error { change(m); return nil }}
		})
	}
	return []Mutant{
		{
			ID: "runtime/keeps-no-agents", Requirement: "S2/manifest",
			Sentence: "A manifest does not hold the agent.",
			Runtime:  storing(func(m *storage.Manifest) { m.Agent = "" }),
		},
		{
			ID: "runtime/keeps-metadata-in-ascii", Requirement: "S2/manifest",
			Sentence: "Of the metadata of a manifest what is not ASCII is lost.",
			Runtime: storing(func(m *storage.Manifest) {
				kept := map[string]string{}
				for k, v := range m.Metadata {
					kept[asciiOf(k)] = asciiOf(v)
				}
				m.Metadata = kept
			}),
		},
		{
			ID: "runtime/lets-the-last-creator-win", Requirement: "S2/manifest-atomic",
			Sentence: "Creating a session that exists replaces its manifest.",
			Runtime: keeping(func(b storage.Bucket) storage.Bucket {
				return replacing{&rewritable{Bucket: b}, func(f manifestFile) bool { return f.Parent == nil }}
			}),
		},
		{
			ID: "runtime/mixes-creators", Requirement: "S2/manifest-atomic",
			Sentence: "Creating a session that exists leaves its agent and replaces its metadata.",
			Runtime:  keeping(func(b storage.Bucket) storage.Bucket { return mixing{&rewritable{Bucket: b}} }),
		},
		{
			ID: "runtime/takes-metadata-from-entries", Requirement: "S2/manifest-fixed",
			Sentence: "The metadata of an invocation's last entry becomes the session's.",
			Runtime:  keeping(func(b storage.Bucket) storage.Bucket { return learning{&rewritable{Bucket: b}} }),
		},
	}
}

func asciiOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r > 0x7f {
			return -1
		}
		return r
	}, text)
}

// mixing gives a manifest that exists the metadata of the one that comes.
type mixing struct{ *rewritable }

func (m mixing) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	err := m.rewritable.Put(ctx, key, body)
	_, file, ok := sessionOf(key)
	if !errors.Is(err, storage.ErrExist) || !ok || file != manifestName {
		return err
	}
	_, theirs, readErr := reread[manifestFile](body)
	if readErr != nil || theirs.Parent != nil {
		return err
	}
	return errors.Join(err, changeManifest(ctx, m.rewritable, key, func(ours *manifestFile) { ours.Metadata = theirs.Metadata }))
}

// learning gives a manifest the metadata of the entries that an invocation commits.
type learning struct{ *rewritable }

func (l learning) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, ok := snapshotOf(key)
	if !ok {
		return l.rewritable.Put(ctx, key, body)
	}
	again, s, err := reread[storage.Snapshot](body)
	if err != nil {
		return err
	}
	if err := l.rewritable.Put(ctx, key, again); err != nil || !isOfInvocation(s) {
		return err
	}
	for _, entry := range s.Entries {
		if len(entry.Metadata) > 0 {
			manifest := "sessions/" + session + "/" + manifestName
			if err := changeManifest(ctx, l.rewritable, manifest, func(m *manifestFile) { m.Metadata = entry.Metadata }); err != nil {
				return err
			}
		}
	}
	return nil
}

func changeManifest(ctx context.Context, b *rewritable, key string, change func(*manifestFile)) error {
	object, err := b.Get(ctx, key)
	if err != nil {
		return err
	}
	defer object.Close()
	body, err := rewritten(object, func(f *manifestFile) error { change(f); return nil })
	if err != nil {
		return err
	}
	return b.replace(key, body)
}
