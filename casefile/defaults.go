package casefile

import (
	"slices"
	"time"
)

// The time limits of cases that name none: of one that is data, and of a story,
// which is many operations, each perhaps a program to start.
const (
	DefaultLimit      = 10 * time.Second
	DefaultStoryLimit = 30 * time.Second
)

// LimitOrDefault returns the time limit of the case.
func (c *Case) LimitOrDefault() time.Duration {
	if c.Limit > 0 {
		return time.Duration(c.Limit)
	}
	if c.Story != nil {
		return DefaultStoryLimit
	}
	return DefaultLimit
}

// Supports reports whether the case makes sense on the transport.
func (c *Case) Supports(transport string) bool {
	return len(c.Transports) == 0 || slices.Contains(c.Transports, transport)
}

// hasOnly reports whether the case is for some of these transports and no other.
func (c *Case) hasOnly(transports ...string) bool {
	return len(c.Transports) > 0 && !slices.ContainsFunc(c.Transports, func(t string) bool { return !slices.Contains(transports, t) })
}

// Requirement returns the requirement that a block of the case cites: its own, or
// the only one that the case covers.
func (c *Case) Requirement(block string) string {
	if block == "" && len(c.Covers) == 1 {
		return c.Covers[0]
	}
	return block
}

// Played is how often the stream of a handler case is played.
func (h *Handler) Played() int { return max(h.Invocations, 1) }
