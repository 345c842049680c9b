package s3bucket

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// location is what a bucket's URL says.
type location struct {
	bucket string
	// root is "" or ends with a slash.
	root string
	// endpoint is the server's URL; "" leaves it to the environment, and then Amazon.
	endpoint string
	// region is "" where the environment decides.
	region string
	// pathStyle is nil where the endpoint decides.
	pathStyle *bool
}

// form is how a URL is to look, for errors.
const form = "s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME&path-style=BOOL]"

func parseLocation(rawURL string) (location, error) {
	// The errors of url.Parse repeat the URL, which may hold a secret by mistake.
	u, err := url.Parse(rawURL)
	if err != nil {
		return location{}, errors.New("not a URL; write it as " + form)
	}
	switch {
	case u.User != nil:
		return location{}, errors.New("a store's URL must not hold credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead")
	case u.Scheme != "s3" || u.Host == "" || u.Port() != "" || u.Fragment != "" || u.Opaque != "":
		return location{}, fmt.Errorf("%q is not of the form %s", rawURL, form)
	}
	l := location{bucket: u.Host}
	if l.root, err = parseRoot(u.Path); err != nil {
		return location{}, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return location{}, fmt.Errorf("%q has parameters that can't be read; write it as %s", rawURL, form)
	}
	for name, values := range query {
		if len(values) != 1 || values[0] == "" {
			return location{}, fmt.Errorf("the parameter %q must stand once in a store's URL, with a value", name)
		}
		switch value := values[0]; name {
		case "endpoint":
			l.endpoint, err = parseEndpoint(value)
		case "region":
			l.region = value
		case "path-style":
			l.pathStyle, err = parseBool(name, value)
		default:
			err = fmt.Errorf("a store's URL has no parameter %q; write it as %s", name, form)
		}
		if err != nil {
			return location{}, err
		}
	}
	return l, nil
}

// parseRoot makes the part of a key before ours. Segments that a file system
// would resolve are refused: some servers keep objects as files.
func parseRoot(path string) (string, error) {
	path = strings.Trim(path, "/")
	if path == "" {
		return "", nil
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsFunc(segment, isControl) {
			return "", fmt.Errorf("the prefix %q of a store's URL has the segment %q; leave it out", path, segment)
		}
	}
	return path + "/", nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func parseEndpoint(value string) (string, error) {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return "", errors.New("the endpoint in a store's URL must be the address of a server, such as http://127.0.0.1:9000")
	}
	return value, nil
}

func parseBool(name, value string) (*bool, error) {
	b, err := strconv.ParseBool(value)
	if err != nil {
		return nil, fmt.Errorf("%s=%s in a store's URL must be true or false", name, value)
	}
	return &b, nil
}
