package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pugmark.dev/conform/result"
)

// secretWords make a variable a secret wherever they stand in its name.
func secretWords() []string {
	return []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "AUTHORIZATION"}
}

// secretParts make it one as a part of its name: AUTH, but not AUTHOR.
func secretParts() []string { return []string{"KEY", "KEYS", "AUTH", "OAUTH", "PAT", "PRIVATE"} }

// looksSecret reports whether the name of a variable says that its value is a secret.
func looksSecret(name string) bool {
	name = strings.ToUpper(name)
	if slices.ContainsFunc(secretWords(), func(w string) bool { return strings.Contains(name, w) }) {
		return true
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	return slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(secretParts(), p) })
}

// isPlainWord reports whether a value is a setting and no secret, whatever the name of
// its variable says.
func isPlainWord(value string) bool {
	return slices.Contains([]string{
		"true", "false", "enabled", "disabled", "default", "required", "optional", "undefined", "nothing",
		"handler", "runtime", "subprocess", "pugmark", "python", "reference",
	}, strings.ToLower(strings.TrimSpace(value)))
}

// secretsOf is the secrets of an environment: by their names, and those that are
// listed. A listed one that is not set is an error when it is of the command line;
// a subject file speaks for many machines. One that is empty has nothing to mask.
func secretsOf(environ, flags, listed []string) ([]result.Secret, error) {
	values := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			values[name] = value
		}
	}
	var all []result.Secret
	for name, value := range values {
		if looksSecret(name) && !isPlainWord(value) {
			all = append(all, result.Secret{Name: name, Value: value})
		}
	}
	for _, name := range slices.Concat(flags, listed) {
		value, ok := values[name]
		switch {
		case !ok && slices.Contains(flags, name):
			return nil, fmt.Errorf("--mask %s: no variable of this name is set, so there is nothing to mask; correct the name, or set it to nothing", name)
		case strings.TrimSpace(value) == "":
		case len(strings.TrimSpace(value)) < result.MinSecret:
			return nil, fmt.Errorf("mask %s: its value has less than %d bytes, which stand everywhere by chance; take a longer secret, or don't list it", name, result.MinSecret)
		default:
			all = append(all, result.Secret{Name: name, Value: value})
		}
	}
	return all, nil
}

// openMasked opens the subject of a run, and returns it with the mask of its run. What
// a set-up prints is masked too.
func (a *app) openMasked(f runFlags, open func(*app) (opened, error)) (opened, *result.Mask, error) {
	secrets, err := secretsOf(a.environ(), f.mask, nil)
	if err != nil {
		return opened{}, nil, err
	}
	mask := result.NewMask(secrets)
	quiet := *a
	quiet.Err = maskedWriter{a.Err, mask}
	under, err := open(&quiet)
	if err != nil {
		if text := mask.Text(err.Error()); text != err.Error() {
			err = errors.New(text)
		}
		return opened{}, nil, err
	}
	if len(under.mask) > 0 {
		if secrets, err = secretsOf(a.environ(), f.mask, under.mask); err != nil {
			return opened{}, nil, errors.Join(err, under.Close())
		}
		mask = result.NewMask(secrets)
	}
	return under, mask, nil
}

// maskedWriter masks what is written, write by write.
type maskedWriter struct {
	to   io.Writer
	mask *result.Mask
}

func (w maskedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, w.mask.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
