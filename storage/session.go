package storage

import (
	"context"
	"errors"
	"fmt"
)

// Manifest is what a session is created with; it never changes (S2/manifest,
// S2/manifest-fixed).
type Manifest struct {
	// Session is the session's own ID.
	Session string `json:"session"`
	// Agent is the agent identity; it may be empty.
	Agent string `json:"agent,omitempty"`
	// Handler selects among named handlers (section 15); empty means the default.
	Handler string `json:"handler,omitempty"`
	// Metadata is handed to every invocation (section 13).
	Metadata map[string]string `json:"metadata,omitempty"`
	// Parent is where a child session branched off; nil for a root session.
	Parent *Version `json:"parent,omitzero"`
}

// Version names one snapshot of one session.
type Version struct {
	// Session is the session's ID.
	Session string `json:"session"`
	// Version is the snapshot's number, from 1; 0 is the empty session.
	Version int64 `json:"version"`
}

// manifestFile is a manifest as stored. The token tells its creator from others
// that wanted to write the same manifest.
type manifestFile struct {
	Manifest
	Commit string `json:"commit"`
}

// CreateSession stores a manifest if the session has none and returns the one
// that counts; created is false if another creator was first (S2/manifest-atomic).
func (s *Store) CreateSession(ctx context.Context, m Manifest) (manifest Manifest, created bool, err error) {
	if err := CheckSession(m.Session); err != nil {
		return Manifest{}, false, err
	}
	if m.Parent != nil {
		if err := CheckSession(m.Parent.Session); err != nil {
			return Manifest{}, false, fmt.Errorf("parent: %w", err)
		}
	}
	err = s.createJSON(ctx, manifestKey(m.Session), manifestFile{Manifest: m, Commit: s.token()})
	if errors.Is(err, ErrExist) {
		manifest, err = s.Manifest(ctx, m.Session)
		return manifest, false, err
	}
	if err != nil {
		return Manifest{}, false, err
	}
	return m, true, nil
}

// Manifest loads a session's manifest. The error is a [*NoSessionError] if it has none,
// and [ErrDamaged] if what stands in its place is none of it.
func (s *Store) Manifest(ctx context.Context, session string) (Manifest, error) {
	if err := CheckSession(session); err != nil {
		return Manifest{}, err
	}
	var file manifestFile
	err := s.readJSON(ctx, manifestKey(session), &file)
	if err == nil && file.Session != session {
		err = damaged(manifestKey(session), fmt.Errorf("it is of session %q", file.Session))
	}
	if errors.Is(err, ErrNotExist) {
		return Manifest{}, &NoSessionError{session}
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("session %s: %w", session, err)
	}
	return file.Manifest, nil
}

// NoSessionError says that there is no session of an ID. It is an [ErrNotExist].
type NoSessionError struct {
	// Session is the ID.
	Session string
}

// Error names the session.
func (e *NoSessionError) Error() string { return fmt.Sprintf("session %s %v", e.Session, ErrNotExist) }

// Unwrap gives [ErrNotExist].
func (e *NoSessionError) Unwrap() error { return ErrNotExist }
